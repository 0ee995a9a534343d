export * from './define.js';
export * from './operations.js';
export * from './shared/index.js';
export * from './platform.js';
export * from './topology.js';
