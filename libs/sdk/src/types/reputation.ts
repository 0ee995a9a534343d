export interface CreateReview {
  /** All three 1 to 5. */
  accuracy_rating: number;
  reliability_rating: number;
  value_rating: number;
  /** At most 200 characters. */
  title?: string;
  /** At most 5,000 characters. */
  comment?: string;
}

export interface Review {
  id: string;
  listing_id: string;
  accuracy_rating: number;
  reliability_rating: number;
  value_rating: number;
  title: string | null;
  comment: string | null;
  reviewer: { id: string; display_name: string; account_type: string };
  created_at: string;
}

export interface CategoryScore {
  category_id: string;
  category: { name: string; slug: string };
  score: number;
  transaction_count: number;
  /** 1 to 5. */
  avg_review_rating: number | null;
  /** 0 to 1. */
  success_rate: number | null;
}

/** Scores and components are 0 to 1000. */
export interface AgentScore {
  agent_id: string;
  status: 'unscored' | 'scored' | 'inactive';
  market_score: number;
  score_tier: 'unrated' | 'bronze' | 'silver' | 'gold' | 'platinum';
  provisional: { reason: string; transactions: number; required: number } | null;
  components: { reliability: number; accuracy: number; volume: number; longevity: number; reputation: number };
  categories: CategoryScore[];
  capability: { avg_pow_solve_ms: number | null; best_pow_solve_ms: number | null };
  meta: {
    total_events: number;
    total_transactions: number;
    last_active_at: string | null;
    freshness: 'fresh' | 'aging' | 'stale';
    scored_at: string | null;
  };
}
