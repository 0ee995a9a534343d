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

export const readSpending = sql(
  'spending.read',
  `SELECT b.id AS budget_id, p.period, ${PERIOD_OF} AS starts_at, ${PERIOD_OF} + p.length AS resets_at,
     coalesce(s.spent_micros, 0) AS spent_micros
   FROM unnest($1::uuid[]) AS b (id) CROSS JOIN ${PERIODS}
   LEFT JOIN spending s ON s.budget_id = b.id AND s.period = p.period AND s.starts_on = ${PERIOD_OF}::date AND s.account_id = $2`,
);

/** Reads the same and locks the rows, in the same order as everywhere else. Inserts missing rows. */
export const lockSpending = sql(
  'spending.lock',
  `INSERT INTO spending AS s (budget_id, period, starts_on, account_id, spent_micros)
   SELECT b.id, p.period, ${PERIOD_OF}::date, $2, 0 FROM unnest($1::uuid[]) AS b (id) CROSS JOIN ${PERIODS} ORDER BY b.id, p.period
   ON CONFLICT (budget_id, period, starts_on) DO UPDATE SET spent_micros = s.spent_micros
   RETURNING budget_id, period, starts_on::timestamptz AS starts_at,
     date_trunc(period, now()) + ('1 ' || period)::interval AS resets_at, spent_micros`,
);
