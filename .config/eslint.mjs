import tseslint from 'typescript-eslint';

const wireNames = {
  selector: 'Literal[value=/^(rpc|evt|sig)\\.[a-z]/]',
  message: 'A wire name is written once, in libs/contracts: import the contract.',
};
const floatsOnMoney = {
  selector: "CallExpression[callee.name='parseFloat']",
  message: 'No floats: money is parsed by the kernel.',
};

export default tseslint.config(
  { ignores: ['**/dist/**', '**/node_modules/**', '**/coverage/**', '.data/**', '.turbo/**', '.config/fixtures/**'] },
  ...tseslint.configs.recommended,
  { rules: { 'max-len': ['error', { code: 140, ignoreRegExpLiterals: true, ignoreUrls: true }] } },
  {
    files: ['{apps,libs}/**/*.{ts,tsx}', 'bench/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      // An interface that only extends gives a name to a type that is made from another.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/ban-ts-comment': [
        'error',
        { 'ts-expect-error': true, 'ts-ignore': true, 'ts-nocheck': true },
      ],
      'no-restricted-syntax': ['error', wireNames, floatsOnMoney],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      'no-console': 'error',
      eqeqeq: 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['{apps,libs}/*/src/**/*.ts'],
    ignores: [
      '**/*.spec.ts',
      '**/*.int-spec.ts',
      'apps/*/src/main.ts',
      'apps/standalone/src/**',
      'libs/testing/**',
      'libs/test-servers/**',
      'libs/persistence/src/testing/**',
      'libs/runtime/src/run-main.ts',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'The environment is read once, by defineConfig.' },
      ],
    },
  },
  { files: ['bench/**/*.ts', 'libs/sdk/src/seller-server.ts', 'libs/cli/**/*.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['libs/contracts/**/*.ts', '**/*.spec.ts', '**/*.int-spec.ts', '**/*.e2e-spec.ts', '**/test/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', floatsOnMoney],
      'max-lines': ['error', { max: 700, skipBlankLines: true, skipComments: true }],
    },
  },
);
