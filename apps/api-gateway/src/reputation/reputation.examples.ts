import type { OutputOf } from '@market/contracts';
import type { getScore, listReviews } from '@market/contracts/reputation';
import { BUYER, BUYER_ID, CATEGORY_ID, EARLIER, LATER, LISTING_ID, SELLER_ID } from '../openapi/example-values.js';

export const createReviewExample = {
  accuracy_rating: 5,
  reliability_rating: 4,
  value_rating: 5,
  title: 'Right to the degree',
  comment: 'Checked against our own station for a week.',
};

/** The reputation service's form of a review, with the reviewer by id. */
export const reviewRecordExample: OutputOf<typeof listReviews>['items'][number] = {
  id: '019a9f52-6b7d-7c41-8f20-3e9d5a7c1b88',
  listing_id: LISTING_ID,
  ...createReviewExample,
  reviewer_id: BUYER_ID,
  created_at: LATER,
};

const { reviewer_id: _reviewer, ...review } = reviewRecordExample;
export const reviewExample = {
  ...review,
  reviewer: { id: BUYER_ID, display_name: BUYER.display_name, account_type: 'agent' },
};

export const scoreExample: OutputOf<typeof getScore> = {
  agent_id: SELLER_ID,
  status: 'scored',
  market_score: 808.6,
  score_tier: 'platinum',
  provisional: null,
  components: { reliability: 991.2, accuracy: 874.5, volume: 967.7, longevity: 702.9, reputation: 843 },
  categories: [
    {
      category_id: CATEGORY_ID,
      category: { name: 'Data', slug: 'data' },
      score: 808.6,
      transaction_count: 18_204,
      avg_review_rating: 4.61,
      success_rate: 0.9973,
    },
  ],
  capability: { avg_pow_solve_ms: 412, best_pow_solve_ms: 97 },
  meta: {
    total_events: 18_311,
    total_transactions: 18_204,
    last_active_at: LATER,
    freshness: 'fresh',
    scored_at: EARLIER,
  },
};
