import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest, defineSignal } from '../define.js';
import {
  currency,
  deliveryType,
  httpUrl,
  id,
  includedUnits,
  jsonObject,
  listingStatus,
  microsText,
  pageRequest,
  pricingModel,
  text,
  textList,
  timestamp,
  usage,
  usdAmount,
  wholeNumber,
} from '../shared/index.js';
import { endpointUrlRefusal, gatewayLimits } from '../gateway/endpoints.js';
import { measuredQuality } from '../gateway/quality.js';

export const authMethod = z.enum(['api_key', 'oauth2', 'bearer_token', 'none']);

/** The category of a listing. */
const categoryRef = z.object({ id, name: z.string(), slug: z.string() });

const listingNotFound = declareRefusal('not-found', 'No such listing', z.object({}), {
  nextAction: 'choose_another_listing',
});
const sellerRoleRequired = declareRefusal(
  'forbidden',
  'Listings belong to agent accounts with the provider role',
  z.object({}),
);
const textInvalid = declareRefusal(
  'invalid',
  'A text contains characters that are not allowed',
  z.object({ field: z.string(), problem: z.string() }),
  { nextAction: 'fix_request' },
);
const schemaInvalid = declareRefusal(
  'invalid',
  'A schema cannot be used to check calls, or its example does not match it',
  z.object({ field: z.string(), problem: z.string() }),
  { nextAction: 'fix_request' },
);
const schemaChecksSlow = declareRefusal(
  'rate-limited',
  'Schemas and examples of yours have used the time for checks; nothing was stored',
  z.object({ retry_after_seconds: z.number().int() }),
  { nextAction: 'retry_after_delay' },
);
const listingLimitReached = declareRefusal(
  'forbidden',
  'This agent has the maximum number of listings; delete drafts to make room',
  z.object({ limit: z.number().int() }),
  { nextAction: 'contact_operator' },
);
const notOwner = declareRefusal('forbidden', 'Only the owner of a listing may do this', z.object({}));

/** An optional field: it is null if it is left out at creation, and null clears it. */
const optional = <T extends z.ZodType>(field: T) => field.nullable().default(null);

/**
 * The fields of a listing that its seller sets and that are shown wherever a listing is. They have the same names in
 * the bodies of POST and PATCH, in messages, in answers and as columns. A default applies to a field that is left out
 * at creation.
 */
export const listedFields = {
  name: text(2, 100),
  description: text(10, 5_000),
  category_id: optional(id),
  pricing_model: pricingModel.default('free'),
  pricing_amount: usdAmount.describe('US dollars, at most 6 decimals.').default(0),
  usage: optional(usage),
  included_calls: optional(
    wholeNumber(1, 1_000_000_000).describe(
      'Of monthly and yearly: how many calls through the gateway a period includes. null: it includes none, and ' +
        'subscribers connect as connection_instructions say.',
    ),
  ),
  included_units: optional(includedUnits),
  free_calls: optional(
    wholeNumber(1, 1_000).describe(
      'How many calls of a listing that costs something each buyer may try for nothing, once it has bought something here.',
    ),
  ),
  pricing_currency: z.enum(['USD']).describe('Display currency; every price is in US dollars.').default('USD'),
  preferred_currency: currency.describe('Payout currency.').default('USDC'),
  delivery_type: deliveryType.default('api'),
  auth_method: authMethod.default('api_key'),
  formats: textList(20, 50)
    .describe(
      'What answers come in: media types or short names such as json, csv, png, pdf, binary. A call is answered with ' +
        'a file only if its type is named here; JSON needs no name.',
    )
    .default(['json']),
  request_formats: textList(20, 50)
    .min(1, { error: 'must name a format' })
    .describe(
      'What bodies of calls come in, named as in formats; multipart/form-data and other types are forwarded as they come. ' +
        'input_schema is of JSON bodies alone.',
    )
    .default(['json']),
  demo_endpoint: optional(httpUrl),
  github_url: optional(httpUrl),
  logo_url: optional(httpUrl),
  expected_delivery: optional(text(0, 100)),
  tags: textList(20, 50).default([]),
  language: optional(z.string().regex(/^[a-z]{2}$/)).describe(
    'ISO 639-1 code of the language of the texts, found by the marketplace unless given; search stems by it.',
  ),
  input_schema: optional(
    jsonObject(16_384).describe(
      'JSON Schema 2020-12 of the body of a call, with type object at its root. ' +
        'A body that does not fit is refused before it costs anything. ' +
        'Patterns run on RE2: no lookahead, lookbehind or backreference.',
    ),
  ),
  example_input: optional(
    jsonObject(4_096).describe('A body that fits input_schema, and required beside it. Endpoint tests send it.'),
  ),
  output_schema: optional(jsonObject(16_384).describe('JSON Schema 2020-12 of the answer; not enforced.')),
};

