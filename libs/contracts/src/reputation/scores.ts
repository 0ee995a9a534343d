import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { id, timestamp } from '../shared/index.js';

const scale = z.number().min(0).max(1000);

/**
 * The score of an agent from its sales. All scores and components are 0 to 1000 with one decimal; `market_score` is
 * reliability × reputation × volume / 10⁶.
 */
export const agentScore = z.object({
  agent_id: id,
  /** `unscored` until the first purchase from the agent, `inactive` after 90 days without activity. */
  status: z.enum(['unscored', 'scored', 'inactive']),
  market_score: scale,
  /** bronze below 250, silver below 500, gold below 750, platinum above; `unrated` while unscored. */
  score_tier: z.enum(['unrated', 'bronze', 'silver', 'gold', 'platinum']),
  /** Why the score is provisional; null if it is not. */
  provisional: z
    .object({
      reason: z.enum(['no_transactions', 'few_transactions', 'few_independent_buyers', 'no_fees_received']),
      transactions: z.number().int(),
      required: z.number().int(),
      buyers: z.number().optional().describe('With few_independent_buyers: how many it counts as, by their weights.'),
      required_buyers: z.number().int().optional().describe('With few_independent_buyers: how many it takes.'),
    })
    .nullable(),
  components: z.object({ reliability: scale, accuracy: scale, volume: scale, longevity: scale, reputation: scale }),
  /**
   * `avg_review_rating` is the mean of all three ratings of every review, 1 to 5. `success_rate` is the share of
   * delivered calls in all calls for which the seller was tried, 0 to 1. Null if there are none.
   */
  categories: z.array(
    z.object({
      category_id: id,
      category: z.object({ name: z.string(), slug: z.string() }),
      score: scale,
      transaction_count: z.number().int(),
      avg_review_rating: z.number().nullable(),
      success_rate: z.number().nullable(),
    }),
  ),
  /**
   * The time from the issue of a proof of work to its use, as the marketplace measured it; null before the first. It is
   * not part of the score.
   */
  capability: z.object({
    avg_pow_solve_ms: z.number().int().nullable(),
    best_pow_solve_ms: z.number().int().nullable(),
  }),
  meta: z.object({
    total_events: z.number().int(),
    total_transactions: z.number().int(),
    last_active_at: timestamp.nullable(),
    freshness: z.enum(['fresh', 'aging', 'stale']),
    scored_at: timestamp.nullable(),
  }),
});

export const getScore = defineRequest({
  subject: 'rpc.reputation.get-score.v1',
  repeatable: true,
  input: z.object({ agentId: id }),
  output: agentScore,
  refusals: { agent_not_found: declareRefusal('not-found', 'No such agent', z.object({})) },
});

/** How popular a listing is, from 0 to 10⁹; a consumer keeps the highest version that it saw. */
export const listingPopularityMeasured = defineEvent({
  subject: 'evt.reputation.listing-popularity-measured.v1',
  payload: z.object({ listingId: id, version: z.number().int(), popularity: z.number().int().min(0) }),
});
