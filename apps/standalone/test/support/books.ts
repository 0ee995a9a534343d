import { eventually, withClient } from '@market/testing';
import type pg from 'pg';
import type { Shop } from './seller.js';
import type { Harness } from './harness.js';

/** Queries for rows that must never exist. Each must return nothing. */
const NEVER: Record<string, string> = {
  'a journal transaction that does not balance, or moves nothing': `
    SELECT t.id FROM payments_ledger.journal_transactions t LEFT JOIN payments_ledger.postings p ON p.sequence = t.sequence
    GROUP BY t.id
    HAVING count(p.sequence) < 2 OR sum(CASE p.direction WHEN 'credit' THEN p.amount_micros ELSE -p.amount_micros END) <> 0`,
  'money in the books that came from nowhere': `SELECT sum(balance_micros) FROM payments_ledger.balances HAVING sum(balance_micros) <> 0`,
  'an account whose balance is not the sum of its postings': `
    SELECT a.address FROM payments_ledger.balances a LEFT JOIN payments_ledger.postings p ON p.account = a.address
    GROUP BY a.address, a.balance_micros
    HAVING a.balance_micros
      <> coalesce(sum(CASE p.direction WHEN 'credit' THEN p.amount_micros ELSE -p.amount_micros END), 0)`,
  'a gap in the journal, or a digest that is there twice': `
    SELECT sequence FROM (
      SELECT sequence, row_number() OVER (ORDER BY sequence) AS n, count(*) OVER (PARTITION BY digest) AS same
      FROM payments_ledger.journal_transactions
    ) j WHERE sequence <> n OR same > 1`,
  'a link of the chain that does not follow from the one before it and the digests since then, or a head that is not its end': `
    WITH numbered AS (
      SELECT sequence, digest, link, count(link) OVER (ORDER BY sequence DESC) AS n FROM payments_ledger.journal_transactions
    ), links AS (
      SELECT n, max(sequence) AS sequence, string_agg(digest, ''::bytea ORDER BY sequence) AS digests,
        (array_agg(link ORDER BY sequence DESC))[1] AS link
      FROM numbered GROUP BY n
    )
    SELECT sequence FROM (SELECT *, lag(link, 1, decode(repeat('00', 32), 'hex')) OVER (ORDER BY n DESC) AS before FROM links) l
    WHERE sha256(before || digests) IS DISTINCT FROM link
    UNION ALL
    SELECT h.sequence FROM payments_ledger.journal_head h LEFT JOIN links l ON l.sequence = h.sequence
    WHERE h.sequence > 0 AND l.link IS DISTINCT FROM h.link OR h.sequence < (SELECT max(sequence) FROM links)`,
  'a charge without a completed payment, or a completed payment without exactly one charge of its price': `
    SELECT p.relay_request_id FROM payments_ledger.payments p
    LEFT JOIN payments_ledger.journal_transactions t ON t.payment_id = p.id
      AND t.reason = CASE p.purpose WHEN 'call' THEN 'call_completed' ELSE 'subscription_started' END
    LEFT JOIN payments_ledger.postings o ON o.sequence = t.sequence AND o.type = 'direct_payment'
    WHERE p.purpose IN ('call', 'subscription')
    GROUP BY p.id
    HAVING count(o.sequence) <> CASE WHEN p.state = 'completed' THEN 1 ELSE 0 END
      OR coalesce(sum(o.amount_micros), 0) <> CASE WHEN p.state = 'completed' THEN p.gross_micros ELSE 0 END`,
  'fees that were paid and not booked once on the debt of their payer, or booked and not paid': `
    SELECT p.id FROM payments_ledger.payments p
    LEFT JOIN payments_ledger.journal_transactions t ON t.payment_id = p.id
    LEFT JOIN payments_ledger.postings o ON o.sequence = t.sequence
      AND o.account = 'agent:' || p.buyer_id || ':fees' AND o.direction = 'credit' AND t.reason = 'fees_paid'
    WHERE p.purpose = 'fee'
    GROUP BY p.id
    HAVING count(o.sequence) <> CASE WHEN p.state = 'completed' THEN 1 ELSE 0 END
      OR coalesce(sum(o.amount_micros), 0) <> CASE WHEN p.state = 'completed' THEN p.gross_micros ELSE 0 END`,
  'a subscription that was not paid for, at its price, by its consumer, or a payment that started none or two': `
    SELECT p.id, s.id FROM (SELECT * FROM payments_ledger.payments WHERE purpose = 'subscription' AND state = 'completed') p
    FULL JOIN (SELECT * FROM payments_ledger.subscriptions WHERE price_micros > 0) s ON s.payment_id = p.id
      AND s.consumer_id = p.buyer_id AND s.listing_id = p.listing_id AND s.price_micros = p.gross_micros
    WHERE p.id IS NULL OR s.id IS NULL`,
  'two active subscriptions of one consumer to one listing': `
    SELECT consumer_id, listing_id FROM payments_ledger.subscriptions WHERE status = 'active'
    GROUP BY consumer_id, listing_id HAVING count(*) > 1`,
  'a completed payment without one receipt a side, or a receipt without one': `
    SELECT p.id FROM payments_ledger.payments p LEFT JOIN payments_ledger.receipts r ON r.payment_id = p.id
    WHERE p.purpose IN ('call', 'subscription')
    GROUP BY p.id
    HAVING count(r.id) FILTER (WHERE r.recipient_type = 'buyer' AND r.recipient_id = p.buyer_id)
        <> CASE WHEN p.state = 'completed' THEN 1 ELSE 0 END
      OR count(r.id) FILTER (WHERE r.recipient_type = 'seller' AND r.recipient_id = p.seller_id)
        <> CASE WHEN p.state = 'completed' THEN 1 ELSE 0 END
      OR count(r.id) <> CASE WHEN p.state = 'completed' THEN 2 ELSE 0 END`,
  'two receipts of one payment that tell different stories': `
    SELECT payment_id FROM payments_ledger.receipts
    GROUP BY payment_id HAVING count(DISTINCT (request_digest, response_digest, seller_status_code)) > 1`,
  'a receipt for another answer than the one that is kept': `
    SELECT r.id FROM payments_ledger.receipts r
    JOIN payments_ledger.payments p ON p.id = r.payment_id
    JOIN gateway.gateway_requests g ON g.id = p.gateway_request_id
    WHERE g.response_digest IS DISTINCT FROM r.response_digest
      OR g.body_digest <> r.request_digest OR g.seller_status_code <> r.seller_status_code`,
  'a completed payment whose answer is not kept': `
    SELECT p.id FROM payments_ledger.payments p
    LEFT JOIN gateway.gateway_requests g ON g.id = p.gateway_request_id
    WHERE p.state = 'completed' AND p.purpose IN ('call', 'included') AND g.result_json IS NULL`,
  'a quota of which more or fewer calls are taken than its payments are for': `
    SELECT q.id, q.used FROM payments_ledger.call_quotas q
    LEFT JOIN payments_ledger.payments p ON p.quota_id = q.id AND p.state IN ('verified', 'completed')
    GROUP BY q.id HAVING q.used <> coalesce(sum(least(p.units, q.per_call)) FILTER (WHERE p.id IS NOT NULL), 0)
      OR q.used >= q.calls + q.per_call`,
  'a payment that buys a call, was not paid in full, and has no signature that will pay it': `
    SELECT id FROM payments_ledger.payments
    WHERE state IN ('completed', 'verified') AND received_base_units < amount_base_units
      AND (state = 'completed' OR authorization_id IS NULL) AND units IS NULL`,
  'a call that costs what it uses of which charge and what is owed back are not what was paid': `
    SELECT p.id FROM payments_ledger.payments p
    WHERE p.units IS NOT NULL AND p.purpose = 'call' AND p.state IN ('completed', 'refund_due', 'refunded')
      AND div(p.received_base_units * p.quoted_micros, p.amount_base_units)
        <> CASE p.state WHEN 'completed' THEN p.gross_micros ELSE 0 END + (
          SELECT coalesce(sum(x.amount_micros), 0) FROM payments_ledger.refunds x WHERE x.payment_id = p.id)`,
  'a charge for other units, or another amount, than its history has': `
    SELECT p.id FROM payments_ledger.payments p JOIN gateway.gateway_requests g ON g.id = p.gateway_request_id
    WHERE p.units IS NOT NULL AND (p.units IS DISTINCT FROM g.units
      OR g.gross_micros <> CASE p.state WHEN 'completed' THEN p.gross_micros ELSE 0 END)`,
  'what is owed back, or was, is not what was paid and not charged': `
    SELECT p.relay_request_id, p.state, p.received_base_units, p.amount_base_units, p.gross_micros, owed.micros
    FROM payments_ledger.payments p
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount_micros), 0) AS micros FROM payments_ledger.refunds WHERE payment_id = p.id
    ) owed
    CROSS JOIN LATERAL (
      SELECT CASE WHEN p.amount_base_units = 0 THEN 0
        ELSE div(p.received_base_units * coalesce(p.quoted_micros, p.gross_micros), p.amount_base_units) END AS micros
    ) paid
    WHERE p.purpose <> 'fee' AND p.state IN ('completed', 'refund_due', 'refunded')
      AND owed.micros <> paid.micros - CASE p.state WHEN 'completed' THEN p.gross_micros ELSE 0 END`,
  'a refund that is not in the journal as it is owed': `
    SELECT payment_id, reason FROM (SELECT payment_id, reason, sum(amount_micros) AS micros FROM payments_ledger.refunds GROUP BY 1, 2) r
    FULL JOIN (
      SELECT t.payment_id, t.reason, sum(o.amount_micros) AS micros FROM payments_ledger.journal_transactions t
      JOIN payments_ledger.postings o ON o.sequence = t.sequence AND o.direction = 'credit' AND o.account LIKE '%:refunds'
      WHERE t.reason IN ('not_delivered', 'paid_late', 'overpaid', 'unused') GROUP BY 1, 2
    ) j USING (payment_id, reason)
    WHERE r.micros IS DISTINCT FROM j.micros`,
  'a transfer that paid twice': `
    SELECT network, transaction_hash, log_index::text AS part FROM (
      SELECT network, transaction_hash, log_index FROM payments_ledger.refunds
      UNION ALL SELECT network, transaction_hash, log_index FROM payments_ledger.payouts
    ) paid WHERE transaction_hash IS NOT NULL GROUP BY 1, 2, 3 HAVING count(*) > 1
    UNION ALL
    SELECT network, payer, nonce::text FROM payments_ledger.authorizations WHERE state = 'settled'
    GROUP BY network, asset, payer, nonce HAVING count(*) > 1
    UNION ALL
    SELECT p.network, p.transaction_hash, NULL FROM payments_ledger.payments p
    LEFT JOIN payments_ledger.authorizations a ON a.id = p.authorization_id
    WHERE p.transaction_hash IS NOT NULL
    GROUP BY p.network, p.transaction_hash, CASE WHEN p.network LIKE 'eip155:%' THEN a.nonce END HAVING count(*) > 1`,
  'an event that no consumer can take': `
    SELECT subject, event_id FROM catalog.dead_letters
    UNION ALL SELECT subject, event_id FROM gateway.dead_letters
    UNION ALL SELECT subject, event_id FROM reputation.dead_letters`,
};

