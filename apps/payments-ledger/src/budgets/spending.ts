import { sql } from '@market/persistence';

/** What was spent under a budget in the current day or month of UTC. All connections use UTC. */
export interface SpendingRow {
  budget_id: string;
  period: 'day' | 'month';
  starts_at: Date;
  resets_at: Date;
  spent_micros: string;
}

const PERIODS = `(VALUES ('day', interval '1 day'), ('month', interval '1 month')) AS p (period, length)`;
const PERIOD_OF = `date_trunc(p.period, now())`;

/**
 * What was spent in a period before it was counted under the budget, which may be new: what is charged or committed of
 * the payments of its account ($2), or of its key, but for the one to be counted ($3).
 */
const OF_BUYER = `buyer_id = $2 AND (b.id = $2 OR key_id = b.id) AND id IS DISTINCT FROM $3`;
const SPENT_BEFORE = `
  coalesce((SELECT sum(gross_micros) FROM payments
    WHERE ${OF_BUYER} AND state = 'completed' AND purpose <> 'fee' AND completed_at >= ${PERIOD_OF}), 0)
  + coalesce((SELECT sum(gross_micros) FROM payments
    WHERE ${OF_BUYER} AND state IN ('verified', 'indeterminate') AND purpose <> 'fee' AND verified_at >= ${PERIOD_OF}), 0)`;

export const readSpending = sql(
  'spending.read',
  `SELECT b.id AS budget_id, p.period, ${PERIOD_OF} AS starts_at, ${PERIOD_OF} + p.length AS resets_at,
     coalesce(s.spent_micros, ${SPENT_BEFORE})::bigint AS spent_micros
   FROM unnest($1::uuid[]) AS b (id) CROSS JOIN ${PERIODS}
   LEFT JOIN spending s ON s.budget_id = b.id AND s.period = p.period AND s.starts_on = ${PERIOD_OF}::date AND s.account_id = $2`,
);

/** Reads the same and locks the rows, in the same order as everywhere else. Inserts missing rows. */
export const lockSpending = sql(
  'spending.lock',
  `INSERT INTO spending AS s (budget_id, period, starts_on, account_id, spent_micros)
   SELECT b.id, p.period, ${PERIOD_OF}::date, $2, CASE WHEN EXISTS (
       SELECT 1 FROM spending k WHERE k.budget_id = b.id AND k.period = p.period AND k.starts_on = ${PERIOD_OF}::date
     ) THEN 0 ELSE ${SPENT_BEFORE} END
   FROM unnest($1::uuid[]) AS b (id) CROSS JOIN ${PERIODS} ORDER BY b.id, p.period
   ON CONFLICT (budget_id, period, starts_on) DO UPDATE SET spent_micros = s.spent_micros
   RETURNING budget_id, period, starts_on::timestamptz AS starts_at,
     date_trunc(period, now()) + ('1 ' || period)::interval AS resets_at, spent_micros`,
);
