import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { Evidence, ListingTotals } from './agent-score.js';
import type { Buyer } from './score.js';

/**
 * The score uses only the largest trades of a seller, and takes the rest to be like them. To displace one of them, others
 * have to pay more than it.
 */
const MAX_TRADES = 200;
const TRADES = 'SELECT * FROM trades WHERE seller_id = $1 ORDER BY paid_micros DESC, buyer_id, listing_id LIMIT $2';
const MAX_SOLVES = 100;

const findAgent = sql(
  'evidence.agent',
  `SELECT now() AS now, last_active_at AS "lastActiveAt", fees_micros::float8 AS "feesReceived",
     (SELECT coalesce(sum(paid_micros), 0)::float8 FROM (${TRADES}) trade) AS sold,
     (SELECT count(*)::int FROM refund_facts o
       WHERE o.seller_id = $1 AND o.kind = 'overdue'
         AND NOT EXISTS (SELECT FROM refund_facts p WHERE p.refund_id = o.refund_id AND p.kind = 'paid')) AS "unpaidRefunds",
     ARRAY(SELECT member.account_id FROM accounts member WHERE member.party_id = account.party_id) AS party,
     ARRAY(SELECT solve_ms FROM work_facts WHERE work_facts.account_id = $1
       ORDER BY solved_at DESC, event_id LIMIT ${MAX_SOLVES}) AS "solveMs"
   FROM accounts account
   WHERE account_id = $1 AND (EXISTS (SELECT FROM registration_facts registration WHERE registration.account_id = $1)
     OR EXISTS (SELECT FROM listing_totals WHERE seller_id = $1))`,
);
const findListings = sql(
  'evidence.listings',
  `SELECT listing_id AS "listingId", CASE WHEN category_id IS NOT NULL
       THEN jsonb_build_object('id', category_id, 'name', category_name, 'slug', category_slug) END AS category,
     delivered, failed, subscriptions, reviews, accuracy_sum + reliability_sum + value_sum AS "ratingSum",
     first_at AS "firstAt", last_at AS "lastAt"
   FROM listing_totals LEFT JOIN listings USING (listing_id) WHERE seller_id = $1`,
);
const findBuyers = sql(
  'evidence.buyers',
  `WITH by_listing AS (
     SELECT buyer.party_id, trade.listing_id AS "listingId", listing.category_id AS "categoryId",
       sum(delivered + subscriptions) AS delivered,
       sum(failed) AS failed, sum(paid_micros) AS paid,
       count(accuracy_rating) AS reviews, coalesce(sum(accuracy_rating), 0) AS "accuracySum",
       coalesce(sum(accuracy_rating + reliability_rating + value_rating), 0) AS "ratingSum"
     FROM (${TRADES}) trade
     JOIN accounts buyer ON buyer.account_id = trade.buyer_id
     LEFT JOIN listings listing ON listing.listing_id = trade.listing_id
     WHERE NOT buyer.account_id = ANY($3::uuid[])
     GROUP BY buyer.party_id, trade.listing_id, listing.category_id
   ), purchases AS (
     SELECT party_id, jsonb_agg(to_jsonb(by_listing) - 'party_id') AS purchases FROM by_listing GROUP BY party_id
   ), buyers AS (
     SELECT party_id, purchases, array_agg(account_id) AS party, sum(spent_micros) AS spent, sum(earned_micros) AS earned
     FROM purchases JOIN accounts USING (party_id) GROUP BY party_id, purchases
   )
   SELECT party_id AS party, (spent - within.paid)::float8 AS spent, (earned - within.paid)::float8 AS earned, purchases
   FROM buyers CROSS JOIN LATERAL (
     SELECT coalesce(sum(paid_micros), 0) AS paid FROM trades JOIN accounts seller ON seller.account_id = trades.seller_id
     WHERE cardinality(party) > 1 AND trades.buyer_id = ANY(party) AND seller.party_id = buyers.party_id
   ) within`,
);

interface AgentRow extends Omit<Evidence, 'listings' | 'buyers'> {
  now: Date;
  party: string[];
}

/** Reads the evidence for an agent's score: a bounded number of rows, however much was traded. */
@Injectable()
export class ScoreEvidence {
  constructor(private readonly database: Database) {}

  /** Returns null if the account is not known as an agent. */
  async of(agentId: string, maxTrades = MAX_TRADES): Promise<{ evidence: Evidence; now: Date } | null> {
    const [agent] = await this.database.query<AgentRow>(findAgent, [agentId, maxTrades]);
    if (!agent) return null;
    const { now, party, ...sums } = agent;
    const listings = await this.database.query<ListingTotals>(findListings, [agentId]);
    const buyers =
      listings.length === 0 ? [] : await this.database.query<Buyer>(findBuyers, [agentId, maxTrades, party]);
    return { evidence: { ...sums, listings, buyers }, now };
  }
}
