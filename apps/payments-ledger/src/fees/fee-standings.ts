import { feesNearLimit, sellerStandingChanged } from '@market/contracts/payments-ledger';
import { newRequestContext, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql, type Tx } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';

interface ReviewedRow {
  is_overdue: boolean;
  is_near_limit: boolean;
  due_micros: string;
  version: number;
  as_of: Date;
}

/**
 * Sellers whose debt crossed the limit or half of it in either direction, or whose grace period is over. Debts of the last
 * second may be missing; the next run finds them.
 */
const toReview = sql(
  'fee-standings.to-review',
  `SELECT a.owner_id AS seller_id FROM accounts a LEFT JOIN fee_standings s ON s.seller_id = a.owner_id
   WHERE a.address LIKE 'agent:%:fees' AND (
     (a.balance_micros < -$1::bigint
       AND (s.over_limit_since IS NULL OR (NOT s.is_overdue AND s.over_limit_since < now() - $2 * interval '1 day')))
     OR (a.balance_micros >= -$1::bigint AND s.over_limit_since IS NOT NULL)
     OR (a.balance_micros * 2 < -$1::bigint) <> coalesce(s.is_near_limit, false))
   LIMIT 100`,
);
/** Serializes the reviews of one seller. */
const lock = sql(
  'fee-standings.lock',
  `INSERT INTO fee_standings (seller_id) VALUES ($1)
   ON CONFLICT (seller_id) DO UPDATE SET seller_id = excluded.seller_id
   RETURNING is_overdue, is_near_limit`,
);
const review = sql(
  'fee-standings.review',
  `UPDATE fee_standings s
   SET over_limit_since = d.since, is_near_limit = d.due_micros * 2 > $2::bigint, is_overdue = d.is_overdue,
     version = s.version + (d.is_overdue <> s.is_overdue)::int
   FROM (
     SELECT since, due_micros, coalesce(since < now() - $3 * interval '1 day', false)
       OR EXISTS (SELECT 1 FROM refunds r WHERE r.seller_id = $1 AND r.is_overdue AND r.refunded_at IS NULL) AS is_overdue
     FROM (SELECT coalesce(-a.balance_micros, 0) AS due_micros,
             CASE WHEN a.balance_micros < -$2::bigint THEN coalesce(k.over_limit_since, now()) END AS since
           FROM fee_standings k LEFT JOIN balances a ON a.address = 'agent:' || $1::uuid || ':fees' WHERE k.seller_id = $1) o
   ) d WHERE s.seller_id = $1 RETURNING s.is_overdue, s.is_near_limit, d.due_micros, s.version, now() AS as_of`,
);

/**
 * Records which sellers owe more fees than the limit, and since when, or owe a refund for too long. Their paid listings
 * are off the market. A job reviews all sellers. A payment of fees reviews its payer in its own commit, so that the
 * listings return as soon as the fees are paid.
 */
@Injectable()
export class FeeStandings implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('review-fee-standings', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    const { feeCreditLimitMicros, feeGraceDays } = this.config;
    const sellers = await this.database.query<{ seller_id: string }>(toReview, [feeCreditLimitMicros, feeGraceDays]);
    for (const { seller_id } of sellers)
      await this.database.transaction((tx) => this.review(tx, seller_id, newRequestContext()));
  }

  async review(tx: Tx, sellerId: string, context: Pick<RequestContext, 'requestId' | 'traceparent'>): Promise<void> {
    const { feeCreditLimitMicros, feeGraceDays } = this.config;
    const [before] = await tx.query<{ is_overdue: boolean; is_near_limit: boolean }>(lock, [sellerId]);
    const [after] = await tx.query<ReviewedRow>(review, [sellerId, feeCreditLimitMicros, feeGraceDays]);
    if (after!.is_near_limit && !before!.is_near_limit)
      this.outbox.add(
        tx,
        feesNearLimit,
        {
          sellerId,
          dueMicros: after!.due_micros,
          limitMicros: String(feeCreditLimitMicros),
          at: after!.as_of.toISOString(),
        },
        context,
      );
    if (after!.is_overdue === before!.is_overdue) return;
    const { is_overdue: isOverdue, version, as_of } = after!;
    await this.outbox.add(
      tx,
      sellerStandingChanged,
      { sellerId, version, isOverdue, changedAt: as_of.toISOString() },
      context,
    );
  }
}
