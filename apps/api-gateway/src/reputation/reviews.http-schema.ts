import type { RequestOf } from '@market/contracts';
import type { createReview } from '@market/contracts/reputation';
import { Text, WholeNumber } from '../http/fields.js';

const STARS = { min: 1, max: 5 };

export class CreateReviewBody {
  @WholeNumber({ ...STARS, description: 'Were the answers right?' })
  accuracy_rating: number;

  @WholeNumber({ ...STARS, description: 'Did it work each time?' })
  reliability_rating: number;

  @WholeNumber({ ...STARS, description: 'Was it worth its price?' })
  value_rating: number;

  @Text({ max: 200, optional: true })
  title?: string;

  @Text({ max: 5_000, optional: true })
  comment?: string;
}

export const toCreateReview = (listingRef: string, body: CreateReviewBody): RequestOf<typeof createReview> => ({
  listingRef,
  accuracyRating: body.accuracy_rating,
  reliabilityRating: body.reliability_rating,
  valueRating: body.value_rating,
  title: body.title,
  comment: body.comment,
});
