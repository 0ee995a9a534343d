import { batchSql, sql, type Statement, type Tx } from '@market/persistence';
import { CREDITED } from '../journal/recorded-transaction.js';
import { BEGINNING, type VerifiedChain } from '../journal/verify-journal.js';

export interface PaymentProblem {
  kind: 'payment_unlike_books';
  /** The id of a payment, a payout or a quota. */
  subject: string;
  detail: string;
}

/** SQL: what so many units cost by the tiers of a payment, computed apart from the code that charges. */
const USED = `least(quoted, (SELECT div(sum(greatest(0, least(units, ends) - starts) * price), max(per)) FROM (
    SELECT coalesce((t ->> 'up_to')::numeric, units) AS ends, (t ->> 'price')::numeric * 1000000 AS price,
      coalesce(lag((t ->> 'up_to')::numeric) OVER (ORDER BY n), 0) AS starts, (usage ->> 'per')::numeric AS per
    FROM jsonb_array_elements(usage -> 'tiers') WITH ORDINALITY AS tiers (t, n)) tier))`;
/** Payments for something whose journal entries or receipts do not match their state and the money received. */
const isLookedAt = (id: string): string => `${id} = ANY($1::uuid[])`;
const unlike = batchSql(`WITH facts AS (
     SELECT p.id, p.state, p.purpose, p.gross_micros, p.fee_micros, p.net_micros, p.buyer_id, p.seller_id,
       CASE p.purpose WHEN 'call' THEN 'call_completed' WHEN 'subscription' THEN 'subscription_started' ELSE 'fees_paid' END AS reason,
       CASE WHEN p.purpose = 'fee' THEN 0 ELSE p.gross_micros END AS charge_due,
       CASE p.purpose WHEN 'fee' THEN p.gross_micros ELSE p.net_micros END AS earned_due,
       'agent:' || coalesce(p.seller_id, p.buyer_id) || CASE p.purpose WHEN 'fee' THEN ':fees' ELSE ${CREDITED} END AS credited_due,
       CASE WHEN p.fee_micros > 0 AND p.payee = 'seller' AND p.is_authorized THEN 'agent:' || p.seller_id || ':fees' END AS indebted_due,
       j.credited, j.indebted,
       -- The part of a refund that is the seller's debt: what the seller has of the money; see sellersPart.
       CASE WHEN p.payee = 'seller' AND p.is_authorized THEN p.quoted
            WHEN p.payee = 'split' THEN p.quoted - div(p.quoted * p.fee_bps, 10000) ELSE 0 END AS sellers_part, p.quoted, p.usage, p.units,
       coalesce(j.owed_by_seller, 0) AS owed_by_seller,
       CASE WHEN p.state IN ('refund_due', 'refunded') THEN div(p.received_base_units * p.quoted, p.amount_base_units)
            WHEN p.state = 'completed' THEN div(p.received_base_units * p.quoted, p.amount_base_units) - p.gross_micros
            WHEN p.state = 'verified' AND NOT p.is_authorized
              THEN div((p.received_base_units - p.amount_base_units) * p.quoted, p.amount_base_units)
            ELSE 0 END AS owed_due,
       coalesce(j.charges, 0) AS charges, j.charge_reason, coalesce(j.charged, 0) AS charged,
       coalesce(j.fee, 0) AS fee, coalesce(j.earned, 0) AS earned, coalesce(j.owed, 0) AS owed,
       coalesce(j.given_back, 0) AS given_back, coalesce(x.refunded, 0) AS refunded, coalesce(x.still_due, 0) AS still_due,
       coalesce(j.fitting_parties, p.purpose = 'fee') AND coalesce(j.exchanged, false) = (p.purpose = 'call') AS fits_receipts,
       coalesce(s.subscriptions, 0) AS subscriptions
     FROM (SELECT *, authorization_id IS NOT NULL AS is_authorized, coalesce(quoted_micros, gross_micros)::numeric AS quoted
       FROM payments WHERE ${isLookedAt('id')} AND purpose <> 'included') p
     LEFT JOIN (
       SELECT t.payment_id,
         count(*) FILTER (WHERE o.position = 0 AND t.reason IN ('call_completed', 'subscription_started', 'fees_paid')) AS charges,
         max(t.reason) FILTER (WHERE t.reason IN ('call_completed', 'subscription_started', 'fees_paid')) AS charge_reason,
         string_agg(o.account, ',')
           FILTER (WHERE o.type = 'seller_credit' OR (t.reason = 'fees_paid' AND o.owner_id IS NOT NULL)) AS credited,
         string_agg(o.account, ',')
           FILTER (WHERE o.type = 'marketplace_fee' AND o.direction = 'debit' AND o.account LIKE 'agent:%:fees') AS indebted,
         sum(o.amount_micros) FILTER (WHERE o.type = 'direct_payment') AS charged,
         bool_and(o.owner_id IS NOT DISTINCT FROM CASE o.type WHEN 'direct_payment' THEN q.buyer_id ELSE q.seller_id END)
           FILTER (WHERE o.type IN ('direct_payment', 'seller_credit')) AS fitting_parties,
         bool_or(t.request_digest IS NOT NULL) AS exchanged,
         sum(o.amount_micros) FILTER (WHERE o.account = 'platform:fees') AS fee,
         sum(CASE o.direction WHEN 'credit' THEN o.amount_micros ELSE -o.amount_micros END)
           FILTER (WHERE o.type IN ('seller_credit', 'marketplace_fee') AND o.owner_id IS NOT NULL) AS earned,
         sum(o.amount_micros) FILTER (WHERE o.account LIKE 'agent:%:refunds' AND o.direction = 'credit') AS owed,
         sum(o.amount_micros) FILTER (WHERE o.account LIKE 'agent:%:refunds' AND o.direction = 'debit') AS given_back,
         sum(o.amount_micros) FILTER (WHERE o.account LIKE 'agent:%:owed' AND o.direction = 'debit') AS owed_by_seller
       FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence LEFT JOIN payments q ON q.id = t.payment_id
       WHERE ${isLookedAt('t.payment_id')} GROUP BY t.payment_id
     ) j ON j.payment_id = p.id
     LEFT JOIN (
       SELECT payment_id, sum(amount_micros) FILTER (WHERE refunded_at IS NOT NULL) AS refunded,
         sum(amount_micros) FILTER (WHERE refunded_at IS NULL) AS still_due
       FROM refunds WHERE ${isLookedAt('payment_id')} GROUP BY payment_id
     ) x ON x.payment_id = p.id
     LEFT JOIN (
       SELECT s.payment_id, count(*) AS subscriptions FROM subscriptions s JOIN payments q ON q.id = s.payment_id
       WHERE s.consumer_id = q.buyer_id AND s.listing_id = q.listing_id AND s.price_micros = q.gross_micros
         AND ${isLookedAt('s.payment_id')} GROUP BY s.payment_id
     ) s ON s.payment_id = p.id
   ), checked AS (
     SELECT id, array_remove(ARRAY[
       CASE WHEN state = 'completed' AND (charges <> 1 OR charge_reason <> reason)
            THEN 'is completed and has ' || charges || ' charges' END,
       CASE WHEN state = 'completed' AND (charged <> charge_due OR fee <> fee_micros OR earned <> earned_due)
            THEN 'is charged ' || charged || ', fee ' || fee || ', earned ' || earned || ' micros' END,
       CASE WHEN state = 'completed' AND (credited, indebted) IS DISTINCT FROM (credited_due, indebted_due)
            THEN 'is booked on ' || concat_ws(' and ', credited, indebted)
              || ', not on ' || concat_ws(' and ', credited_due, indebted_due) END,
       CASE WHEN state = 'completed' AND NOT fits_receipts THEN 'is completed and its receipts are not those of its sale' END,
       CASE WHEN subscriptions <> (state = 'completed' AND purpose = 'subscription')::int
            THEN 'is ' || state || ' and has ' || subscriptions || ' subscriptions' END,
       CASE WHEN state <> 'completed' AND (charges > 0 OR charged > 0) THEN 'is ' || state || ' and is charged for' END,
       CASE WHEN owed <> owed_due THEN 'owes back ' || owed || ' micros and should ' || owed_due END,
       CASE WHEN usage IS NOT NULL AND state = 'completed' AND gross_micros IS DISTINCT FROM ${USED}
            THEN 'is charged ' || gross_micros || ' micros for ' || coalesce(units::text, 'no')
              || ' units, not ' || coalesce(${USED}::text, 'nothing') END,
       -- Each of two debts is rounded alone.
       CASE WHEN owed_by_seller - (owed - div(owed * (quoted - sellers_part), quoted)) NOT BETWEEN 0 AND (usage IS NOT NULL)::int
            THEN 'owes back ' || owed_by_seller || ' micros of its seller' END,
       CASE WHEN given_back <> refunded OR owed <> refunded + still_due
              OR (state = 'refunded') <> (refunded > 0 AND still_due = 0 AND state IN ('refund_due', 'refunded'))
            THEN 'is ' || state || ', gave back ' || given_back
              || ' micros and should have given ' || refunded || ' of ' || (refunded + still_due) END
     ], NULL) AS problems FROM facts
   )
   SELECT id, array_to_string(problems, '; ') AS detail FROM checked WHERE cardinality(problems) > 0 ORDER BY id`);