/** Queries for rows that background jobs remove within a moment. */
const SOON_GONE: Record<string, string> = {
  'a lock that someone still holds': `SELECT classid, objid FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND l.mode = 'ExclusiveLock' AND d.datname = current_database()`,
  'a delivered answer that is not charged': `
    SELECT g.relay_request_id, p.state FROM gateway.gateway_requests g
    LEFT JOIN payments_ledger.payments p ON p.id = g.payment_id
    WHERE g.billable AND g.payment_id IS NOT NULL AND p.state IS DISTINCT FROM 'completed'
      AND (g.units IS NULL OR g.gross_micros > 0 OR p.units IS NULL)`,
  'a charged call that its history does not show as settled': `
    SELECT g.id FROM payments_ledger.payments p
    JOIN gateway.gateway_requests g ON g.id = p.gateway_request_id
    WHERE p.state = 'completed' AND (g.settled_at IS NULL OR NOT g.billable)`,
  'an event that was not sent': ['identity', 'catalog', 'payments_ledger', 'gateway', 'reputation']
    .map((schema) => `SELECT subject, id FROM ${schema}.outbox WHERE published_at IS NULL`)
    .join(' UNION ALL '),
  'an event that is tried again': ['catalog', 'gateway', 'reputation']
    .map((schema) => `SELECT subject, event_id FROM ${schema}.parked_events`)
    .join(' UNION ALL '),
  'a charged call that reputation has not heard of exactly once': `
    SELECT p.gateway_request_id FROM payments_ledger.payments p
    LEFT JOIN reputation.call_facts f ON f.gateway_request_id = p.gateway_request_id AND f.outcome = 'delivered'
    WHERE p.state = 'completed' AND p.purpose = 'call' GROUP BY p.gateway_request_id HAVING count(f.event_id) <> 1`,
};

