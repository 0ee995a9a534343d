import { newRequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { Endpoints } from '../endpoints/endpoints.js';
import { ListingChanges } from './listing-changes.js';
import { ListingsRepository } from './listings.repository.js';

/** Suspends listings whose endpoint has been failing for too long. */
@Injectable()
export class SuspendFailing implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly endpoints: Endpoints,
    private readonly changes: ListingChanges,
    private readonly listings: ListingsRepository,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  onModuleInit(): void {
    this.jobs.every('suspend listings of failing endpoints', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    const seconds = this.config.failingGraceSeconds;
    for (const listingId of await this.endpoints.failingFor(seconds))
      await this.database.transaction(async (tx) => {
        await this.listings.lock(tx, listingId);
        if (await this.endpoints.isFailing(tx, listingId, seconds))
          await this.changes.react(tx, listingId, 'suspend', newRequestContext());
      });
  }
}
