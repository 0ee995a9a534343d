import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest, defineSignal } from '../define.js';
import { currency, deliveryType, id, listingStatus, microsText, pageRequest, pricingModel, timestamp } from '../shared/index.js';
import { endpointUrlRefusal, gatewayLimits } from '../gateway/endpoints.js';

export const authMethod = z.enum(['api_key', 'oauth2', 'bearer_token', 'none']);

/** The name of a category beside what is in it. */
const categoryRef = z.object({ id, name: z.string(), slug: z.string() });

const listingNotFound = declareRefusal('not-found', 'No such listing', z.object({}), { nextAction: 'choose_another_listing' });
const sellerRoleRequired = declareRefusal('forbidden', 'Listings belong to agent accounts with the provider role', z.object({}));
const textInvalid = declareRefusal('invalid', 'A text is too short, too long or holds what it may not', z.object({ field: z.string(), problem: z.string() }), { nextAction: 'fix_request' });
const listingLimitReached = declareRefusal('forbidden', 'This agent has as many listings as one agent may have; drafts that are deleted make room', z.object({ limit: z.number().int() }), { nextAction: 'contact_operator' });
const notOwner = declareRefusal('forbidden', 'Only the owner of a listing may do this', z.object({}));

export const categoryView = z.object({ id, name: z.string(), slug: z.string(), description: z.string(), sort_order: z.number().int() });

const providerView = z.object({ id, display_name: z.string(), avatar_url: z.string().nullable(), account_type: z.enum(['agent', 'human']), is_verified: z.boolean() });

/** A listing as search shows it. Optional texts are null when the seller left them out. */
export const listingView = z.object({
  id,
  slug: z.string(),
  provider_id: id,
  name: z.string(),
  description: z.string(),
  category_id: id.nullable(),
  pricing_model: pricingModel,
  pricing_amount: z.number(),
  pricing_currency: z.string(),
  preferred_currency: currency,
  delivery_type: deliveryType,
  auth_method: authMethod,
  formats: z.array(z.string()),
  demo_endpoint: z.string().nullable(),
  github_url: z.string().nullable(),
  logo_url: z.string().nullable(),
  expected_delivery: z.string().nullable(),
  tags: z.array(z.string()),
  status: listingStatus,
  created_at: timestamp,
  provider: providerView,
  category: categoryRef.nullable(),
});

export type ListingView = z.output<typeof listingView>;

/** Means of all reviews, 1 to 5 with 2 decimals; `average` is the mean of the three. */
export const ratingView = z.object({ average: z.number(), count: z.number().int(), accuracy: z.number(), reliability: z.number(), value: z.number() });

/**
 * A listing in full; `gateway_url`, `gateway_limits` and `endpoint_status` only on per_call listings, and
 * `connection_instructions` only for its owner: subscribers read them with their subscription. `rating` is null until
 * the first review.
 */
export const listingDetail = listingView.extend({
  docs: z.string().nullable(),
  connection_instructions: z.string().nullable().optional(),
  example_outputs: z.array(z.object({ label: z.string(), content: z.string() })),
  risk_disclaimers: z.string().nullable(),
  sla: z.string().nullable(),
  rating: ratingView.nullable(),
  gateway_url: z.string().optional(),
  gateway_limits: gatewayLimits.optional(),
  endpoint_status: z.string().optional(),
});

export const listCategories = defineRequest({
  subject: 'rpc.catalog.list-categories.v1',
  input: z.object({}),
  output: z.object({ categories: z.array(categoryView) }),
  refusals: {},
});

export const searchListings = defineRequest({
  subject: 'rpc.catalog.search-listings.v1',
  input: z.object({
    q: z.string().optional(),
    categoryId: id.optional(),
    pricingModel: pricingModel.optional(),
    deliveryType: deliveryType.optional(),
    minPriceMicros: microsText.optional(),
    maxPriceMicros: microsText.optional(),
    sort: z.enum(['newest', 'popular', 'price_low', 'price_high']).default('newest'),
    ...pageRequest,
  }),
  /** `itemsJson` is an array of `listingView`, as text, since most who ask pass it on as it is; `listingsOf` reads it. Totals up to 10,000 are no estimates. */
  output: z.object({ itemsJson: z.string(), total: z.number().int(), totalIsEstimate: z.boolean() }),
  refusals: { text_invalid: textInvalid },
});

