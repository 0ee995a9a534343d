import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';

const PAGE = 1_000;
const MAX_BATCHES = 10;

const expire = sql(
  'subscriptions.expire',
  `UPDATE subscriptions SET status = 'expired', ended_at = current_period_end
   WHERE id IN (SELECT id FROM subscriptions WHERE status = 'active' AND current_period_end <= now() ORDER BY current_period_end LIMIT ${PAGE} FOR UPDATE SKIP LOCKED) RETURNING id`,
);

/** Writes down what time has ended. Nothing waits for it: whoever reads a subscription compares its end with the clock. */
@Injectable()
export class ExpireSubscriptions implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('expire-subscriptions', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    for (let pages = 1; pages <= MAX_BATCHES; pages += 1) {
      if ((await this.database.query(expire)).length < PAGE) return;
    }
  }
}
