import base from './jest.base.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/{apps,libs}/*/{src,test}/**/*.int-spec.ts'],
  globalSetup: '<rootDir>/libs/testing/src/jest/global-setup.ts',
  globalTeardown: '<rootDir>/libs/testing/src/jest/global-teardown.ts',
  testTimeout: 30_000,
};