/** The fields that its seller sets and that are shown only with a single listing. */
export const detailFields = {
  docs: optional(text(0, 50_000)),
  connection_instructions: optional(text(0, 10_000).describe('Shown to subscribers and to the owner alone.')),
  example_outputs: z
    .array(z.strictObject({ label: text(0, 200), content: text(0, 20_000) }))
    .max(20)
    .default([]),
  risk_disclaimers: optional(text(0, 5_000)),
  sla: optional(text(0, 5_000)),
};

const listingFields = { ...listedFields, ...detailFields };
const sellersStatus = z.enum(['draft', 'active']);
const privateEndpointUrl = text(1, 2_048)
  .optional()
  .describe(
    'Where calls are forwarded to; required for per_call and with included_calls or included_units, never returned.',
  );

type Changes<F extends Record<string, z.ZodType>> = {
  [K in keyof F]: z.ZodOptional<F[K] extends z.ZodDefault<infer T extends z.ZodType> ? T : F[K]>;
};
/** The same fields in a change; an omitted field is not changed. */
const changesOf = <F extends Record<string, z.ZodType>>(fields: F) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      z.optional(field instanceof z.ZodDefault ? field.unwrap() : field),
    ]),
  ) as Changes<F>;

export const categoryView = z.object({
  id,
  name: z.string(),
  slug: z.string(),
  description: z.string(),
  sort_order: z.number().int(),
});

const providerView = z.object({
  id,
  display_name: z.string(),
  avatar_url: z.string().nullable(),
  account_type: z.enum(['agent', 'human']),
  is_verified: z.boolean(),
});

/**
 * The quality of a listing's calls, from paid calls and the marketplace's own tests. `live`: a call or a test was
 * delivered, and the endpoint takes calls. Rates are null if there were no calls in that time, and latencies if nothing
 * was delivered.
 */
export const qualityView = z.object({
  live: z.boolean(),
  ...measuredQuality.shape,
});

/** Means of all reviews, 1 to 5 with 2 decimals; `average` is the mean of the three. */
export const ratingView = z.object({
  average: z.number(),
  count: z.number().int(),
  accuracy: z.number(),
  reliability: z.number(),
  value: z.number(),
});

/** A listing as search shows it. */
export const listingView = z.object({
  id,
  slug: z.string(),
  provider_id: id,
  ...listedFields,
  status: listingStatus,
  created_at: timestamp,
  updated_at: timestamp.describe('When the listing was last changed.'),
  provider: providerView,
  category: categoryRef.nullable(),
  quality: qualityView.nullable().describe('null where calls do not go through the gateway.'),
  rating: ratingView.nullable().describe('null until the first review.'),
});

export type ListingView = z.output<typeof listingView>;

/**
 * A listing in full. `gateway_url`, `gateway_limits` and `endpoint_status` are only on listings that are called through the
 * gateway, and `connection_instructions` is only for the owner: subscribers read them with their subscription.
 */
export const listingDetail = listingView.extend({
  ...detailFields,
  connection_instructions: z.string().nullable().optional(),
  gateway_url: z.string().optional(),
  gateway_limits: gatewayLimits.optional(),
  endpoint_status: z.string().optional(),
});

/** `reliable`: live listings first, ordered by the lower bound of their success rate. `relevance` needs a text. */
export const listingOrder = z.enum(['relevance', 'newest', 'popular', 'reliable', 'price_low', 'price_high']);

