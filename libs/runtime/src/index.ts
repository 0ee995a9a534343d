export * from './define-config.js';
export * from './define-service.js';
export * from './jobs.js';
export { databaseUrlOf, platformConfig } from './platform-config.js';
export * from './run-main.js';
export * from './run-process.js';
export * from './short-cache.js';
