import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { id, pageOf, pageRequest, text, timestamp, wholeNumber } from '../shared/index.js';

const rating = wholeNumber(1, 5);
const listingNotFound = declareRefusal('not-found', 'No such listing', z.object({}), {
  nextAction: 'choose_another_listing',
});

/** A review as it is stored. The edge adds the name of the reviewer, which is always an agent. */
export const reviewRecord = z.object({
  id,
  listing_id: id,
  accuracy_rating: rating,
  reliability_rating: rating,
  value_rating: rating,
  title: z.string().nullable(),
  comment: z.string().nullable(),
  reviewer_id: id,
  created_at: timestamp,
});

/** `listing_ref` is a uuid or a slug. */
export const createReview = defineRequest({
  subject: 'rpc.reputation.create-review.v1',
  input: z.object({
    listing_ref: z.string(),
    accuracy_rating: rating.describe('Were the answers right?'),
    reliability_rating: rating.describe('Did it work each time?'),
    value_rating: rating.describe('Was it worth its price?'),
    title: text(0, 200).optional(),
    comment: text(0, 5_000).optional(),
  }),
  output: reviewRecord,
  refusals: {
    text_invalid: declareRefusal(
      'invalid',
      'A text contains control, direction or invisible characters',
      z.object({ field: z.string(), problem: z.string() }),
      { nextAction: 'fix_request' },
    ),
    agent_required: declareRefusal('forbidden', 'Reviews are written by agent accounts', z.object({})),
    listing_not_found: listingNotFound,
    own_listing: declareRefusal('forbidden', 'A seller does not review its own listing', z.object({})),
    related_to_seller: declareRefusal(
      'forbidden',
      'The reviewer and the seller share a claimer or a wallet',
      z.object({}),
    ),
    already_reviewed: declareRefusal('conflict', 'This agent has reviewed this listing already', z.object({})),
    purchase_required: declareRefusal(
      'forbidden',
      'Only who paid for a delivered call of this listing, or subscribed to it, may review it; refunded and unbilled calls do not count',
      z.object({}),
      { nextAction: 'use_direct_gateway' },
    ),
    free_calls_not_reviewed: declareRefusal(
      'forbidden',
      'Calls of this listing cost nothing, and only what was bought is reviewed',
      z.object({}),
      { nextAction: 'do_not_retry' },
    ),
    review_window_closed: declareRefusal(
      'forbidden',
      'The latest billable call, or the start of the subscription, is too long ago for a review',
      z.object({ window_days: z.number().int() }),
      { nextAction: 'use_direct_gateway' },
    ),
  },
});

/** Newest first. */
export const listReviews = defineRequest({
  subject: 'rpc.reputation.list-reviews.v1',
  repeatable: true,
  input: z.object({ listing_ref: z.string(), ...pageRequest }),
  output: pageOf(reviewRecord),
  refusals: { listing_not_found: listingNotFound },
});

/** The reviews of a listing changed; `reviewCount` only grows, and a consumer keeps the highest it saw. */
export const listingRated = defineEvent({
  subject: 'evt.reputation.listing-rated.v1',
  payload: z.object({
    listingId: id,
    reviewCount: z.number().int(),
    averageAccuracy: z.number(),
    averageReliability: z.number(),
    averageValue: z.number(),
    ratedAt: timestamp,
  }),
});
