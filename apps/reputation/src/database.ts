import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateReputation1763650300000 } from './migrations/1763650300000-create-reputation.js';

export const reputationDatabase: DatabaseDefinition = {
  schema: 'reputation',
  migrations: [CreateReputation1763650300000, CreateOperatorActions1763660000000],
};
