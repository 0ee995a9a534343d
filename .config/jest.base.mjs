/** What every jest run shares: TypeScript through swc, ES modules, workspace packages read from their sources. */
const swc = {
  swcrc: false,
  sourceMaps: 'inline',
  jsc: {
    target: 'es2022',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    keepClassNames: true,
  },
  module: { type: 'es6' },
};

export default {
  rootDir: new URL('..', import.meta.url).pathname,
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['@market/source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['/dist/'],
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
};
