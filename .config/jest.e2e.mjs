import base from './jest.base.mjs';

/** Adversarial, long, or in a browser: by the beginnings of their names, the files that `npm test` leaves to `npm run test:all`. */
export const LEFT_TO_TEST_ALL = [
  'access-matrix',
  'backup',
  'console',
  'faults',
  'fuzz',
  'mass-assignment',
  'money',
  'overload',
  'secrets',
  'shutdown',
];

export default {
  ...base,
  testMatch: ['<rootDir>/apps/standalone/test/e2e/**/*.e2e-spec.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.LEAVE_TO_TEST_ALL ? [`/e2e/(${LEFT_TO_TEST_ALL.join('|')})[^/]*$`] : []),
  ],
  globalSetup: '<rootDir>/libs/testing/jest/e2e-setup.mjs',
  globalTeardown: '<rootDir>/libs/testing/jest/global-teardown.mjs',
  testTimeout: 60_000,
  maxWorkers: 1,
};
