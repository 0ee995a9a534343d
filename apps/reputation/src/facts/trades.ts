import { batchSql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** A fact about a buyer and a seller. */
export interface TradeEvent {
  seller_id: string;
  buyer_id: string;
  listing_id: string;
  kind: 'delivered' | 'failed' | 'subscription' | 'review';
  paid_micros: string;
  at: Date;
  accuracy?: number;
  reliability?: number;
  value?: number;
}

const EVENTS = `
  SELECT *, (kind = 'delivered')::int AS delivered, (kind = 'failed')::int AS failed,
    (kind = 'subscription')::int AS subscriptions, (kind = 'review')::int AS reviews
  FROM jsonb_to_recordset($1)
    AS events (seller_id uuid, buyer_id uuid, listing_id uuid, kind text, paid_micros bigint, at timestamptz,
      accuracy smallint, reliability smallint, value smallint)`;

// Rows are always locked in the same order, so that two batches do not deadlock.
// A review is an activity of the reviewer, not of the seller.
const addToAccounts = batchSql(`
  INSERT INTO accounts AS known (account_id, party_id, spent_micros, earned_micros, last_active_at)
  SELECT account_id, account_id, sum(spent), sum(earned), max(at)
  FROM (SELECT buyer_id AS account_id, paid_micros AS spent, 0 AS earned, at FROM (${EVENTS}) bought
        UNION ALL SELECT seller_id, 0, paid_micros, CASE WHEN reviews = 0 THEN at END FROM (${EVENTS}) sold) sides
  GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET
    spent_micros = known.spent_micros + excluded.spent_micros,
    earned_micros = known.earned_micros + excluded.earned_micros,
    last_active_at = greatest(known.last_active_at, excluded.last_active_at)`);

const addToTrades = batchSql(`
  INSERT INTO trades AS known (seller_id, buyer_id, listing_id, delivered, failed, subscriptions, paid_micros,
    accuracy_rating, reliability_rating, value_rating)
  SELECT seller_id, buyer_id, listing_id, sum(delivered), sum(failed), sum(subscriptions), sum(paid_micros),
    max(accuracy), max(reliability), max(value)
  FROM (${EVENTS}) events GROUP BY seller_id, buyer_id, listing_id ORDER BY seller_id, buyer_id, listing_id
  ON CONFLICT (seller_id, buyer_id, listing_id) DO UPDATE SET
    delivered = known.delivered + excluded.delivered,
    failed = known.failed + excluded.failed,
    subscriptions = known.subscriptions + excluded.subscriptions,
    paid_micros = known.paid_micros + excluded.paid_micros,
    accuracy_rating = coalesce(known.accuracy_rating, excluded.accuracy_rating),
    reliability_rating = coalesce(known.reliability_rating, excluded.reliability_rating),
    value_rating = coalesce(known.value_rating, excluded.value_rating)`);

const addToListingTotals = batchSql(`
  INSERT INTO listing_totals AS known (listing_id, seller_id, delivered, failed, subscriptions, reviews,
    accuracy_sum, reliability_sum, value_sum, first_at, last_at)
  SELECT listing_id, seller_id, sum(delivered), sum(failed), sum(subscriptions), sum(reviews),
    coalesce(sum(accuracy), 0), coalesce(sum(reliability), 0), coalesce(sum(value), 0), min(at), max(at)
  FROM (${EVENTS}) events GROUP BY listing_id, seller_id ORDER BY listing_id
  ON CONFLICT (listing_id) DO UPDATE SET
    delivered = known.delivered + excluded.delivered,
    failed = known.failed + excluded.failed,
    subscriptions = known.subscriptions + excluded.subscriptions,
    reviews = known.reviews + excluded.reviews,
    accuracy_sum = known.accuracy_sum + excluded.accuracy_sum,
    reliability_sum = known.reliability_sum + excluded.reliability_sum,
    value_sum = known.value_sum + excluded.value_sum,
    first_at = least(known.first_at, excluded.first_at),
    last_at = greatest(known.last_at, excluded.last_at)`);

const measureAgain = batchSql(
  `INSERT INTO popularity_due SELECT DISTINCT seller_id FROM (${EVENTS}) events WHERE delivered + subscriptions > 0`,
);

/** Sums of facts by buyer, seller and listing, so that a score is computed without reading the facts. */
@Injectable()
export class Trades {
  /** Adds facts that the caller has just inserted. */
  add(tx: Pick<Tx, 'send'>, events: TradeEvent[]): void {
    if (events.length === 0) return;
    const values = [JSON.stringify(events)];
    tx.send(addToAccounts, values);
    tx.send(addToTrades, values);
    tx.send(addToListingTotals, values);
    tx.send(measureAgain, values);
  }
}
