import { reportBooks } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import type { Micros } from '@market/kernel';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { toUsdAmount } from '../fees/usd-amount.js';
import { FEES_PAID, PAID_OUT } from '../journal/posting.js';

type Row = OutputOf<typeof reportBooks>['rows'][number];

/**
 * The monthly movements of the accounts in each column. All postings of an account count, whatever their reason, so the
 * sums are balances.
 */
const movements = sql(
  'postings.by-seller-and-month',
  `SELECT seller_id, to_char(recorded_at, 'YYYY-MM') AS month,
     count(*) FILTER (WHERE type = 'seller_credit')::int AS sales,
     coalesce(sum(micros) FILTER (WHERE type = 'seller_credit'), 0) AS volume,
     coalesce(sum(micros) FILTER (WHERE account = 'platform:fees'), 0) AS revenue,
     coalesce(-sum(micros) FILTER (WHERE account LIKE 'agent:%:fees'), 0) AS fees_due,
     coalesce(sum(micros) FILTER (WHERE account LIKE 'agent:%:fees' AND reason = '${FEES_PAID}'), 0) AS fees_paid,
     coalesce(sum(micros) FILTER (WHERE account LIKE 'agent:%:refunds'), 0) AS refunds_due,
     coalesce(sum(micros) FILTER (WHERE account LIKE 'agent:%:earnings:%'), 0) AS payouts_due,
     coalesce(-sum(micros) FILTER (WHERE account LIKE 'agent:%:earnings:%' AND reason = '${PAID_OUT}'), 0) AS payouts_paid
   FROM (
     SELECT coalesce(y.seller_id, p.seller_id, p.buyer_id) AS seller_id, t.recorded_at, t.reason, o.account, o.type,
       CASE o.direction WHEN 'credit' THEN o.amount_micros ELSE -o.amount_micros END AS micros
     FROM postings o JOIN journal_transactions t ON t.sequence = o.sequence
       LEFT JOIN payments p ON p.id = t.payment_id LEFT JOIN payouts y ON y.id = t.payout_id
   ) m
   WHERE ($1::uuid IS NULL OR seller_id = $1) AND ($2::text IS NULL OR to_char(recorded_at, 'YYYY-MM') <= $2)
   GROUP BY seller_id, month ORDER BY seller_id, month`,
);

const MOVED = ['volume', 'revenue', 'fees_paid', 'payouts_paid'] as const;
const DUE = ['fees_due', 'refunds_due', 'payouts_due'] as const;

type Movement = Record<(typeof MOVED)[number] | (typeof DUE)[number], string> &
  Pick<Row, 'seller_id' | 'month' | 'sales'>;

/** The report of all sellers for operators. It reads the whole journal. */
@Injectable()
export class ReportBooks {
  constructor(private readonly database: Database) {}

  @HandleRequest(reportBooks)
  async get({ month, sellerId }: InputOf<typeof reportBooks>): Promise<OutputOf<typeof reportBooks>> {
    const rows = await this.database.query<Movement>(movements, [sellerId ?? null, month ?? null]);
    const due = new Map<string, Record<(typeof DUE)[number], Micros>>();
    const reported = rows.map((row): Row => {
      const before = due.get(row.seller_id);
      const after = eachOf(DUE, (column) => BigInt(row[column]) + (before?.[column] ?? 0n));
      due.set(row.seller_id, after);
      const { seller_id, sales } = row;
      const moved = eachOf(MOVED, (column) => toUsdAmount(BigInt(row[column])));
      return { seller_id, month: row.month, sales, ...moved, ...eachOf(DUE, (column) => toUsdAmount(after[column])) };
    });
    return { rows: month === undefined ? reported : latestOf(reported).map((row) => asOf(row, month)) };
  }
}

const eachOf = <K extends string, V>(columns: readonly K[], valueOf: (column: K) => V): Record<K, V> =>
  Object.fromEntries(columns.map((column) => [column, valueOf(column)])) as Record<K, V>;

/** The last row of each seller. */
const latestOf = (rows: Row[]): Row[] => [...new Map(rows.map((row) => [row.seller_id, row])).values()];

/** Returns an earlier row as a row of `month`: nothing moved in `month`, so only the amounts due remain. */
const asOf = (row: Row, month: string): Row =>
  row.month === month ? row : { ...row, month, sales: 0, ...eachOf(MOVED, () => toUsdAmount(0n)) };
