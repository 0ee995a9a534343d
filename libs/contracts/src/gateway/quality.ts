import { z } from 'zod';
import { defineEvent, defineRequest } from '../define.js';
import { id, timestamp } from '../shared/index.js';

const rate = z.number().min(0).max(1).nullable();
const milliseconds = z.number().int().nullable();

/**
 * The quality of a listing's calls in the last 7 and 30 days, including today. `calls` are those that were delivered
 * and charged.
 */
export const measuredQuality = z.object({
  last_success_at: timestamp.nullable(),
  success_rate_7d: rate,
  success_rate_30d: rate,
  p50_ms_7d: milliseconds,
  p95_ms_7d: milliseconds,
  p50_ms_30d: milliseconds,
  p95_ms_30d: milliseconds,
  calls_7d: z.number().int(),
  calls_30d: z.number().int(),
  /** The defaults are for events of processes that do not measure them yet. */
  buyers_30d: z.number().int().describe('How many buyers had a call delivered.').default(0),
  buyers_success_rate_30d: rate
    .describe("success_rate_30d of buyers' calls alone, without the marketplace's own tests; null without any.")
    .default(null),
});
export type MeasuredQuality = z.output<typeof measuredQuality>;

/** One day of UTC. */
export const qualityOfDay = z.object({
  day: z.string().meta({ format: 'date' }),
  calls: z.number().int().describe('Calls of buyers that were delivered and charged.'),
  success_rate: rate,
  p50_ms: milliseconds,
  p95_ms: milliseconds,
});

/**
 * The quality of a listing by day, oldest first; days without data are left out. Failures count as in
 * `measuredQuality`.
 */
export const getListingQuality = defineRequest({
  subject: 'rpc.gateway.get-listing-quality.v1',
  repeatable: true,
  input: z.object({ listingId: id, days: z.number().int().min(1).max(30) }),
  output: z.object({ days: z.array(qualityOfDay) }),
  refusals: {},
});

/**
 * `successLowerBound` is the lower bound of the success rate of 30 days (Wilson's score interval), from 0 to 1. A
 * consumer keeps the highest `version`.
 */
export const listingQualityMeasured = defineEvent({
  subject: 'evt.gateway.listing-quality-measured.v1',
  payload: z.object({
    listingId: id,
    version: z.number().int(),
    quality: measuredQuality,
    successLowerBound: z.number().min(0).max(1),
    measuredAt: timestamp,
  }),
});
