import { z } from 'zod';
import { defineEvent } from '../define.js';
import { id, timestamp } from '../shared/index.js';

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