export const listCategories = defineRequest({
  subject: 'rpc.catalog.list-categories.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ categories: z.array(categoryView) }),
  refusals: {},
});

/** A listing's position in an order: its sort key and its id. */
const pageEnd = z.object({ key: z.string(), id });

/** How the words of a text were read. */
export const searchNote = z.object({
  match: z
    .enum(['all', 'some', 'weak', 'none'])
    .describe('How much of q the best listing has; weak: so little that probably nothing fits.'),
  used: z.array(z.string()).describe('Words that listings have, or a synonym, or another form of.'),
  corrected: z
    .array(z.object({ word: z.string(), as: z.array(z.string()) }))
    .describe('Words that no listing has, and the similar ones that were used.'),
  unmatched: z.array(z.string()).describe('Words that nothing was found for.'),
  meaning: z.boolean().optional().describe('Present and true if listings were found by what q means, too.'),
  near: z
    .array(z.object({ id, slug: z.string(), name: z.string() }))
    .optional()
    .describe('Where nothing fits: what has at least something of q.'),
});

const facetOf = z.array(z.object({ value: z.string(), listings: z.number().int() }));

/** How many of the found listings have each value, the most frequent one first. */
export const listingFacets = z.object({
  category: facetOf.describe('By the id of the category.'),
  pricing_model: facetOf,
  delivery_type: facetOf,
  live: facetOf.describe('Of those that are paid per call: true or false.'),
});

export const searchListings = defineRequest({
  subject: 'rpc.catalog.search-listings.v1',
  repeatable: true,
  input: z.object({
    q: z.string().optional(),
    categoryId: id.optional(),
    pricingModel: pricingModel.optional(),
    deliveryType: deliveryType.optional(),
    minPriceMicros: microsText.optional(),
    maxPriceMicros: microsText.optional(),
    /** Left out: by relevance with a text, or else the newest first. */
    sort: listingOrder.optional(),
    /** The end of the page before, in the same order; in place of `page`. */
    after: pageEnd.optional(),
    live: z.boolean().optional(),
    /** Whether only listings are wanted whose calls cost what they use. */
    byUse: z.boolean().optional(),
    /** The least `quality.success_rate_30d`. */
    minSuccess: z.number().min(0).max(1).optional(),
    /** Whether `facets` are wanted. */
    facets: z.boolean().optional(),
    /** Only the caller's own listings, in every state. */
    mine: z.boolean().optional(),
    /** Only the listings of this seller. */
    sellerId: id.optional(),
    ...pageRequest,
  }),
  /**
   * `itemsJson` is an array of `listingView`, as text, since most callers pass it on unchanged; `listingsOf` reads it.
   * `totalIsEstimate` says that there are more: than 10,000, or than were ranked for a text. `next` is where the next page starts.
   */
  output: z.object({
    itemsJson: z.string(),
    total: z.number().int(),
    totalIsEstimate: z.boolean(),
    next: pageEnd.nullable(),
    search: searchNote.optional(),
    /** Null where too many match to count them. */
    facets: listingFacets.nullable().optional(),
  }),
  refusals: {},
});

export const listingsOf = ({ itemsJson }: { itemsJson: string }): ListingView[] =>
  JSON.parse(itemsJson) as ListingView[];

/** `ref` is a uuid or a slug, current or former. */
export const getListing = defineRequest({
  subject: 'rpc.catalog.get-listing.v1',
  repeatable: true,
  input: z.object({ ref: z.string() }),
  output: listingDetail,
  refusals: { listing_not_found: listingNotFound },
});

/**
 * The quality of the calls of all listings that a seller has on the market, in 30 days. The rate is the mean of the
 * listings' rates, weighted by their calls.
 */
export const getSellerQuality = defineRequest({
  subject: 'rpc.catalog.get-seller-quality.v1',
  input: z.object({ sellerId: id }),
  output: z.object({
    live_listings: z.number().int(),
    calls_30d: z.number().int(),
    success_rate_30d: z.number().min(0).max(1).nullable(),
    last_success_at: timestamp.nullable(),
  }),
  refusals: {},
});

