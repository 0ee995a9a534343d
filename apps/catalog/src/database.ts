import { CreateOperatorActions1763660000000, type DatabaseDefinition } from '@market/persistence';
import { ListingEntity } from './listings/infra/listing.entity.js';
import { CreateCatalog1763650200000 } from './migrations/1763650200000-create-catalog.js';
import { SeedCategories1763650201000 } from './migrations/1763650201000-seed-categories.js';
import { WatchOverListings1763700100000 } from './migrations/1763700100000-watch-over-listings.js';
import { FollowListings1763700300000 } from './migrations/1763700300000-follow-listings.js';
import { ShowListings1763800000000 } from './migrations/1763800000000-show-listings.js';
import { ShowListingsFromMemory1763900000000 } from './migrations/1763900000000-show-listings-from-memory.js';

/** Listings are written field by field, so they are an entity; search, offerings, projections and counters are prepared SQL. */
export const catalogDatabase: DatabaseDefinition = {
  schema: 'catalog',
  entities: [ListingEntity],
  migrations: [
    CreateCatalog1763650200000,
    SeedCategories1763650201000,
    CreateOperatorActions1763660000000,
    WatchOverListings1763700100000,
    FollowListings1763700300000,
    ShowListings1763800000000,
    ShowListingsFromMemory1763900000000,
  ],
};
