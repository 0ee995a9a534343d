import { newRequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { Endpoints } from '../endpoints/endpoints.js';
import { ListingChanges } from './listing-changes.js';

/** Suspends listings whose endpoint has been failing for too long. */
@Injectable()
export class SuspendFailing implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly endpoints: Endpoints,
    private readonly changes: ListingChanges,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  onModuleInit(): void {
    this.jobs.every('suspend listings of failing endpoints', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    await this.database.transaction(async (tx) => {
      for (const listingId of await this.endpoints.failingFor(tx, this.config.failingGraceSeconds))
        await this.changes.react(tx, listingId, 'suspend', newRequestContext());
    });
  }
}