/** Slugs of active listings that resemble an unknown one, the most similar first. */
export const suggestSlugs = defineRequest({
  subject: 'rpc.catalog.suggest-slugs.v1',
  input: z.object({ slug: z.string() }),
  output: z.object({ slugs: z.array(z.string()) }),
  refusals: {},
});

export const createListingChallenge = defineRequest({
  subject: 'rpc.catalog.create-listing-challenge.v1',
  input: z.object({}),
  output: z.object({
    challenge: z.string(),
    difficulty: z.number().int(),
    algorithm: z.literal('sha256'),
    hint: z.string(),
  }),
  refusals: { seller_role_required: sellerRoleRequired, listing_limit_reached: listingLimitReached },
});

const payoutWalletMissing = declareRefusal(
  'conflict',
  'No active wallet of yours with the capability payout is on a chain on which this marketplace pays sellers, so nobody ' +
    'could buy this listing: link one with POST /me/wallets, or keep the listing a draft',
  z.object({ networks: z.array(z.string()).describe('The chains on which sellers are paid, as CAIP-2 ids.') }),
  { nextAction: 'link_wallet' },
);

export const createListing = defineRequest({
  subject: 'rpc.catalog.create-listing.v1',
  answersSecret: true,
  input: z.object({
    pow_nonce: text(1, 64).describe('The solution of the listing proof-of-work.'),
    challenge: text(1, 64)
      .optional()
      .describe('The challenge that pow_nonce solves; the latest unused one when left out.'),
    ...listingFields,
    status: sellersStatus.default('active'),
    private_endpoint_url: privateEndpointUrl,
  }),
  /** `gateway_signing_secret` is shown here once, for per_call listings. */
  output: z.object({
    id,
    name: z.string(),
    slug: z.string(),
    provider_id: id,
    status: listingStatus,
    pricing_model: pricingModel,
    pricing_amount: z.number().describe('The price in US dollars.'),
    created_at: timestamp,
    gateway_signing_secret: z.string().optional(),
  }),
  refusals: {
    seller_role_required: sellerRoleRequired,
    proof_of_work_invalid: declareRefusal(
      'invalid',
      'pow_nonce does not solve the listing challenge: SHA-256(challenge + pow_nonce) must start with the given number of hex zeros',
      z.object({ difficulty: z.number().int() }),
      { nextAction: 'solve_proof_of_work' },
    ),
    challenge_invalid: declareRefusal(
      'invalid',
      'There is no unused, unexpired listing challenge for this nonce',
      z.object({}),
      { nextAction: 'request_new_challenge' },
    ),
    listing_limit_reached: listingLimitReached,
    text_invalid: textInvalid,
    schema_invalid: schemaInvalid,
    schema_checks_slow: schemaChecksSlow,
    category_not_found: declareRefusal('invalid', 'category_id names no category', z.object({}), {
      nextAction: 'fix_request',
    }),
    pricing_invalid: declareRefusal(
      'invalid',
      'The price does not fit the pricing model',
      z.object({ problem: z.string() }),
      { nextAction: 'fix_request' },
    ),
    private_endpoint_required: declareRefusal(
      'invalid',
      'private_endpoint_url is required on per_call listings, and on those with included_calls or included_units',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
    private_endpoint_unexpected: declareRefusal(
      'invalid',
      'private_endpoint_url belongs to per_call listings and to those with included_calls or included_units only',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
    payout_wallet_missing: payoutWalletMissing,
    endpoint_url_refused: endpointUrlRefusal,
  },
});

export const updateListing = defineRequest({
  subject: 'rpc.catalog.update-listing.v1',
  answersSecret: true,
  input: z.object({
    listing_id: id,
    ...changesOf(listingFields),
    status: sellersStatus.optional(),
    private_endpoint_url: privateEndpointUrl,
  }),
  /**
   * `gateway_signing_secret` is present only when this change made the listing per_call for the first time. It is shown
   * once.
   */
  output: listingDetail.extend({ gateway_signing_secret: z.string().optional() }),
  refusals: {
    listing_not_found: listingNotFound,
    not_owner: notOwner,
    listing_suspended: declareRefusal(
      'forbidden',
      'This listing is suspended and cannot be changed by its owner',
      z.object({ suspended_by: z.string() }),
      { nextAction: 'contact_operator' },
    ),
    suspended_by_owner: declareRefusal(
      'conflict',
      'A suspended listing goes back to draft before it becomes active',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
    text_invalid: textInvalid,
    schema_invalid: schemaInvalid,
    schema_checks_slow: schemaChecksSlow,
    category_not_found: createListing.refusals.category_not_found,
    pricing_invalid: createListing.refusals.pricing_invalid,
    private_endpoint_required: createListing.refusals.private_endpoint_required,
    private_endpoint_unexpected: createListing.refusals.private_endpoint_unexpected,
    payout_wallet_missing: payoutWalletMissing,
    endpoint_url_refused: endpointUrlRefusal,
  },
});

export const removeListing = defineRequest({
  subject: 'rpc.catalog.remove-listing.v1',
  input: z.object({ listing_id: id }),
  output: z.object({ id, deleted: z.boolean(), status: listingStatus.optional() }),
  refusals: { listing_not_found: listingNotFound, not_owner: notOwner },
});

/** A listing as it is shown to its subscribers, in every status. */
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

/**
 * The cards of the listings that exist, in no particular order. The edge requests them only for parties of a
 * subscription.
 */
export const getListingCards = defineRequest({
  subject: 'rpc.catalog.get-listing-cards.v1',
  repeatable: true,
  input: z.object({ ids: z.array(id).max(100) }),
  output: z.object({ listings: z.array(listingCard) }),
  refusals: {},
});

/** The part of a listing that the gateway needs to sell a call of it. */
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

/** An offering with what the seller has set of the schema and the example of a call's body and the schema of its answer, as JSON text. */
export const callableOffering = offering.extend({
  inputSchema: z.string().nullish(),
  exampleInput: z.string().nullish(),
  outputSchema: z.string().nullish(),
  formats: z.array(z.string()).optional(),
  deliveryType: deliveryType.optional(),
  requestFormats: z.array(z.string()).optional(),
  usage: usage.nullish(),
  includedCalls: z.number().int().nullish(),
  includedUnits: includedUnits.nullish(),
  freeCalls: z.number().int().nullish(),
  /**
   * The listing is off the market because of its seller's debt. Nothing is sold, but calls that were paid before are
   * delivered.
   */
  isSuspendedForDebt: z.boolean().optional(),
});
export type CallableOffering = z.output<typeof callableOffering>;

export const getOffering = defineRequest({
  subject: 'rpc.catalog.get-offering.v1',
  repeatable: true,
  input: z.object({ ref: z.string() }),
  output: callableOffering,
  refusals: { listing_not_found: listingNotFound },
});

/** `version` grows with every change of one listing; a consumer keeps the highest it saw. */
export const listingChanged = defineEvent({
  subject: 'evt.catalog.listing-changed.v1',
  payload: z.object({ ...offering.shape, version: z.number().int(), changedAt: timestamp }),
});

/** A listing was taken off the market. The event is not repeated while the listing is suspended. */
export const listingSuspended = defineEvent({
  subject: 'evt.catalog.listing-suspended.v1',
  payload: z.object({
    listingId: id,
    sellerId: id,
    suspendedBy: z.enum(['owner', 'operator', 'system']),
    suspendedAt: timestamp,
  }),
});

export const listingRemoved = defineEvent({
  subject: 'evt.catalog.listing-removed.v1',
  payload: z.object({ listingId: id, removedAt: timestamp }),
});

/** Names every former and current slug, so that caches by slug are invalidated too. */
export const listingTouched = defineSignal({
  subject: 'sig.catalog.listing-touched.v1',
  payload: z.object({ listingId: id, slugs: z.array(z.string()) }),
});

/** Like `registrationWorkSolved` of identity, but for the proof of work of a listing. */
export const listingWorkSolved = defineEvent({
  subject: 'evt.catalog.listing-work-solved.v1',
  payload: z.object({ accountId: id, difficulty: z.number().int(), solveMs: z.number().int(), solvedAt: timestamp }),
});
