import { BY_USE, EXCHANGE, PAYMENT, PAYOUT, POSTING, REFUND, TRANSACTION } from './chain-hash.js';
import { SALE_REASONS } from './posting.js';

/** The refund `x` that journal transaction `t` pays. */
export const REFUND_PAID = `x.payment_id = t.payment_id AND t.reason = x.reason || '_refunded_by_' || x.owed_by`;

const IS_SALE = `t.reason IN (${SALE_REASONS.map((reason) => `'${reason}'`).join(', ')})`;
export const SIGNED = `CASE direction WHEN 'credit' THEN amount_micros ELSE -amount_micros END`;

/** A value as text, as in the hash chain: digests are hex, times are milliseconds, and tiers are what is counted. */
const textOf = (column: string): string => {
  if (column.endsWith('_digest')) return `encode(${column}, 'hex')`;
  if (column.endsWith('.usage')) return `${column} ->> 'unit'`;
  return column.endsWith('_at') ? `(extract(epoch FROM ${column}) * 1000)::bigint::text` : `${column}::text`;
};
const textsOf = (alias: string, columns: readonly string[]): string[] =>
  columns.map((column) => textOf(`${alias}.${column}`));

/** What `recordOf` makes of the same values. */
const ROWS = `record_send(ROW(${[
  ...textsOf('t', TRANSACTION),
  ...PAYMENT.map((column) =>
    BY_USE.includes(column)
      ? `CASE WHEN p.usage IS NULL OR ${IS_SALE} THEN ${textOf(`p.${column}`)} END`
      : textOf(`p.${column}`),
  ),
  `CASE WHEN ${IS_SALE} THEN ${textOf('p.completed_at')} END`,
  `CASE WHEN ${IS_SALE} THEN a.payer END`,
  ...textsOf('t', EXCHANGE),
  ...textsOf('y', PAYOUT),
  ...textsOf('x', REFUND),
].join(', ')}))`;
/**
 * SQL: the account on which the price of a sale is booked after the seller's `agent:…`, by who has the money of payment
 * `p`; see `posting.ts`.
 */
export const CREDITED = `CASE
  WHEN p.payee = 'operator' OR (p.payee = 'seller' AND p.authorization_id IS NULL) THEN ':earnings:' || p.rail || ':' || p.network
  WHEN p.payee = 'split' THEN ':received:' || p.rail ELSE ':received:' || p.network || ':' || p.pay_to END`;
const sold = (
  position: number,
  account: string,
  owner: string,
  type: string,
  direction: string,
  micros: string,
): string =>
  `record_send(ROW('${position}'::text, ${account}, ${owner}::text, '${type}'::text, '${direction}'::text, p.${micros}::text))`;
const [BUYER, SELLER] = ["'agent:' || p.buyer_id", "'agent:' || p.seller_id"];
const BEARS_FEE = `CASE WHEN p.payee = 'seller' AND p.authorization_id IS NOT NULL THEN ':fees' ELSE ${CREDITED} END`;
/**
 * Whether the transaction is the delivered call of a payment that is completed, has no surplus and is booked as it should
 * be. Calls that cost what they use are compared with all that is known of them, and not here.
 */
const IS_SOLD = `t.reason = 'call_completed' AND p.purpose = 'call' AND p.state = 'completed'
  AND p.received_base_units = p.amount_base_units AND p.usage IS NULL AND t.request_digest IS NOT NULL
  AND o.postings = ${sold(0, `${BUYER} || ':payments'`, 'p.buyer_id', 'direct_payment', 'debit', 'gross_micros')}
    || ${sold(1, `${SELLER} || ${CREDITED}`, 'p.seller_id', 'seller_credit', 'credit', 'gross_micros')}
    || CASE WHEN p.fee_micros > 0
         THEN ${sold(2, `${SELLER} || ${BEARS_FEE}`, 'p.seller_id', 'marketplace_fee', 'debit', 'fee_micros')}
           || ${sold(3, `'platform:fees'::text`, 'NULL', 'marketplace_fee', 'credit', 'fee_micros')}
         ELSE '' END`;
const POSTINGS = `string_agg(record_send(ROW(${textsOf('o', POSTING).join(', ')})), '' ORDER BY o.position)`;

/**
 * SQL: journal transactions with the bytes of all values that the chain binds, from every table that holds them.
 * @param among says of a sequence whether its transaction is one of them.
 */
export const recordedTransactions = (among: (sequence: string) => string): string => `
  SELECT t.sequence, t.id, t.digest, t.checksums, t.link, ${ROWS} AS rows, coalesce(o.postings, '') AS postings,
    coalesce(o.number, 0) AS number, coalesce(o.sum, 0) AS sum, t.payment_id, coalesce(${IS_SOLD}, false) AS is_sold
  FROM journal_transactions t LEFT JOIN payments p ON p.id = t.payment_id LEFT JOIN payouts y ON y.id = t.payout_id
  LEFT JOIN authorizations a ON a.id = p.authorization_id LEFT JOIN refunds x ON ${REFUND_PAID}
  LEFT JOIN (
    SELECT sequence, ${POSTINGS} AS postings, count(*) AS number, sum(${SIGNED}) AS sum
    FROM postings o WHERE ${among('o.sequence')} GROUP BY sequence
  ) o ON o.sequence = t.sequence
  WHERE ${among('t.sequence')}`;

/** SQL: whether a journal transaction of those is not as it was recorded. */
export const IS_CHANGED = `sha256(rows || postings || checksums) <> digest`;
