export * from './budget.js';
export * from './fields.js';
export * from './principal.js';
export * from './scalars.js';
export * from './usage.js';
