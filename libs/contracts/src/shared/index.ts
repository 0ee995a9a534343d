export * from './principal.js';
export * from './scalars.js';
