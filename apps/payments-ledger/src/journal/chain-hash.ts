import { createHash } from 'node:crypto';

export const GENESIS = Buffer.alloc(32);

const { imul } = Math;

/** Values as the hash chain binds them: as text, whatever their type in the database is. */
type Row<Column extends string> = Record<Column, unknown>;
type Value = string | null;

/** Its sequence is its place in the chain. */
export const TRANSACTION = ['id', 'reason', 'payment_id', 'recorded_at'] as const;
/**
 * The columns of a payment that receipts and ledger entries show, and from which its amounts are computed. None of them
 * changes once the payment is in the journal, but those of `BY_USE`.
 */
export const PAYMENT = [
  'id',
  'relay_request_id',
  'purpose',
  'gateway_request_id',
  'buyer_id',
  'seller_id',
  'listing_id',
  'listing_name',
  'listing_slug',
  'rail',
  'network',
  'currency',
  'pay_to',
  'payee',
  'amount_base_units',
  'gross_micros',
  'fee_micros',
  'net_micros',
  'fee_bps',
  'quoted_micros',
  'usage',
  'units',
  'transaction_hash',
] as const;
/** What is known of a call that costs what it uses only when it is sold, so that no other entry binds it. */
export const BY_USE = ['gross_micros', 'fee_micros', 'net_micros', 'units'];
/** The columns of a transfer by which the operator paid a seller. */
export const PAYOUT = [
  'id',
  'seller_id',
  'network',
  'wallet',
  'transaction_hash',
  'log_index',
  'amount_micros',
  'confirmed_at',
] as const;
export const POSTING = ['position', 'account', 'owner_id', 'type', 'direction', 'amount_micros'] as const;
/** The columns of other tables that belong to a sale: the time of completion, and the wallet that signed, if any. */
const SALE = ['completed_at', 'payer'] as const;
/** The columns of a journal transaction that only a call has. */
export const EXCHANGE = ['request_digest', 'response_digest', 'seller_status_code'] as const;

/** The columns of a paid refund. */
export const REFUND = ['id', 'network', 'wallet', 'transaction_hash', 'log_index'] as const;

export type PaymentFacts = Row<(typeof PAYMENT)[number]>;
export type PayoutFacts = Row<(typeof PAYOUT)[number]>;
export type PostingFacts = Row<(typeof POSTING)[number]>;
export type ExchangeFacts = Row<(typeof EXCHANGE)[number]>;
export type RefundFacts = Row<(typeof REFUND)[number]>;

/** A journal transaction with everything that the chain binds to it. */
export interface RecordedTransaction extends Row<(typeof TRANSACTION)[number]> {
  /** Null for a payout. */
  payment: PaymentFacts | null;
  payout: PayoutFacts | null;
  sale: SaleFacts | null;
  refund?: RefundFacts | null;
  postings: readonly PostingFacts[];
}

/** The facts of a sale that are not in its payment. */
type SaleFacts = Row<(typeof SALE)[number]> & ExchangeFacts;

/** All bound values in a fixed order: those of the rows, null where there is no such row, and those of each posting. */
export interface BoundValues {
  rows: Value[];
  postings: Value[][];
}

export function boundValues({
  payment,
  payout,
  sale,
  refund,
  postings,
  ...transaction
}: RecordedTransaction): BoundValues {
  const rows: Value[] = [];
  addValues(rows, TRANSACTION, transaction);
  addValues(rows, PAYMENT, payment?.usage && !sale ? withoutUse(payment) : payment);
  addValues(rows, SALE, sale);
  addValues(rows, EXCHANGE, sale);
  addValues(rows, PAYOUT, payout);
  addValues(rows, REFUND, refund);
  return {
    rows,
    postings: postings.map((posting) => {
      const values: Value[] = [];
      addValues(values, POSTING, posting);
      return values;
    }),
  };
}

const withoutUse = (payment: PaymentFacts): PaymentFacts => ({
  ...payment,
  ...(Object.fromEntries(BY_USE.map((column) => [column, null])) as Partial<PaymentFacts>),
});

/**
 * SHA-256 over all bound values of a transaction and over their checksums. PostgreSQL computes the same from the stored
 * rows (`recorded-transaction.ts`), so that `books verify` reads nothing but what does not fit.
 */
export function digestOf({ rows, postings }: BoundValues, checksums: Buffer): Buffer {
  return createHash('sha256')
    .update(Buffer.concat([rows, ...postings].map(recordOf)))
    .update(checksums)
    .digest();
}

