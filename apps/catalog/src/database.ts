import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateCatalog1763650200000 } from './migrations/1763650200000-create-catalog.js';

export const catalogDatabase: DatabaseDefinition = {
  schema: 'catalog',
  migrations: [CreateCatalog1763650200000, CreateOperatorActions1763660000000],
};