/** Payments are looked at in the order of their ids, so that no statement takes long. */
const PAGE_SIZE = 10_000;
/**
 * A page of payments after $1: the last, and all but completed calls with one transaction, which the chain has behind $2
 * and not behind $3.
 */
const page = batchSql(
  `SELECT (array_agg(id ORDER BY id DESC))[1] AS last, 
     coalesce(array_agg(id) FILTER (WHERE purpose <> 'included' AND (state <> 'completed' OR purpose <> 'call'
     OR (SELECT count(*) <> 1 OR min(t.sequence) <= $2 OR max(t.sequence) > $3 FROM journal_transactions t WHERE t.payment_id = p.id)
   )), '{}') AS others
   FROM (SELECT id, state, purpose FROM payments WHERE id > $1 ORDER BY id LIMIT ${PAGE_SIZE}) p`,
);
const refundedOrSubscribed = batchSql(
  `SELECT payment_id AS id FROM refunds WHERE payment_id > $1
   UNION SELECT payment_id FROM subscriptions WHERE payment_id > $1`,
);
/** Older payments of which something was booked since, and those whose money is not booked yet. */
const olderAndMoved = batchSql(
  `SELECT payment_id AS id FROM journal_transactions WHERE sequence > $1 AND payment_id <= $2
   UNION SELECT id FROM payments WHERE state IN ('underpaid', 'verified', 'refund_due', 'indeterminate') AND id <= $2`,
);

