export * from './body-check.js';
export * from './problem-of-schema.js';
export { TimeExceeded } from './within-ms.js';
