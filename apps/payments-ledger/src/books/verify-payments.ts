import { sql, type Tx } from '@market/persistence';

export interface PaymentProblem {
  kind: 'payment_unlike_books';
  /** The id of a payment or a payout. */
  subject: string;
  detail: string;
}

/** Payments whose journal entries or receipts do not match their state and the money received. */
const unlike = sql(
  'payments.unlike-books',
  `WITH facts AS (
     SELECT p.id, p.state, p.purpose, p.gross_micros, p.fee_micros, p.net_micros, p.buyer_id, p.seller_id,
       CASE p.purpose WHEN 'call' THEN 'call_completed' WHEN 'subscription' THEN 'subscription_started' ELSE 'fees_paid' END AS reason,
       CASE WHEN p.purpose = 'fee' THEN 0 ELSE p.gross_micros END AS charge_due,
       CASE p.purpose WHEN 'fee' THEN p.gross_micros ELSE p.net_micros END AS earned_due,
       -- What a sale's price and fee are booked on, by who has the money; see posting.ts.
       'agent:' || coalesce(p.seller_id, p.buyer_id) || CASE
         WHEN p.purpose = 'fee' THEN ':fees'
         WHEN p.payee = 'operator' OR (p.payee = 'seller' AND NOT p.is_authorized) THEN ':earnings:' || p.rail || ':' || p.network
         WHEN p.payee = 'split' THEN ':received:' || p.rail
         ELSE ':received:' || p.network || ':' || p.pay_to END AS credited_due,
       CASE WHEN p.fee_micros > 0 AND p.payee = 'seller' AND p.is_authorized THEN 'agent:' || p.seller_id || ':fees' END AS indebted_due,
       j.credited, j.indebted,
       -- The part of a refund that is the seller's debt: what the seller has of the money; see sellersPart.
       CASE WHEN p.payee = 'seller' AND p.is_authorized THEN p.gross_micros
            WHEN p.payee = 'split' THEN p.net_micros ELSE 0 END AS sellers_part,
       coalesce(j.owed_by_seller, 0) AS owed_by_seller,
       CASE WHEN p.state IN ('refund_due', 'refunded') THEN div(p.received_base_units * p.gross_micros, p.amount_base_units)
            WHEN p.state = 'completed' OR (p.state = 'verified' AND NOT p.is_authorized)
              THEN div((p.received_base_units - p.amount_base_units) * p.gross_micros, p.amount_base_units)
            ELSE 0 END AS owed_due,
       coalesce(j.charges, 0) AS charges, j.charge_reason, coalesce(j.charged, 0) AS charged,
       coalesce(j.fee, 0) AS fee, coalesce(j.earned, 0) AS earned, coalesce(j.owed, 0) AS owed,
       coalesce(j.given_back, 0) AS given_back, coalesce(x.refunded, 0) AS refunded, coalesce(x.still_due, 0) AS still_due,
       coalesce(j.fitting_parties, p.purpose = 'fee') AND coalesce(j.exchanged, false) = (p.purpose = 'call') AS fits_receipts,
       coalesce(s.subscriptions, 0) AS subscriptions
     FROM (SELECT *, authorization_id IS NOT NULL AS is_authorized FROM payments) p
     LEFT JOIN (
       SELECT t.payment_id,
         count(DISTINCT t.id) FILTER (WHERE t.reason IN ('call_completed', 'subscription_started', 'fees_paid')) AS charges,
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
       GROUP BY t.payment_id
     ) j ON j.payment_id = p.id
     LEFT JOIN (
       SELECT payment_id, sum(amount_micros) FILTER (WHERE refunded_at IS NOT NULL) AS refunded,
         sum(amount_micros) FILTER (WHERE refunded_at IS NULL) AS still_due
       FROM refunds GROUP BY payment_id
     ) x ON x.payment_id = p.id
     LEFT JOIN (
       SELECT s.payment_id, count(*) AS subscriptions FROM subscriptions s JOIN payments q ON q.id = s.payment_id
       WHERE s.consumer_id = q.buyer_id AND s.listing_id = q.listing_id AND s.price_micros = q.gross_micros GROUP BY s.payment_id
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
       CASE WHEN owed_by_seller <> owed - div(owed * (gross_micros - sellers_part), gross_micros)
            THEN 'owes back ' || owed_by_seller || ' micros of its seller' END,
       CASE WHEN given_back <> refunded OR owed <> refunded + still_due
              OR (state = 'refunded') <> (refunded > 0 AND still_due = 0 AND state IN ('refund_due', 'refunded'))
            THEN 'is ' || state || ', gave back ' || given_back
              || ' micros and should have given ' || refunded || ' of ' || (refunded + still_due) END
     ], NULL) AS problems FROM facts
   )
   SELECT id, array_to_string(problems, '; ') AS detail FROM checked WHERE cardinality(problems) > 0 ORDER BY id`,
);

/** Payouts that are not booked exactly once, from the operator's debt to the seller to the seller's wallet. */
const unlikePayouts = sql(
  'payouts.unlike-books',
  `SELECT y.id, 'the payout is booked as ' || coalesce(j.booked, 'nothing') AS detail
   FROM payouts y LEFT JOIN (
     SELECT t.payout_id, string_agg(concat_ws(' ', o.direction, o.amount_micros, o.account), ', ' ORDER BY o.position) AS booked
     FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence WHERE t.payout_id IS NOT NULL GROUP BY t.payout_id
   ) j ON j.payout_id = y.id
   WHERE j.booked IS DISTINCT FROM 'debit ' || y.amount_micros || ' agent:' || y.seller_id || ':earnings:x402:' || y.network
     || ', credit ' || y.amount_micros || ' agent:' || y.seller_id || ':received:' || y.network || ':' || y.wallet`,
);

/**
 * Compares every payment and payout with the journal and the subscriptions. Each comparison reads one
 * snapshot.
 */
export async function verifyPayments(database: Pick<Tx, 'query'>): Promise<PaymentProblem[]> {
  const rows = [
    ...(await database.query<{ id: string; detail: string }>(unlike)),
    ...(await database.query<{ id: string; detail: string }>(unlikePayouts)),
  ];
  return rows.map(({ id, detail }) => ({ kind: 'payment_unlike_books', subject: id, detail }));
}
