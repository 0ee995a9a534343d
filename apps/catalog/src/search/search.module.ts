import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Module } from '@nestjs/common';
import { ListingSearch } from './listing-search.js';
import { PostgresListingSearch } from './postgres-listing-search.js';

@Module({
  providers: [
    {
      provide: ListingSearch,
      useFactory: (database: Database, jobs: Jobs) => new PostgresListingSearch(database, jobs),
      inject: [Database, Jobs],
    },
  ],
  exports: [ListingSearch],
})
export class SearchModule {}
