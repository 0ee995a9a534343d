export * from './body-check.js';
export { ChecksBusy } from './fair-checks.js';
export { runCheck } from './schema-checks.js';
