import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { catalogConfig, type CatalogConfig } from '../config.js';

const BATCH = 5_000;
const deleteExpired = sql(
  'listing-challenges.delete-expired',
  `DELETE FROM listing_challenges
   WHERE challenge IN
     (SELECT challenge FROM listing_challenges WHERE expires_at < now() LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
   RETURNING 1`,
);

@Injectable()
export class SweepChallenges implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  onModuleInit(): void {
    this.jobs.every('sweep listing challenges', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    while ((await this.database.query(deleteExpired)).length === BATCH);
  }
}