/**
 * Checks the whole marketplace from its tables, whatever a test believes it did.
 * @param shops each must have been paid for exactly the calls it delivered.
 * @param options.except what the test itself has done to the tables, by the names of the checks.
 */
export async function expectBooksInOrder(
  { databaseUrl }: Pick<Harness, 'databaseUrl'>,
  shops: Shop[] = [],
  { withinMs = 60_000, except = [] }: { withinMs?: number; except?: string[] } = {},
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const without = (checks: Record<string, string>): Record<string, string> =>
      Object.fromEntries(Object.entries(checks).filter(([name]) => !except.includes(name)));
    await eventually(async () => expect(await violationsOf(client, without(SOON_GONE))).toEqual({}), {
      withinMs,
      everyMs: 100,
    });
    expect(await violationsOf(client, without(NEVER))).toEqual({});
    for (const { listing, deliveries } of shops) {
      const { rows } = await client.query<{ id: string }>(
        `SELECT gateway_request_id AS id FROM payments_ledger.payments
         WHERE listing_id = $1 AND state = 'completed' AND purpose <> 'subscription'`,
        [listing.id],
      );
      expect(rows.map(({ id }) => id).sort()).toEqual(deliveries.requestIds.sort());
    }
  });
}

/** @returns the rows that must not be, by what they are. */
export async function violationsOf(
  client: pg.Client,
  checks = { ...NEVER, ...SOON_GONE },
): Promise<Record<string, unknown[]>> {
  const violations: Record<string, unknown[]> = {};
  for (const [name, query] of Object.entries(checks)) {
    const { rows } = await client.query(query);
    if (rows.length > 0) violations[name] = rows.slice(0, 5);
  }
  return violations;
}
