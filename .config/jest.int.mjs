import base from './jest.base.mjs';
import { ignoredPathsOf } from './left-to-test-all.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/{apps,libs}/*/{src,test}/**/*.int-spec.ts'],
  testPathIgnorePatterns: ignoredPathsOf('int'),
  globalSetup: '<rootDir>/libs/testing/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/libs/testing/jest/global-teardown.mjs',
  reporters: ['default', '<rootDir>/.config/skipped-tests.mjs'],
  // A limit for what hangs, not for what is slow: a busy machine starts a process in ten seconds.
  testTimeout: 120_000,
  // These specs wait for servers more than they compute.
  maxWorkers: '100%',
};
