import { text, wholeNumber, type RequestOf } from '@market/contracts';
import type { createReview } from '@market/contracts/reputation';
import { z } from 'zod';

export const createReviewBody = z.object({
  accuracy_rating: wholeNumber(1, 5).describe('Were the answers right?'),
  reliability_rating: wholeNumber(1, 5).describe('Did it work each time?'),
  value_rating: wholeNumber(1, 5).describe('Was it worth its price?'),
  title: text(0, 200).optional(),
  comment: text(0, 5_000).optional(),
});

export const toCreateReview = (
  listingRef: string,
  body: z.output<typeof createReviewBody>,
): RequestOf<typeof createReview> => ({
  listingRef,
  accuracyRating: body.accuracy_rating,
  reliabilityRating: body.reliability_rating,
  valueRating: body.value_rating,
  title: body.title,
  comment: body.comment,
});
