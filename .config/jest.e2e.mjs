import { TEST_TIMEOUT_MS } from './test-timeout.mjs';
import base from './jest.base.mjs';
import { ignoredPathsOf } from './left-to-test-all.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/apps/standalone/test/e2e/**/*.e2e-spec.ts'],
  testPathIgnorePatterns: ignoredPathsOf('e2e'),
  globalSetup: '<rootDir>/libs/testing/jest/e2e-setup.mjs',
  globalTeardown: '<rootDir>/libs/testing/jest/global-teardown.mjs',
  testTimeout: TEST_TIMEOUT_MS,
  maxWorkers: 1,
};