/**
 * A link of the chain: SHA-256 over the previous link and the digests of the transactions that were recorded together,
 * in order. `Journal` computes the same in the statement that records them.
 */
export function linkOf(previous: Buffer, digests: readonly Buffer[]): Buffer {
  return createHash('sha256')
    .update(Buffer.concat([previous, ...digests]))
    .digest();
}

/**
 * Two bytes for each value, stored with the digest: the digest shows that something was changed, the checksums show
 * which value. The values of rows end with the last that is not null, and their number comes first.
 */
export function checksumsOf({ rows, postings }: BoundValues): Buffer {
  const kept = rows.slice(0, rows.findLastIndex((value) => value !== null) + 1);
  const values = [kept, ...postings].flat();
  const checksums = Buffer.allocUnsafe(1 + values.length * 2);
  checksums.writeUInt8(kept.length);
  values.forEach((value, index) => checksums.writeUInt16BE(checksum(value), 1 + index * 2));
  return checksums;
}

/** The columns whose values do not match the stored checksums. */
export function changedColumns({ rows, postings }: BoundValues, checksums: Buffer): string[] {
  const stored = Array.from({ length: Math.floor((checksums.length - 1) / 2) }, (_, index) =>
    checksums.readUInt16BE(1 + index * 2),
  );
  const ofRows = stored.splice(0, checksums[0] ?? 0);
  const changed = COLUMNS.filter((_column, index) => checksum(rows[index]!) !== (ofRows[index] ?? 0));
  const columns = postings.flatMap((_posting, index) => named(`postings[${index}]`, POSTING));
  const values = postings.flat();
  changed.push(...columns.filter((_column, index) => checksum(values[index]!) !== stored[index]));
  return stored.length > columns.length ? [...changed, 'postings'] : changed;
}

const named = (row: string, columns: readonly string[]): string[] => columns.map((column) => `${row}.${column}`);
const COLUMNS = [
  ...named('journal_transactions', TRANSACTION),
  ...named('payments', PAYMENT),
  'payments.completed_at',
  'authorizations.payer',
  ...named('journal_transactions', EXCHANGE),
  ...named('payouts', PAYOUT),
  ...named('refunds', REFUND),
];

function addValues<Column extends string>(
  values: Value[],
  columns: readonly Column[],
  row: Row<Column> | null | undefined,
): void {
  for (const column of columns) values.push(textOf(row?.[column]));
}

/** The object id of PostgreSQL's type `text`. */
const TEXT = 25;
const NULL = -1;

/** What PostgreSQL's `record_send` makes of a row of texts: their number, and of each its type, its length and itself. */
function recordOf(values: readonly Value[]): Buffer {
  const lengths = values.map((value) => (value === null ? NULL : Buffer.byteLength(value)));
  const record = Buffer.allocUnsafe(4 + lengths.reduce((size, length) => size + 8 + Math.max(length, 0), 0));
  let at = record.writeInt32BE(values.length);
  values.forEach((value, index) => {
    at = record.writeInt32BE(TEXT, at);
    at = record.writeInt32BE(lengths[index]!, at);
    if (value !== null) at += record.write(value, at);
  });
  return record;
}

/** The rows of texts of which PostgreSQL made these bytes. */
export function recordsIn(bytes: Buffer): Value[][] {
  const records: Value[][] = [];
  for (let at = 0; at < bytes.length;) {
    const values: Value[] = [];
    const end = bytes.readInt32BE(at);
    for (at += 4; values.length < end;) {
      const length = bytes.readInt32BE(at + 4);
      at += 8;
      values.push(length === NULL ? null : bytes.toString('utf8', at, at + length));
      at += Math.max(length, 0);
    }
    records.push(values);
  }
  return records;
}

/**
 * A digest as hex, a time as milliseconds since 1970, of the tiers of a call what is counted, any other value as its text.
 * The tiers themselves follow from the charge: `books verify` compares the two.
 */
function textOf(value: unknown): Value {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (typeof value === 'object' && 'unit' in value) return String(value.unit);
  return value instanceof Date ? value.getTime().toString() : String(value as string | number | bigint);
}

/**
 * FNV-1a of 32 bits over UTF-16 code units, folded to 16; 0 for null. Source:
 * datatracker.ietf.org/doc/html/draft-eastlake-fnv.
 */
function checksum(value: Value): number {
  if (value === null) return 0;
  let hash = 0x811c9dc5;
  for (let index = 0; index < value.length; index += 1) hash = imul(hash ^ value.charCodeAt(index), 0x01000193);
  return (hash >>> 16) ^ (hash & 0xffff);
}
