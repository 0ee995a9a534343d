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
  // A lookup of a global inside jest's context is slow; cryptography in CommonJS (tweetnacl) does millions of them.
  sandboxInjectedGlobals: ['Math', 'Float64Array', 'Uint8Array'],
  testEnvironmentOptions: { customExportConditions: ['@market/source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['/dist/'],
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
};
