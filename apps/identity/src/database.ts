import type { DatabaseDefinition } from '@market/persistence';
import { CreateIdentity1763700000000 } from './migrations/1763700000000-create-identity.js';

export const identityDatabase: DatabaseDefinition = {
  schema: 'identity',
  migrations: [CreateIdentity1763700000000],
};
