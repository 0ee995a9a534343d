import base from './jest.base.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/apps/standalone/test/e2e/**/*.e2e-spec.ts'],
  testTimeout: 120_000,
  maxWorkers: 1,
};
