export * from './proofs.js';
export * from './size.js';
export * from './threats.js';