export const listingsOf = ({ itemsJson }: { itemsJson: string }): ListingView[] => JSON.parse(itemsJson) as ListingView[];

/** `ref` is a uuid or a slug, current or former. */
export const getListing = defineRequest({
  subject: 'rpc.catalog.get-listing.v1',
  input: z.object({ ref: z.string() }),
  output: listingDetail,
  refusals: { listing_not_found: listingNotFound },
});

export const createListingChallenge = defineRequest({
  subject: 'rpc.catalog.create-listing-challenge.v1',
  input: z.object({}),
  output: z.object({ challenge: z.string(), difficulty: z.number().int(), algorithm: z.literal('sha256'), hint: z.string() }),
  refusals: { seller_role_required: sellerRoleRequired, listing_limit_reached: listingLimitReached },
});

/** Fields a seller writes. Their lengths are the catalog's to judge, in code points, so that what is too long is refused and not a broken message. */
export const listingFields = {
  name: z.string(),
  description: z.string(),
  categoryId: id.optional(),
  pricingModel: pricingModel.default('free'),
  pricingAmountMicros: microsText.default('0'),
  pricingCurrency: z.string().default('USD'),
  preferredCurrency: currency.default('USDC'),
  deliveryType: deliveryType.default('api'),
  authMethod: authMethod.default('api_key'),
  formats: z.array(z.string()).default(['json']),
  docs: z.string().optional(),
  connectionInstructions: z.string().optional(),
  exampleOutputs: z.array(z.object({ label: z.string(), content: z.string() })).default([]),
  demoEndpoint: z.string().optional(),
  githubUrl: z.string().optional(),
  logoUrl: z.string().optional(),
  expectedDelivery: z.string().optional(),
  riskDisclaimers: z.string().optional(),
  sla: z.string().optional(),
  tags: z.array(z.string()).default([]),
};

export const createListing = defineRequest({
  subject: 'rpc.catalog.create-listing.v1',
  answersSecret: true,
  input: z.object({
    ...listingFields,
    powNonce: z.string(),
    /** The challenge that powNonce solves; absent: the agent's latest unused one. */
    challenge: z.string().optional(),
    status: z.enum(['draft', 'active']).default('active'),
    privateEndpointUrl: z.string().optional(),
  }),
  /** `gateway_signing_secret` is shown here once, for per_call listings. */
  output: z.object({
    id,
    name: z.string(),
    slug: z.string(),
    provider_id: id,
    status: listingStatus,
    pricing_model: pricingModel,
    pricing_amount: z.number(),
    created_at: timestamp,
    gateway_signing_secret: z.string().optional(),
  }),
  refusals: {
    seller_role_required: sellerRoleRequired,
    proof_of_work_invalid: declareRefusal('invalid', 'pow_nonce does not solve the listing challenge: SHA-256(challenge + pow_nonce) must start with the given number of hex zeros', z.object({ difficulty: z.number().int() }), { nextAction: 'solve_proof_of_work' }),
    challenge_invalid: declareRefusal('invalid', 'There is no unused, unexpired listing challenge for this nonce', z.object({}), { nextAction: 'request_new_challenge' }),
    listing_limit_reached: listingLimitReached,
    text_invalid: textInvalid,
    category_not_found: declareRefusal('invalid', 'category_id names no category', z.object({}), { nextAction: 'fix_request' }),
    pricing_invalid: declareRefusal('invalid', 'The price does not fit the pricing model', z.object({ problem: z.string() }), { nextAction: 'fix_request' }),
    private_endpoint_required: declareRefusal('invalid', 'private_endpoint_url is required on per_call listings', z.object({}), { nextAction: 'fix_request' }),
    private_endpoint_unexpected: declareRefusal('invalid', 'private_endpoint_url belongs to per_call listings only', z.object({}), { nextAction: 'fix_request' }),
    endpoint_url_refused: endpointUrlRefusal,
  },
});

