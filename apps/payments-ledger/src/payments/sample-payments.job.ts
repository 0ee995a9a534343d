import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import {
  feesDueMicros,
  oldestDueSeconds,
  oldestSettlementSeconds,
  overduePayments,
  refundsDue,
  refundsDueMicros,
  unexplainedMicros,
} from './metrics.js';

/** Each branch reads one partial index, because most payments have ended. */
const overdue = sql(
  'payments.overdue',
  `SELECT state, count(*) FILTER (WHERE due IS NULL OR due < now() - interval '10 minutes')::int AS payments,
     coalesce(extract(epoch FROM now() - min(due)), 0)::float8 AS seconds FROM (
     SELECT state, expires_at AS due FROM payments WHERE state IN ('pending', 'underpaid') AND expires_at < now()
     UNION ALL SELECT state, retry_until FROM payments WHERE state = 'verified' AND retry_until < now()
     UNION ALL SELECT p.state, NULL FROM payments p LEFT JOIN authorizations a ON a.id = p.authorization_id AND a.state = 'settling'
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
       SELECT coalesce(sum(p.gross_micros), 0)::float8
       FROM reconciliations r JOIN payments p ON p.id = r.payment_id WHERE r.unexplained IS NOT NULL
     ) AS unexplained,
     coalesce(sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:refunds'), 0)::float8 AS owed,
     coalesce(-sum(balance_micros) FILTER (WHERE address LIKE 'agent:%:fees'), 0)::float8 AS "feesDue" FROM balances`,
);
const settling = sql(
  'authorizations.oldest-open-settlement',
  `SELECT network, extract(epoch FROM now() - min(created_at))::float8 AS seconds
   FROM authorizations WHERE state = 'settling' GROUP BY network`,
);

const OPEN_STATES = ['pending', 'underpaid', 'verified', 'indeterminate'];

/** Reads the metrics of open payments and of the books from the database. It changes nothing. */
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
      this.database.query<{ state: string; payments: number; seconds: number }>(overdue),
      this.database.query<{ rail: string; payments: number }>(owedBack),
      this.database.query<{ unexplained: number; owed: number; feesDue: number }>(balances),
      this.database.query<{ network: string; seconds: number }>(settling),
    ]);
    for (const state of OPEN_STATES) {
      const { payments = 0, seconds = 0 } = open.find((row) => row.state === state) ?? {};
      overduePayments.set({ state }, payments);
      oldestDueSeconds.set({ state }, seconds);
    }
    refundsDue.reset();
    owed.forEach(({ rail, payments }) => refundsDue.set({ rail }, payments));
    refundsDueMicros.set(books!.owed);
    feesDueMicros.set(books!.feesDue);
    unexplainedMicros.set(books!.unexplained);
    oldestSettlementSeconds.reset();
    settlements.forEach(({ network, seconds }) => oldestSettlementSeconds.set({ network }, seconds));
  }
}
