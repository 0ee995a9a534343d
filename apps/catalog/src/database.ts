import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { ListingEntity } from './listings/infra/listing.entity.js';
import { CreateCatalog1763650200000 } from './migrations/1763650200000-create-catalog.js';

/** Listings are written field by field, so they are an entity; search, offerings, projections and counters are SQL. */
export const catalogDatabase: DatabaseDefinition = {
  schema: 'catalog',
  entities: [ListingEntity],
  migrations: [CreateCatalog1763650200000, CreateOperatorActions1763660000000],
};
