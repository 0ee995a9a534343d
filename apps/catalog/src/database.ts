import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { CreateCatalog1763650200000 } from './migrations/1763650200000-create-catalog.js';
import { EMBEDDINGS_SCHEMA } from './search/meaning/embeddings-schema.js';

export const catalogDatabase: DatabaseDefinition = {
  schema: 'catalog',
  migrations: [CreateCatalog1763650200000, CreateOperatorActions1763660000000],
  whereAvailable: EMBEDDINGS_SCHEMA,
};
