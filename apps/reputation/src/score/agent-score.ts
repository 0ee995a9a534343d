import type { OutputOf } from '@market/contracts';
import type { getScore } from '@market/contracts/reputation';
import { scoreOf, sum, type Sales } from './score.js';

export type AgentScore = OutputOf<typeof getScore>;

/** The exact totals of one listing, over all buyers. */
export interface ListingTotals {
  listingId: string;
  category: { id: string; name: string; slug: string } | null;
  delivered: number;
  failed: number;
  subscriptions: number;
  reviews: number;
  /** The sum of all three ratings over all reviews. */
  ratingSum: number;
  firstAt: Date;
  lastAt: Date;
}

export interface Evidence extends Sales {
  listings: ListingTotals[];
  /** The durations of the latest proofs of work. */
  solveMs: number[];
  lastActiveAt: Date | null;
}

export const NO_EVIDENCE: Evidence = {
  listings: [],
  buyers: [],
  sold: 0,
  feesReceived: 0,
  solveMs: [],
  lastActiveAt: null,
};

const DAY_MS = 86_400_000;
const FRESH_DAYS = 7;
const STALE_DAYS = 30;
const INACTIVE_DAYS = 90;
const FULL_LONGEVITY_DAYS = 365;

/** Computes the score of an agent and the values that are shown beside it. */
export function agentScoreOf(agentId: string, evidence: Evidence, now: Date): AgentScore {
  const { listings, solveMs, lastActiveAt, feesReceived } = evidence;
  const transactions = sum(listings, ({ delivered, subscriptions }) => delivered + subscriptions);
  const events = transactions + sum(listings, ({ failed, reviews }) => failed + reviews);
  const isScored = events > 0;
  const overall = scoreOf(evidence);
  const marketScore = onScale(overall.score);
  const idleDays = lastActiveAt === null ? Infinity : (now.getTime() - lastActiveAt.getTime()) / DAY_MS;
  const firstAt = Math.min(...listings.map((listing) => listing.firstAt.getTime()));
  const lastAt = Math.max(...listings.map((listing) => listing.lastAt.getTime()));
  return {
    agent_id: agentId,
    status: !isScored ? 'unscored' : idleDays >= INACTIVE_DAYS ? 'inactive' : 'scored',
    market_score: marketScore,
    score_tier: isScored ? tierOf(marketScore) : 'unrated',
    provisional: provisionalOf(transactions, overall.buyers, feesReceived),
    components: {
      reliability: onScale(overall.reliability),
      accuracy: onScale(overall.accuracy),
      volume: onScale(overall.volume),
      longevity: isScored ? onScale(Math.min(1, (lastAt - firstAt) / DAY_MS / FULL_LONGEVITY_DAYS)) : 0,
      reputation: onScale(overall.reputation),
    },
    categories: categoriesOf(evidence),
    capability: capabilityOf(solveMs),
    meta: {
      total_events: events,
      total_transactions: transactions,
      last_active_at: lastActiveAt?.toISOString() ?? null,
      freshness: idleDays < FRESH_DAYS ? 'fresh' : idleDays < STALE_DAYS ? 'aging' : 'stale',
      scored_at: isScored ? new Date(lastAt).toISOString() : null,
    },
  };
}

export function tierOf(score: number): AgentScore['score_tier'] {
  if (score < 250) return 'bronze';
  if (score < 500) return 'silver';
  return score < 750 ? 'gold' : 'platinum';
}

const REQUIRED_TRANSACTIONS = 10;
const REQUIRED_BUYERS = 3;

function provisionalOf(transactions: number, buyers: number, feesReceived: number): AgentScore['provisional'] {
  const counted = { transactions, required: REQUIRED_TRANSACTIONS };
  if (transactions === 0) return { reason: 'no_transactions', ...counted };
  if (transactions < REQUIRED_TRANSACTIONS) return { reason: 'few_transactions', ...counted };
  if (buyers >= REQUIRED_BUYERS) return feesReceived > 0 ? null : { reason: 'no_fees_received', ...counted };
  const weighed = { buyers: Math.floor(buyers * 10) / 10, required_buyers: REQUIRED_BUYERS };
  return { reason: 'few_independent_buyers', ...counted, ...weighed };
}

function categoriesOf({ listings, ...sales }: Evidence): AgentScore['categories'] {
  const categories = new Map(listings.flatMap(({ category }) => (category ? [[category.id, category] as const] : [])));
  return [...categories.values()]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, name, slug }) => {
      const inIt = listings.filter(({ category }) => category?.id === id);
      const delivered = sum(inIt, (listing) => listing.delivered);
      const attempted = delivered + sum(inIt, (listing) => listing.failed);
      const reviews = sum(inIt, (listing) => listing.reviews);
      return {
        category_id: id,
        category: { name, slug },
        score: onScale(scoreOf(sales, ({ categoryId }) => categoryId === id).score),
        transaction_count: delivered + sum(inIt, (listing) => listing.subscriptions),
        avg_review_rating: reviews === 0 ? null : round(sum(inIt, (listing) => listing.ratingSum) / (3 * reviews), 2),
        success_rate: attempted === 0 ? null : round(delivered / attempted, 4),
      };
    });
}

/**
 * Excludes outliers with Tukey's fences (Exploratory Data Analysis, 1977), because these do not measure a machine: a
 * challenge may be left for minutes, or be solved in advance.
 */
function capabilityOf(solveMs: number[]): AgentScore['capability'] {
  if (solveMs.length === 0) return { avg_pow_solve_ms: null, best_pow_solve_ms: null };
  const sorted = [...solveMs].sort((a, b) => a - b);
  const quartile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))]!;
  const reach = 1.5 * (quartile(0.75) - quartile(0.25));
  const usual = sorted.filter((ms) => ms >= quartile(0.25) - reach && ms <= quartile(0.75) + reach);
  return { avg_pow_solve_ms: Math.round(sum(usual, (ms) => ms) / usual.length), best_pow_solve_ms: usual[0]! };
}

const round = (value: number, decimals: number): number => Math.round(value * 10 ** decimals) / 10 ** decimals;
const onScale = (share: number): number => round(1000 * share, 1);
