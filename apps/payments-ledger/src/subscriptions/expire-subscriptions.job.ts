import { newRequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { ENDED_COLUMNS, Subscriptions, type EndedRow } from './subscriptions.js';

const PAGE = 1_000;
const MAX_BATCHES = 10;

const expire = sql(
  'subscriptions.expire',
  `UPDATE subscriptions SET status = 'expired', ended_at = current_period_end
   WHERE id IN (
     SELECT id FROM subscriptions WHERE status = 'active' AND current_period_end <= now()
     ORDER BY current_period_end LIMIT ${PAGE} FOR UPDATE SKIP LOCKED)
   RETURNING ${ENDED_COLUMNS}`,
);

/**
 * Marks subscriptions whose period has ended. Reads do not depend on this job, because they compare the end with the
 * clock.
 */
@Injectable()
export class ExpireSubscriptions implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('expire-subscriptions', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    for (let pages = 1; pages <= MAX_BATCHES; pages += 1) {
      const ended = await this.database.transaction(async (tx) => {
        const rows = await tx.query<EndedRow>(expire);
        await this.subscriptions.emitEnded(tx, rows, newRequestContext());
        return rows.length;
      });
      if (ended < PAGE) return;
    }
  }
}
