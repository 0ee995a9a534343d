import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { id, listingStatus, microsText, pricingModel, timestamp } from '../shared/index.js';

const listingNotFound = declareRefusal('not-found', 'No such listing', z.object({}));
const suspendedBy = z.enum(['owner', 'operator', 'system']).nullable();

/** A listing in any state, as operators find it. */
export const listingSummary = z.object({
  id,
  slug: z.string(),
  name: z.string(),
  status: listingStatus,
  suspended_by: suspendedBy,
  provider_id: id,
});

/**
 * Finds listings by id or slug, by the id of their seller, or by a name that reads the same: at most 20, newest first.
 */
export const findListings = defineRequest({
  subject: 'rpc.catalog.find-listings.v1',
  repeatable: true,
  input: z.object({ query: z.string().max(200) }),
  output: z.object({ listings: z.array(listingSummary) }),
  refusals: {},
});

/** A listing in any state, with other listings whose names read the same. */
export const inspectListing = defineRequest({
  subject: 'rpc.catalog.inspect-listing.v1',
  repeatable: true,
  input: z.object({ ref: z.string().max(150) }),
  output: listingSummary.extend({
    slugs: z.array(z.string()),
    held_as: z.string().nullable(),
    version: z.number().int(),
    provider_name: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    pricing_model: pricingModel,
    price_micros: microsText,
    endpoint_status: z.string().nullable(),
    failing_since: timestamp.nullable(),
    review_count: z.number().int().nullable(),
    purchases: z.number().nullable(),
    created_at: timestamp,
    published_at: timestamp.nullable(),
    updated_at: timestamp,
    reads_like: z.array(id).nullable(),
  }),
  refusals: { listing_not_found: listingNotFound },
});

/** Takes a listing off the market so that its owner cannot bring it back, or restores it to its former state. */
export const holdListing = defineRequest({
  subject: 'rpc.catalog.hold-listing.v1',
  input: z.object({ ref: z.string().max(150), action: z.enum(['hold', 'release']), reason: z.string().nullable() }),
  /** `changed` is false if the listing was in that state already. */
  output: z.object({ id, name: z.string(), status: listingStatus, suspended_by: suspendedBy, changed: z.boolean() }),
  refusals: { listing_not_found: listingNotFound },
});
