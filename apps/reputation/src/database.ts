import type { DatabaseDefinition } from '@market/persistence';
import { CreateFacts1763650300000 } from './migrations/1763650300000-create-facts.js';
import { CreateReviewsAndScores1763650301000 } from './migrations/1763650301000-create-reviews-and-scores.js';

export const reputationDatabase: DatabaseDefinition = {
  schema: 'reputation',
  entities: [],
  migrations: [CreateFacts1763650300000, CreateReviewsAndScores1763650301000],
};