/** Payouts that are not booked exactly once, from the operator's debt to the seller to the seller's wallet. */
const unlikePayouts = sql(
  'payouts.unlike-books',
  `SELECT y.id, 'the payout is booked as ' || coalesce(j.booked, 'nothing') AS detail
   FROM payouts y LEFT JOIN LATERAL (
     SELECT t.payout_id, string_agg(concat_ws(' ', o.direction, o.amount_micros, o.account), ', ' ORDER BY o.position) AS booked
     FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence WHERE t.payout_id = y.id GROUP BY t.payout_id
   ) j ON true
   WHERE y.id > $1 AND j.booked IS DISTINCT FROM 'debit ' || y.amount_micros || ' agent:' || y.seller_id || ':earnings:x402:' || y.network
     || ', credit ' || y.amount_micros || ' agent:' || y.seller_id || ':received:' || y.network || ':' || y.wallet`,
);

/** Quotas of which not as much is taken as payments for calls of them are open, or used. */
const unlikeQuotas = sql(
  'call-quotas.unlike-payments',
  `SELECT q.id, q.used || ' ' || coalesce(q.unit, 'call') || 's of the quota are taken, and '
     || p.taken || ' are paid for with it' AS detail
   FROM call_quotas q, LATERAL (
     SELECT coalesce(sum(least(p.units, q.per_call)), 0) AS taken FROM payments p
     WHERE p.quota_id = q.id AND p.state IN ('verified', 'completed')) p
   WHERE q.id > $1 AND q.used <> p.taken`,
);

/** Where the verification of payments begins: at those that were made or of which something was booked since then. */
export interface Since {
  /** The place in the journal, and the id that a payment made then would have. */
  sequence: number;
  id: string;
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** Payments are compared without the chain that was read. */
const NO_CHAIN = { from: BEGINNING, head: BEGINNING, others: [] };

/**
 * Compares payments and payouts with the journal and the subscriptions: all of them, or those since a place in the
 * journal. Each comparison reads one snapshot.
 * @param chain what was read of the journal. The sales that were found as they should be there are not looked at again.
 */
export async function verifyPayments(
  database: Pick<Tx, 'query'>,
  { from, head, others }: Pick<VerifiedChain, 'from' | 'head' | 'others'> = NO_CHAIN,
  since?: Since,
): Promise<PaymentProblem[]> {
  const found = new Map<string, string>();
  const add = async (statement: Statement, value: unknown): Promise<void> => {
    const rows = await database.query<{ id: string; detail: string }>(statement, [value]);
    for (const { id, detail } of rows) found.set(id, detail);
  };
  const compare = async (ids: string[]): Promise<void> => {
    for (let done = 0; done < ids.length; done += PAGE_SIZE) await add(unlike, ids.slice(done, done + PAGE_SIZE));
  };
  const first = since?.id ?? FIRST_ID;
  for (let after = first; ;) {
    const [read] = await database.query<{ last: string | null; others: string[] }>(page, [
      after,
      from.sequence,
      head.sequence,
    ]);
    await compare(read!.others);
    if (read!.last === null) break;
    after = read!.last;
  }
  const more = [
    ...(await database.query<{ id: string }>(refundedOrSubscribed, [first])),
    ...(since ? await database.query<{ id: string }>(olderAndMoved, [since.sequence, since.id]) : []),
  ];
  await compare([...new Set([...others, ...more.map(({ id }) => id)])]);
  await add(unlikePayouts, first);
  await add(unlikeQuotas, first);
  return [...found].map(([subject, detail]) => ({ kind: 'payment_unlike_books', subject, detail }));
}
