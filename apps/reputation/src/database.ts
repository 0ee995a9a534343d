import type { DatabaseDefinition } from '@market/persistence';
import { CreateFacts1763650300000 } from './migrations/1763650300000-create-facts.js';

export const reputationDatabase: DatabaseDefinition = {
  schema: 'reputation',
  entities: [],
  migrations: [CreateFacts1763650300000],
};
