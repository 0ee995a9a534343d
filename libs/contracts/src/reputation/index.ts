import { operationsOf } from '../operations.js';
import { listEvents, readEvents } from './events.js';
import { createReview, listReviews } from './reviews.js';
import { getScore } from './scores.js';

export * from './events.js';
export * from './reviews.js';
export * from './scores.js';

export const reputationContract = {
  createReview,
  listReviews,
  getScore,
  listEvents,
  readEvents,
  ...operationsOf('reputation'),
};
