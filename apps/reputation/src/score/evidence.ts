import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { scoreOf, type Buyer, type Evidence, type ListingTotals, type Score, type Tie, type Trade } from './score.js';

/** The largest trades of an agent stand for all: who wants to push them out must pay more than they did. */
const TRADES = 500;
const SOLVES = 100;

const findAgent = sql(
  'evidence.agent',
  `SELECT party_id, last_active_at FROM accounts account
   WHERE account_id = $1 AND (first_purchase_at IS NOT NULL
     OR EXISTS (SELECT FROM registration_facts registration WHERE registration.account_id = account.account_id)
     OR EXISTS (SELECT FROM listing_totals sold WHERE sold.seller_id = account.account_id))`,
);
const findListings = sql(
  'evidence.listings',
  `SELECT category_id, category_name, category_slug, delivered, failed, subscriptions, reviews, accuracy_sum + reliability_sum + value_sum AS rating_sum
   FROM listing_totals LEFT JOIN listings USING (listing_id) WHERE seller_id = $1`,
);
const findTrades = sql(
  'evidence.trades',
  `SELECT buyer.party_id AS party, coalesce(party.is_funded, false) AS is_funded, coalesce(party.tenure, 0) AS tenure, listing.category_id, trade.delivered, trade.failed, trade.paid_micros,
     trade.first_at, trade.last_at, trade.accuracy_rating, trade.reliability_rating, trade.value_rating
   FROM (SELECT * FROM trades WHERE seller_id = $1 ORDER BY paid_micros DESC, buyer_id, listing_id LIMIT ${TRADES}) trade
   JOIN accounts buyer ON buyer.account_id = trade.buyer_id
   LEFT JOIN parties party ON party.party_id = buyer.party_id
   LEFT JOIN listings listing ON listing.listing_id = trade.listing_id
   WHERE buyer.party_id <> $2 AND trade.first_at IS NOT NULL
   ORDER BY party, trade.buyer_id, trade.listing_id`,
);
const findTies = sql(
  'evidence.ties',
  `SELECT tie.buyer_party, tie.seller_party, tie.paid_micros, coalesce(seller.revenue_micros, 0) AS revenue_micros,
     EXISTS (SELECT FROM ties bought WHERE bought.buyer_party = $2 AND bought.seller_party = tie.seller_party)
       OR EXISTS (SELECT FROM ties sold WHERE sold.buyer_party = tie.seller_party AND sold.seller_party = $2) AS is_kin
   FROM ties tie LEFT JOIN parties seller ON seller.party_id = tie.seller_party
   WHERE tie.buyer_party = ANY($1::uuid[]) AND tie.seller_party <> $2`,
);
const findSolves = sql('evidence.solves', `SELECT solve_ms FROM work_facts WHERE account_id = $1 ORDER BY solved_at DESC, event_id LIMIT ${SOLVES}`);

interface TradeRow {
  party: string;
  is_funded: boolean;
  tenure: number;
  category_id: string | null;
  delivered: number;
  failed: number;
  paid_micros: string;
  first_at: Date;
  last_at: Date;
  accuracy_rating: number | null;
  reliability_rating: number | null;
  value_rating: number | null;
}

interface TieRow {
  buyer_party: string;
  seller_party: string;
  paid_micros: string;
  revenue_micros: string;
  is_kin: boolean;
}

/** Gathers what an agent's score is computed from: a bounded number of rows, however much was traded. */
@Injectable()
export class ScoreEvidence {
  /** Null for an account that is no agent. Queries: 3; 5 for a seller. */
  async scoreOf(tx: Pick<Tx, 'query'>, agentId: string): Promise<Score | null> {
    const evidence = await this.gather(tx, agentId);
    return evidence && scoreOf(evidence);
  }

  private async gather(tx: Pick<Tx, 'query'>, agentId: string): Promise<Evidence | null> {
    const [agent] = await tx.query<{ party_id: string; last_active_at: Date | null }>(findAgent, [agentId]);
    if (!agent) return null;
    const listings = await tx.query<ListingRow>(findListings, [agentId]);
    const solves = await tx.query<{ solve_ms: number }>(findSolves, [agentId]);
    return {
      listings: listings.map(toListing),
      buyers: listings.length === 0 ? [] : await this.buyersOf(tx, agentId, agent.party_id),
      solveMs: solves.map((row) => row.solve_ms),
      lastActiveAt: agent.last_active_at,
    };
  }

  private async buyersOf(tx: Pick<Tx, 'query'>, agentId: string, partyId: string): Promise<Buyer[]> {
    const rows = await tx.query<TradeRow>(findTrades, [agentId, partyId]);
    const buyers = new Map<string, Buyer>();
    for (const row of rows) {
      const buyer = buyers.get(row.party) ?? { party: row.party, isFunded: row.is_funded, tenure: row.tenure, trades: [], elsewhere: [] };
      buyer.trades.push(toTrade(row));
      buyers.set(row.party, buyer);
    }
    for (const row of await tx.query<TieRow>(findTies, [[...buyers.keys()], partyId])) buyers.get(row.buyer_party)!.elsewhere.push(toTie(row));
    return [...buyers.values()];
  }
}

type ListingRow = Omit<ListingTotals, 'category' | 'ratingSum'> & { category_id: string | null; category_name: string; category_slug: string; rating_sum: number };

const toListing = ({ category_id, category_name, category_slug, rating_sum, delivered, failed, subscriptions, reviews }: ListingRow): ListingTotals => ({
  category: category_id === null ? null : { id: category_id, name: category_name, slug: category_slug },
  delivered,
  failed,
  subscriptions,
  reviews,
  ratingSum: rating_sum,
});

const toTrade = (row: TradeRow): Trade => ({
  categoryId: row.category_id,
  delivered: row.delivered,
  failed: row.failed,
  paid: BigInt(row.paid_micros),
  firstAt: row.first_at,
  lastAt: row.last_at,
  ratings: row.accuracy_rating === null ? null : { accuracy: row.accuracy_rating, reliability: row.reliability_rating!, value: row.value_rating! },
});

const toTie = (row: TieRow): Tie => ({ seller: row.seller_party, paid: BigInt(row.paid_micros), revenue: BigInt(row.revenue_micros), isKin: row.is_kin });
