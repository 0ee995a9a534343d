import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';

const INTERVAL_MS = 1_000;
/** The journal transactions that one statement sums. It bounds how far a balance is from its snapshot, too. */
const BATCH = 500;
/** An account gets a snapshot after this many postings. */
const POSTINGS_A_SNAPSHOT = 64;

/**
 * Journal transactions become visible in the order of their sequences, because the head is locked until the commit, so
 * none below the head is missed.
 */
const sum = sql(
  'balances.sum',
  `WITH until AS (
     SELECT u.sequence AS since, least(h.sequence, u.sequence + ${BATCH}) AS sequence
     FROM balances_until u, journal_head h FOR UPDATE OF u SKIP LOCKED
   ), moved AS (
     SELECT o.account, o.owner_id, count(*)::int AS postings,
       sum(CASE o.direction WHEN 'credit' THEN o.amount_micros ELSE -o.amount_micros END) AS micros
     FROM until u JOIN postings o ON o.sequence > u.since AND o.sequence <= u.sequence GROUP BY o.account, o.owner_id
   ), summed AS (
     INSERT INTO accounts AS a (address, owner_id, balance_micros, unsnapped)
     SELECT account, owner_id, micros, postings FROM moved
     ON CONFLICT (address) DO UPDATE SET balance_micros = a.balance_micros + excluded.balance_micros,
       unsnapped = CASE WHEN a.unsnapped >= ${POSTINGS_A_SNAPSHOT} THEN 0 ELSE a.unsnapped END + excluded.unsnapped
     RETURNING address, balance_micros, unsnapped
   ), snapped AS (
     INSERT INTO balance_snapshots (account, sequence, balance_micros)
     SELECT s.address, u.sequence, s.balance_micros FROM summed s, until u WHERE s.unsnapped >= ${POSTINGS_A_SNAPSHOT}
   )
   UPDATE balances_until b SET sequence = u.sequence FROM until u WHERE u.sequence > u.since
   RETURNING (u.sequence - u.since)::int AS transactions`,
);

/** Adds new postings to the balances of accounts. One process at a time does it; readers add what is newer themselves. */
@Injectable()
export class SumBalances implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('sum-balances', INTERVAL_MS, () => this.run());
  }

  async run(): Promise<void> {
    for (;;) {
      const [summed] = await this.database.query<{ transactions: number }>(sum);
      if ((summed?.transactions ?? 0) < BATCH) return;
    }
  }
}
