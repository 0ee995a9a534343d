import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateCatalog1763650200000 } from './migrations/1763650200000-create-catalog.js';

/** There are no entities: a listing is written from the fields of the contract, and everything else is SQL. */
export const catalogDatabase: DatabaseDefinition = {
  schema: 'catalog',
  entities: [],
  migrations: [CreateCatalog1763650200000, CreateOperatorActions1763660000000],
};
