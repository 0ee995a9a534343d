import type { ServiceContract } from '../define.js';

export * from './reviews.js';

/** Reputation listens only: it answers no requests yet. */
export const reputationContract = {} satisfies ServiceContract;
