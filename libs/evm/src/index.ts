export * from './contract-signatures.js';
