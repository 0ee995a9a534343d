import base from './jest.base.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/apps/standalone/test/e2e/**/*.e2e-spec.ts'],
  globalSetup: '<rootDir>/libs/testing/jest/e2e-setup.mjs',
  globalTeardown: '<rootDir>/libs/testing/jest/global-teardown.mjs',
  testTimeout: 60_000,
  maxWorkers: 1,
};
