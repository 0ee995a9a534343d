import { TEST_TIMEOUT_MS } from './test-timeout.mjs';
import { readFileSync } from 'node:fs';

const swc = JSON.parse(readFileSync(new URL('../.swcrc', import.meta.url), 'utf8'));

/** The standard transform, so that watching, coverage and debuggers work as everywhere. */
export default {
  rootDir: new URL('..', import.meta.url).pathname,
  testMatch: ['<rootDir>/{apps,libs}/*/src/**/*.spec.ts'],
  transform: { '\\.[jt]s$': ['@swc/jest', { ...swc, swcrc: false }] },
  // An ES module that CommonJS requires, which jest cannot do before Node 24.9.
  transformIgnorePatterns: ['/node_modules/(?!(.*/)?cookie/)'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'] },
  testEnvironmentOptions: { customExportConditions: ['@market/source', 'node', 'node-addons'] },
  modulePathIgnorePatterns: ['/dist/'],
  coverageDirectory: '<rootDir>/node_modules/.cache/coverage',
  testTimeout: TEST_TIMEOUT_MS,
  maxWorkers: '100%',
};
