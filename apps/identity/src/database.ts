import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateIdentity1763700000000 } from './migrations/1763700000000-create-identity.js';

export const identityDatabase: DatabaseDefinition = {
  schema: 'identity',
  migrations: [CreateOperatorActions1763660000000, CreateIdentity1763700000000],
};
