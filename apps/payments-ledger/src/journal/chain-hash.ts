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
 * changes once the payment is in the journal.
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
  'transaction_hash',
] as const;
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

/**
 * The facts of a sale that are not in its payment: the time of completion, the wallet that signed the payment, if any,
 * and what a call exchanged.
 */
interface SaleFacts extends ExchangeFacts {
  completed_at: unknown;
  payer: unknown;
}

/** All bound values in a fixed order. Postings come last, because their number varies. */
export function boundValues(transaction: RecordedTransaction): Value[] {
  const { payment, payout, sale, refund, postings } = transaction;
  const values: Value[] = [];
  addValues(values, TRANSACTION, transaction);
  if (payment) addValues(values, PAYMENT, payment);
  if (payout) addValues(values, PAYOUT, payout);
  if (sale) {
    values.push(textOf(sale.completed_at), textOf(sale.payer));
    addValues(values, EXCHANGE, sale);
  }
  if (refund) addValues(values, REFUND, refund);
  for (const posting of postings) addValues(values, POSTING, posting);
  return values;
}

/** SHA-256 over all bound values of a transaction. */
export function digestOf(values: readonly Value[]): Buffer {
  return createHash('sha256').update(JSON.stringify(values)).digest();
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
 * Two bytes for each value, stored with the digest. The digest shows that something was changed; the checksums show
 * which value.
 */
export function checksumsOf(values: readonly Value[]): Buffer {
  const checksums = Buffer.allocUnsafe(values.length * 2);
  values.forEach((value, index) => checksums.writeUInt16BE(checksum(value), index * 2));
  return checksums;
}

/** The columns whose values do not match the stored checksums. */
export function changedColumns(transaction: RecordedTransaction, checksums: Buffer): string[] {
  const columns = boundColumns(transaction);
  const values = boundValues(transaction);
  const kept = checksums.length / 2;
  const changed = columns.filter(
    (_column, index) => index >= kept || checksum(values[index]!) !== checksums.readUInt16BE(index * 2),
  );
  return kept > columns.length ? [...changed, 'postings'] : changed;
}

function boundColumns({ payment, payout, postings, sale, refund }: RecordedTransaction): string[] {
  const named = (row: string, columns: readonly string[]): string[] => columns.map((column) => `${row}.${column}`);
  return [
    ...named('journal_transactions', TRANSACTION),
    ...(payment ? named('payments', PAYMENT) : []),
    ...(payout ? named('payouts', PAYOUT) : []),
    ...(sale ? ['payments.completed_at', 'authorizations.payer', ...named('journal_transactions', EXCHANGE)] : []),
    ...(refund ? named('refunds', REFUND) : []),
    ...postings.flatMap((_posting, index) => named(`postings[${index}]`, POSTING)),
  ];
}

function addValues<Column extends string>(values: Value[], columns: readonly Column[], row: Row<Column>): void {
  for (const column of columns) values.push(textOf(row[column]));
}

/** A digest as hex, a time as milliseconds since 1970, any other value as its text. */
function textOf(value: unknown): Value {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString('hex');
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
