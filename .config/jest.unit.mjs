import base from './jest.base.mjs';

export default {
  ...base,
  testMatch: ['<rootDir>/{apps,libs}/*/src/**/*.spec.ts'],
  testTimeout: 30_000,
  maxWorkers: '100%',
};
