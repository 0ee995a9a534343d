import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import {
  feesDueMicros,
  oldestSettlementSeconds,
  overduePayments,
  refundsDue,
  refundsDueMicros,
  unexplainedMicros,
} from './metrics.js';

/** Each branch reads one partial index, because payments that have ended are many. */
const overdue = sql(
  'payments.overdue',
  `SELECT state, count(*)::int AS payments FROM (
     SELECT state FROM payments WHERE state IN ('pending', 'underpaid') AND expires_at < now() - interval '10 minutes'
     UNION ALL SELECT state FROM payments WHERE state = 'verified' AND retry_until < now() - interval '10 minutes'
     UNION ALL SELECT state FROM payments WHERE state = 'in_flight' AND lease_until < now() - interval '10 minutes'
     UNION ALL SELECT p.state FROM payments p LEFT JOIN authorizations a ON a.id = p.authorization_id AND a.state = 'settling'
       WHERE p.state = 'indeterminate' AND (a.id IS NULL OR a.valid_before < now() - interval '70 minutes')
   ) o GROUP BY state`,
);
const owedBack = sql(
  'payments.count-owed-back',
  `SELECT rail, count(*)::int AS payments FROM payments WHERE state = 'refund_due' GROUP BY rail`,
);
const balances = sql(
  'journal.sum-of-balances',
  `SELECT abs(coalesce(sum(balance_micros), 0))::float8 + (
       SELECT coalesce(sum(p.gross_micros), 0)::float8 FROM reconciliations r JOIN payments p ON p.id = r.payment_id WHERE r.unexplained IS NOT NULL
     ) AS unexplained,
     coalesce(sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:refunds'), 0)::float8 AS owed,
     coalesce(-sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:fees'), 0)::float8 AS "feesDue" FROM accounts`,
);
const settling = sql(
  'authorizations.oldest-open-settlement',
  `SELECT network, extract(epoch FROM now() - min(created_at))::float8 AS seconds FROM authorizations WHERE state = 'settling' GROUP BY network`,
);

const OPEN_STATES = ['pending', 'underpaid', 'verified', 'in_flight', 'indeterminate'];

/** Reads from the database what the metrics tell about open payments and the books. It changes nothing. */
@Injectable()
export class SamplePayments implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('sample-payments', this.config.sampleIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    const [open, owed, [books], settlements] = await Promise.all([
      this.database.query<{ state: string; payments: number }>(overdue),
      this.database.query<{ rail: string; payments: number }>(owedBack),
      this.database.query<{ unexplained: number; owed: number; feesDue: number }>(balances),
      this.database.query<{ network: string; seconds: number }>(settling),
    ]);
    OPEN_STATES.forEach((state) => overduePayments.set({ state }, 0));
    open.forEach(({ state, payments }) => overduePayments.set({ state }, payments));
    refundsDue.reset();
    owed.forEach(({ rail, payments }) => refundsDue.set({ rail }, payments));
    refundsDueMicros.set(books!.owed);
    feesDueMicros.set(books!.feesDue);
    unexplainedMicros.set(books!.unexplained);
    oldestSettlementSeconds.reset();
    settlements.forEach(({ network, seconds }) => oldestSettlementSeconds.set({ network }, seconds));
  }
}
