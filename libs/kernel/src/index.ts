export * from './clock.js';
export * from './hidden-characters.js';
export * from './ids.js';
export * from './invariant.js';
export * from './json-text.js';
export * from './money.js';
export * from './proof-of-work.js';
export * from './refusal.js';
