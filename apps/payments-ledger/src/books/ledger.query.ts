import { listLedger } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { centsNumber } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Database, pageOfRows, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ENTRY_ID, positionOf, transactionIdOf } from '../journal/entry-ids.js';
import { REFUND_PAID } from '../journal/recorded-transaction.js';

type Entry = OutputOf<typeof listLedger>['items'][number];

interface EntryRow {
  id: string;
  transaction_id: string;
  type: Entry['type'];
  account: string;
  direction: Entry['direction'];
  amount_micros: string;
  balance_after_micros: string;
  listing_id: string | null;
  listing_name: string | null;
  listing_slug: string | null;
  payment_id: string | null;
  gateway_request_id: string | null;
  receipt_id: string | null;
  transaction_hash: string | null;
  network: string;
  wallet: string | null;
  unit: string | null;
  units: string | null;
  recorded_at: Date;
}

/**
 * SQL: what the account of posting `o` held after it: the snapshot before it and the postings since, which are found by
 * their owner, because an owner has few accounts.
 */
const BALANCE_AFTER = `
  SELECT coalesce(max(s.balance_micros), 0)
    + coalesce(sum(CASE b.direction WHEN 'credit' THEN b.amount_micros ELSE -b.amount_micros END), 0)
  FROM (SELECT 1) one
  LEFT JOIN LATERAL (
    SELECT sequence, balance_micros FROM balance_snapshots
    WHERE account = o.account AND sequence < o.sequence ORDER BY sequence DESC LIMIT 1
  ) s ON true
  LEFT JOIN postings b ON b.owner_id = o.owner_id AND b.account = o.account AND b.sequence > coalesce(s.sequence, 0)
    AND (b.sequence, b.position) <= (o.sequence, o.position)`;
const JOINED = `postings o JOIN journal_transactions t ON t.sequence = o.sequence
  LEFT JOIN payments p ON p.id = t.payment_id LEFT JOIN payouts y ON y.id = t.payout_id`;
const MATCHING = `WHERE o.owner_id = $1 AND ($2::text IS NULL OR o.type = $2) AND ($3::text IS NULL OR o.direction = $3)
     AND ($4::uuid IS NULL OR p.listing_id = $4)
     AND ($5::timestamptz IS NULL OR t.recorded_at >= $5) AND ($6::timestamptz IS NULL OR t.recorded_at < $6)`;
const statement = (cursorCondition: string): string =>
  `SELECT ${ENTRY_ID} AS id, t.id AS transaction_id, o.type, o.account, o.direction, o.amount_micros,
     (${BALANCE_AFTER}) AS balance_after_micros,
     p.listing_id, p.listing_name, p.listing_slug, p.id AS payment_id, p.gateway_request_id, t.recorded_at,
     p.usage ->> 'unit' AS unit, p.units,
     CASE WHEN x.id IS NULL THEN coalesce(p.transaction_hash, y.transaction_hash) ELSE x.transaction_hash END AS transaction_hash,
     CASE WHEN x.id IS NULL THEN coalesce(p.network, y.network) ELSE x.network END AS network,
     CASE WHEN x.id IS NULL THEN coalesce(p.pay_to, y.wallet) ELSE x.wallet END AS wallet,
     (SELECT r.id FROM receipts r WHERE r.sequence = o.sequence AND r.recipient_id = o.owner_id) AS receipt_id
   FROM ${JOINED} LEFT JOIN refunds x ON ${REFUND_PAID} ${MATCHING} ${cursorCondition}
   ORDER BY o.sequence DESC, o.position DESC LIMIT $7::int + 1 OFFSET $8`;
const list = sql('ledger.list', statement(''));
const listAfterCursor = sql(
  'ledger.list-after-cursor',
  statement(
    `AND (o.sequence, o.position) < (
      (SELECT sequence FROM journal_transactions WHERE id = $9), $10::int)`,
  ),
);
const count = sql('ledger.count', `SELECT count(*)::int AS total FROM ${JOINED} ${MATCHING}`);

/** The caller's postings, newest first. `from` is inclusive, `to` exclusive. */
@Injectable()
export class LedgerQuery {
  constructor(private readonly database: Database) {}

  @HandleRequest(listLedger)
  async list(input: InputOf<typeof listLedger>, context: RequestContext): Promise<OutputOf<typeof listLedger>> {
    const filter = [
      principalOf(context).accountId,
      input.type ?? null,
      input.direction ?? null,
      input.listingId ?? null,
      input.from ?? null,
      input.to ?? null,
    ];
    const { cursor, limit } = input;
    const [found, [counted]] = await Promise.all([
      cursor === undefined
        ? this.database.query<EntryRow>(list, [...filter, limit, (input.page - 1) * limit])
        : this.database.query<EntryRow>(listAfterCursor, [
            ...filter,
            limit,
            0,
            transactionIdOf(cursor),
            positionOf(cursor),
          ]),
      this.database.query<{ total: number }>(count, filter),
    ]);
    const { rows, nextCursor } = pageOfRows(found, limit);
    return { items: rows.map(toEntry), total: counted!.total, nextCursor };
  }
}

function toEntry(row: EntryRow): Entry {
  return {
    id: row.id,
    transaction_id: row.transaction_id,
    type: row.type,
    account: row.account,
    direction: row.direction,
    amount_cents: centsNumber(BigInt(row.amount_micros)),
    currency: 'USD',
    balance_after_cents: centsNumber(BigInt(row.balance_after_micros)),
    listing: row.listing_id === null ? null : { id: row.listing_id, name: row.listing_name!, slug: row.listing_slug! },
    reference: { payment_id: row.payment_id, gateway_request_id: row.gateway_request_id, receipt_id: row.receipt_id },
    transaction_hash: row.transaction_hash,
    network: row.network,
    wallet: row.wallet,
    usage: row.units === null ? null : { unit: row.unit!, units: Number(row.units) },
    created_at: row.recorded_at.toISOString(),
  };
}
