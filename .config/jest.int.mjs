import { TEST_TIMEOUT_MS } from './test-timeout.mjs';
import { availableParallelism } from 'node:os';
import base from './jest.base.mjs';
import { ignoredPathsOf } from './left-to-test-all.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/{apps,libs}/*/{src,test}/**/*.int-spec.ts'],
  testPathIgnorePatterns: ignoredPathsOf('int'),
  globalSetup: '<rootDir>/libs/testing/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/libs/testing/jest/global-teardown.mjs',
  reporters: ['default', '<rootDir>/.config/skipped-tests.mjs'],
  testTimeout: TEST_TIMEOUT_MS,
  // These specs wait for servers as long as they compute.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
};
