import {
  POSTING,
  PAYMENT,
  PAYOUT,
  REFUND,
  type ExchangeFacts,
  type PaymentFacts,
  type PayoutFacts,
  type PostingFacts,
  type RefundFacts,
  type RecordedTransaction,
} from './chain-hash.js';
import { SALE_REASONS, type Posting } from './posting.js';

/** A journal transaction as `recordedTransactions` reads it. */
export interface RecordedRow extends ExchangeFacts {
  id: string;
  sequence: string;
  reason: string;
  payment_id: string | null;
  recorded_at: Date;
  digest: Buffer;
  checksums: Buffer;
  /** Of the last transaction of a group. */
  link: Buffer | null;
  payment: PaymentFacts | null;
  payout: PayoutFacts | null;
  completed_at: Date | null;
  payer: string | null;
  /** The refund that the transaction pays, if any. */
  refund: RefundFacts | null;
  postings: (PostingFacts & {
    account: string;
    direction: Posting['direction'];
    amount_micros: string;
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
  SELECT t.id, t.sequence, t.reason, t.payment_id, t.recorded_at, t.request_digest, t.response_digest, t.seller_status_code,
    t.digest, t.checksums, t.link, p.completed_at,
    CASE WHEN p.id IS NOT NULL THEN ${asText('p', PAYMENT)} END AS payment,
    CASE WHEN y.id IS NOT NULL THEN ${asText('y', PAYOUT)} END AS payout,
    (SELECT ${asText('x', REFUND)} FROM refunds x WHERE ${REFUND_PAID}) AS refund,
    (SELECT payer FROM authorizations a WHERE a.id = p.authorization_id) AS payer,
    coalesce((SELECT json_agg(${asText('o', POSTING)} ORDER BY o.position) FROM postings o WHERE o.sequence = t.sequence), '[]') AS postings
  FROM journal_transactions t LEFT JOIN payments p ON p.id = t.payment_id LEFT JOIN payouts y ON y.id = t.payout_id`;

/** Columns of a missing row count as null. */
export function toRecorded({ payment, completed_at, payer, ...row }: RecordedRow): RecordedTransaction {
  const { request_digest, response_digest, seller_status_code } = row;
  const isSale = (SALE_REASONS as readonly string[]).includes(row.reason);
  return {
    ...row,
    // A deleted payment counts as a payment without values. A payout has no payment.
    payment: payment ?? (row.payment_id === null ? null : ({} as PaymentFacts)),
    sale: isSale ? { completed_at, payer, request_digest, response_digest, seller_status_code } : null,
  };
}
