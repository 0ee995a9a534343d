import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';

const INTERVAL_MS = 600_000;

const keep = sql('offers.keep', 'SELECT keep_offers($1)');

/**
 * Makes the days of `offers`, which begin at midnight (UTC), two ahead, and drops those whose offers all expired
 * `keepUnpaidHours` ago. Several processes may do it at once. None is ready before today is there.
 */
@Injectable()
export class KeepOffers implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.beforeReady(() => this.run());
    this.jobs.every('keep-offers', INTERVAL_MS, () => this.run());
  }

  async run(): Promise<void> {
    await this.database.query(keep, [this.config.keepUnpaidHours]);
  }
}