export const updateListing = defineRequest({
  subject: 'rpc.catalog.update-listing.v1',
  input: z.object({
    listingId: id,
    name: listingFields.name.optional(),
    description: listingFields.description.optional(),
    pricingModel: pricingModel.optional(),
    pricingAmountMicros: microsText.optional(),
    status: z.enum(['draft', 'active']).optional(),
    tags: z.array(z.string()).optional(),
    privateEndpointUrl: z.string().optional(),
  }),
  /** `gateway_signing_secret` only when this change made the listing per_call for the first time; shown once. */
  output: listingDetail.extend({ gateway_signing_secret: z.string().optional() }),
  refusals: {
    listing_not_found: listingNotFound,
    not_owner: notOwner,
    listing_suspended: declareRefusal('forbidden', 'This listing is suspended and cannot be changed by its owner', z.object({ suspended_by: z.string() }), { nextAction: 'contact_operator' }),
    suspended_by_owner: declareRefusal('conflict', 'A suspended listing goes back to draft before it becomes active', z.object({}), { nextAction: 'fix_request' }),
    text_invalid: textInvalid,
    pricing_invalid: createListing.refusals.pricing_invalid,
    private_endpoint_required: createListing.refusals.private_endpoint_required,
    private_endpoint_unexpected: createListing.refusals.private_endpoint_unexpected,
    endpoint_url_refused: endpointUrlRefusal,
  },
});

export const removeListing = defineRequest({
  subject: 'rpc.catalog.remove-listing.v1',
  input: z.object({ listingId: id }),
  output: z.object({ id, deleted: z.boolean(), status: listingStatus.optional() }),
  refusals: { listing_not_found: listingNotFound, not_owner: notOwner },
});

/** A listing as its subscribers know it, whatever its status. */
export const listingCard = z.object({
  id,
  name: z.string(),
  slug: z.string(),
  delivery_type: deliveryType,
  provider_id: id,
  connection_instructions: z.string().nullable(),
  auth_method: authMethod,
  demo_endpoint: z.string().nullable(),
});

/** Those of the ids that exist, in no order. The edge asks it for parties of a subscription alone. */
export const getListingCards = defineRequest({
  subject: 'rpc.catalog.get-listing-cards.v1',
  input: z.object({ ids: z.array(id).max(100) }),
  output: z.object({ listings: z.array(listingCard) }),
  refusals: {},
});

/** What the gateway needs to know of a listing in order to sell a call of it. */
export const offering = z.object({
  listingId: id,
  slug: z.string(),
  name: z.string(),
  sellerId: id,
  status: listingStatus,
  pricingModel,
  priceMicros: microsText,
  preferredCurrency: currency,
  category: categoryRef.nullable(),
});
export type Offering = z.output<typeof offering>;

export const getOffering = defineRequest({
  subject: 'rpc.catalog.get-offering.v1',
  input: z.object({ ref: z.string() }),
  output: offering,
  refusals: { listing_not_found: listingNotFound },
});

/** `version` grows with every change of one listing; a consumer keeps the highest it saw. */
export const listingChanged = defineEvent({
  subject: 'evt.catalog.listing-changed.v1',
  payload: z.object({ ...offering.shape, version: z.number().int(), changedAt: timestamp }),
});

export const listingRemoved = defineEvent({
  subject: 'evt.catalog.listing-removed.v1',
  payload: z.object({ listingId: id, removedAt: timestamp }),
});

/** Every former and current slug is named, so that caches by slug let go too. */
export const listingTouched = defineSignal({
  subject: 'sig.catalog.listing-touched.v1',
  payload: z.object({ listingId: id, slugs: z.array(z.string()) }),
});

/** As `registrationWorkSolved` of identity, for the proof of work of a listing. */
export const listingWorkSolved = defineEvent({
  subject: 'evt.catalog.listing-work-solved.v1',
  payload: z.object({ accountId: id, difficulty: z.number().int(), solveMs: z.number().int(), solvedAt: timestamp }),
});
