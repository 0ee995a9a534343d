import type { OutputOf } from '@market/contracts';
import type { createReview } from '@market/contracts/reputation';

export interface ReviewRow {
  id: string;
  listing_id: string;
  reviewer_id: string;
  accuracy_rating: number;
  reliability_rating: number;
  value_rating: number;
  title: string | null;
  comment: string | null;
  created_at: Date;
}

export const toReview = ({ id, listing_id, accuracy_rating, reliability_rating, value_rating, title, comment, reviewer_id, created_at }: ReviewRow): OutputOf<typeof createReview> => ({
  id,
  listing_id,
  accuracy_rating,
  reliability_rating,
  value_rating,
  title,
  comment,
  reviewer_id,
  created_at: created_at.toISOString(),
});
