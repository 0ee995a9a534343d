import { batchSql, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** One thing that happened between a buyer and a seller; a review has no time of its own here. */
export interface TradeEvent {
  sellerId: string;
  buyerId: string;
  listingId: string;
  kind: 'delivered' | 'failed' | 'subscription' | 'review';
  paidMicros: string;
  at: string | null;
  ratings?: { accuracy: number; reliability: number; value: number };
}

const EVENTS = `
  SELECT seller_id, buyer_id, listing_id, (kind = 'delivered')::int AS delivered, (kind = 'failed')::int AS failed, (kind = 'subscription')::int AS subscriptions, (kind = 'review')::int AS reviews,
         paid_micros, at, CASE WHEN kind IN ('delivered', 'subscription') THEN at END AS purchased_at, accuracy, reliability, value
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::timestamptz[], $7::smallint[], $8::smallint[], $9::smallint[])
    AS events (seller_id, buyer_id, listing_id, kind, paid_micros, at, accuracy, reliability, value)`;

// Each takes its rows in one order everywhere, so that two batches wait for each other instead of deadlocking.
const addToAccounts = batchSql(`
  INSERT INTO accounts AS known (account_id, party_id, spent_micros, earned_micros, first_purchase_at, last_purchase_at, last_active_at)
  SELECT account_id, account_id, sum(spent), sum(earned), min(purchased_at), max(purchased_at), max(at)
  FROM (SELECT buyer_id AS account_id, paid_micros AS spent, 0 AS earned, purchased_at, at FROM (${EVENTS}) bought
        UNION ALL SELECT seller_id, 0, paid_micros, NULL, at FROM (${EVENTS}) sold) sides
  GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET
    spent_micros = known.spent_micros + excluded.spent_micros,
    earned_micros = known.earned_micros + excluded.earned_micros,
    first_purchase_at = least(known.first_purchase_at, excluded.first_purchase_at),
    last_purchase_at = greatest(known.last_purchase_at, excluded.last_purchase_at),
    last_active_at = greatest(known.last_active_at, excluded.last_active_at)`);

const addToTrades = batchSql(`
  INSERT INTO trades AS known (seller_id, buyer_id, listing_id, delivered, failed, subscriptions, paid_micros, first_at, last_at, accuracy_rating, reliability_rating, value_rating)
  SELECT seller_id, buyer_id, listing_id, sum(delivered), sum(failed), sum(subscriptions), sum(paid_micros), min(at), max(at), max(accuracy), max(reliability), max(value)
  FROM (${EVENTS}) events GROUP BY seller_id, buyer_id, listing_id ORDER BY seller_id, buyer_id, listing_id
  ON CONFLICT (seller_id, buyer_id, listing_id) DO UPDATE SET
    delivered = known.delivered + excluded.delivered,
    failed = known.failed + excluded.failed,
    subscriptions = known.subscriptions + excluded.subscriptions,
    paid_micros = known.paid_micros + excluded.paid_micros,
    first_at = least(known.first_at, excluded.first_at),
    last_at = greatest(known.last_at, excluded.last_at),
    accuracy_rating = coalesce(known.accuracy_rating, excluded.accuracy_rating),
    reliability_rating = coalesce(known.reliability_rating, excluded.reliability_rating),
    value_rating = coalesce(known.value_rating, excluded.value_rating)`);

const addToListingTotals = batchSql(`
  INSERT INTO listing_totals AS known (listing_id, seller_id, delivered, failed, subscriptions, reviews, accuracy_sum, reliability_sum, value_sum)
  SELECT listing_id, seller_id, sum(delivered), sum(failed), sum(subscriptions), sum(reviews), coalesce(sum(accuracy), 0), coalesce(sum(reliability), 0), coalesce(sum(value), 0)
  FROM (${EVENTS}) events GROUP BY listing_id, seller_id ORDER BY listing_id
  ON CONFLICT (listing_id) DO UPDATE SET
    delivered = known.delivered + excluded.delivered,
    failed = known.failed + excluded.failed,
    subscriptions = known.subscriptions + excluded.subscriptions,
    reviews = known.reviews + excluded.reviews,
    accuracy_sum = known.accuracy_sum + excluded.accuracy_sum,
    reliability_sum = known.reliability_sum + excluded.reliability_sum,
    value_sum = known.value_sum + excluded.value_sum`);

// The row is written even when it is there: whoever is just computing this account's score must not take this mark for the one it answers.
const markStale = sql(
  'stale-accounts.mark',
  `INSERT INTO stale_accounts (account_id, cause, since) SELECT account_id, 'facts', now() FROM unnest($1::uuid[]) AS marked (account_id) GROUP BY account_id ORDER BY account_id
   ON CONFLICT (account_id, cause) DO UPDATE SET since = excluded.since`,
);

/** What facts add up to, a row a pair of accounts and listing, so that a score reads none of the facts. */
@Injectable()
export class Trades {
  /** Only what was not added before: the caller has just written these facts. Queries: 4. */
  async add(tx: Pick<Tx, 'query'>, events: TradeEvent[]): Promise<void> {
    if (events.length === 0) return;
    const values = [
      events.map((event) => event.sellerId),
      events.map((event) => event.buyerId),
      events.map((event) => event.listingId),
      events.map((event) => event.kind),
      events.map((event) => event.paidMicros),
      events.map((event) => event.at),
      events.map((event) => event.ratings?.accuracy ?? null),
      events.map((event) => event.ratings?.reliability ?? null),
      events.map((event) => event.ratings?.value ?? null),
    ];
    await tx.query(addToAccounts, values);
    await tx.query(addToTrades, values);
    await tx.query(addToListingTotals, values);
    await this.markStale(tx, events.flatMap(({ sellerId, buyerId }) => [sellerId, buyerId]));
  }

  /** These accounts are looked at again, and whoever it concerns. */
  async markStale(tx: Pick<Tx, 'query'>, accountIds: string[]): Promise<void> {
    await tx.query(markStale, [accountIds]);
  }
}
