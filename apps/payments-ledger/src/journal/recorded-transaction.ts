import {
  POSTING,
  PAYMENT,
  PAYOUT,
  RECEIPT,
  REFUND,
  type PaymentFacts,
  type PayoutFacts,
  type PostingFacts,
  type ReceiptFacts,
  type RefundFacts,
  type RecordedTransaction,
} from './chain-hash.js';
import { SALE_REASONS, type Posting } from './posting.js';

/** A journal transaction as `recordedTransactions` reads it. */
export interface RecordedRow {
  id: string;
  sequence: string;
  reason: string;
  payment_id: string | null;
  recorded_at: Date;
  hash: Buffer;
  checksums: Buffer;
  payment: PaymentFacts | null;
  payout: PayoutFacts | null;
  completed_at: Date | null;
  payer: string | null;
  receipts: ReceiptFacts[];
  /** The refund that the transaction pays, if any. */
  refund: RefundFacts | null;
  postings: (PostingFacts & {
    account: string;
    direction: Posting['direction'];
    amount_micros: string;
    balance_after_micros: string;
  })[];
}

/** The columns as a JSON object of texts. Digests are hex and times are milliseconds, as in the hash chain. */
const asText = (alias: string, columns: readonly string[]): string =>
  `json_build_object(${columns.map((column) => `'${column}', ${textOf(`${alias}.${column}`)}`).join(', ')})`;
const textOf = (column: string): string => {
  if (column.endsWith('_digest')) return `encode(${column}, 'hex')`;
  return column.endsWith('_at') ? `floor(extract(epoch FROM ${column}) * 1000)::text` : `${column}::text`;
};

/** The refund `x` that journal transaction `t` pays. */
export const REFUND_PAID = `x.payment_id = t.payment_id AND t.reason = x.reason || '_refunded_by_' || x.owed_by`;

/** Journal transactions `t` with all values that the chain binds, from every table that holds them. */
export const recordedTransactions = `
  SELECT t.id, t.sequence, t.reason, t.payment_id, t.recorded_at, t.hash, t.checksums, p.completed_at,
    CASE WHEN p.id IS NOT NULL THEN ${asText('p', PAYMENT)} END AS payment,
    CASE WHEN y.id IS NOT NULL THEN ${asText('y', PAYOUT)} END AS payout,
    (SELECT ${asText('x', REFUND)} FROM refunds x WHERE ${REFUND_PAID}) AS refund,
    (SELECT payer FROM authorizations a WHERE a.id = p.authorization_id) AS payer,
    coalesce((SELECT json_agg(${asText('r', RECEIPT)}) FROM receipts r WHERE r.payment_id = t.payment_id), '[]') AS receipts,
    coalesce((SELECT json_agg(${asText('o', POSTING)} ORDER BY o.position) FROM postings o WHERE o.transaction_id = t.id), '[]') AS postings
  FROM journal_transactions t LEFT JOIN payments p ON p.id = t.payment_id LEFT JOIN payouts y ON y.id = t.payout_id`;

/** Columns of a missing row count as null. */
export function toRecorded({
  hash: _hash,
  checksums: _checksums,
  payment,
  completed_at,
  payer,
  receipts,
  ...row
}: RecordedRow): RecordedTransaction {
  const receiptOf = (side: string): ReceiptFacts =>
    receipts.find(({ recipient_type }) => recipient_type === side) ?? ({} as ReceiptFacts);
  const isSale = (SALE_REASONS as readonly string[]).includes(row.reason);
  return {
    ...row,
    // A deleted payment counts as a payment without values. A payout has no payment.
    payment: payment ?? (row.payment_id === null ? null : ({} as PaymentFacts)),
    sale: isSale ? { completed_at, payer, buyer: receiptOf('buyer'), seller: receiptOf('seller') } : null,
  };
}
