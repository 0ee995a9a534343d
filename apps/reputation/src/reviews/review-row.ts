import type { OutputOf } from '@market/contracts';
import type { createReview } from '@market/contracts/reputation';

export type Review = OutputOf<typeof createReview>;

export type ReviewRow = Omit<Review, 'created_at'> & { created_at: Date };

/** The columns of a `ReviewRow`. */
export const REVIEW_COLUMNS =
  'id, listing_id, accuracy_rating, reliability_rating, value_rating, title, comment, reviewer_id, created_at';

export const toReview = (row: ReviewRow): Review => ({ ...row, created_at: row.created_at.toISOString() });
