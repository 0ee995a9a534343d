import type { ProofOfWorkPuzzle } from '../proof-of-work.js';
import type { ListingRef, PageQuery } from './envelope.js';

export type PricingModel = 'free' | 'per_call' | 'monthly' | 'yearly' | 'usage_tiered';
export type PaymentCurrency = 'USDC' | 'ETH' | 'SOL';
export type DeliveryType = 'api' | 'webhook' | 'streaming' | 'batch' | 'file';
export type AuthMethod = 'api_key' | 'oauth2' | 'bearer_token' | 'none';
export type ListingStatus = 'draft' | 'active' | 'suspended';

export interface Category {
  id: string;
  name: string;
  slug: string;
  description: string;
  sort_order: number;
}

export interface ListingChallenge extends ProofOfWorkPuzzle {
  algorithm: string;
  hint: string;
}

/** Everything of a new listing but its proof of work, which `listings.create` solves. */
export interface CreateListing {
  name: string;
  description: string;
  category_id?: string;
  pricing_model?: PricingModel;
  /** USD, at most six decimals. */
  pricing_amount?: number;
  pricing_currency?: string;
  preferred_currency?: PaymentCurrency;
  delivery_type?: DeliveryType;
  auth_method?: AuthMethod;
  formats?: string[];
  docs?: string;
  connection_instructions?: string;
  example_outputs?: { label: string; content: string }[];
  demo_endpoint?: string;
  github_url?: string;
  logo_url?: string;
  expected_delivery?: string;
  risk_disclaimers?: string;
  sla?: string;
  tags?: string[];
  status?: 'draft' | 'active';
  /** Required for per_call; never returned. */
  private_endpoint_url?: string;
}

export interface CreatedListing extends ListingRef {
  provider_id: string;
  status: ListingStatus;
  pricing_model: PricingModel;
  pricing_amount: number;
  created_at: string;
  /** per_call only, shown once: `whsec_<base64>`. */
  gateway_signing_secret?: string;
}

export type UpdateListing = Partial<
  Pick<CreateListing, 'name' | 'description' | 'pricing_model' | 'pricing_amount' | 'status' | 'tags' | 'private_endpoint_url'>
>;

export interface ListingProvider {
  id: string;
  display_name: string;
  avatar_url: string | null;
  account_type: string;
  is_verified: boolean;
}

/** A listing as search shows it. */
export interface Listing extends ListingRef {
  description: string;
  provider_id: string;
  category_id: string | null;
  pricing_model: PricingModel;
  pricing_amount: number;
  pricing_currency: string;
  preferred_currency: PaymentCurrency;
  delivery_type: DeliveryType;
  auth_method: AuthMethod;
  formats: string[];
  demo_endpoint: string | null;
  github_url: string | null;
  logo_url: string | null;
  expected_delivery: string | null;
  tags: string[];
  status: ListingStatus;
  created_at: string;
  provider: ListingProvider;
  category: { id: string; name: string; slug: string } | null;
}

/** Means of all reviews, 1 to 5. */
export interface ListingRating {
  average: number;
  count: number;
  accuracy: number;
  reliability: number;
  value: number;
}

/** A listing in full; the last three fields only where it is per_call. */
export interface ListingDetail extends Listing {
  docs: string | null;
  /** Only to its owner. */
  connection_instructions?: string | null;
  example_outputs: { label: string; content: string }[];
  risk_disclaimers: string | null;
  sla: string | null;
  /** Null until the first review. */
  rating: ListingRating | null;
  gateway_url?: string;
  gateway_limits?: EndpointLimits;
  endpoint_status?: EndpointStatus;
}

export interface UpdatedListing extends ListingDetail {
  /** Shown once, when this change made the listing per_call for the first time. */
  gateway_signing_secret?: string;
}

export interface ListingQuery extends PageQuery {
  /** Full text. */
  q?: string;
  /** A category's id. */
  category?: string;
  pricing_model?: PricingModel;
  delivery_type?: DeliveryType;
  /** USD, inclusive. */
  min_price?: number | string;
  max_price?: number | string;
  sort?: 'newest' | 'popular' | 'price_low' | 'price_high';
}

/** A draft is removed; an active listing is suspended instead. */
export interface RemovedListing {
  id: string;
  deleted: boolean;
  status?: ListingStatus;
}

export type EndpointStatus = 'unverified' | 'active' | 'paused' | 'failing';

export interface EndpointLimits {
  max_request_bytes: number;
  max_response_bytes: number;
  max_concurrency: number;
  requests_per_minute: number | null;
}

export interface Endpoint {
  listing_id: string;
  status: EndpointStatus;
  url_host: string;
  auth_header_name: string | null;
  has_auth_header: boolean;
  timeout_ms: number;
  limits: EndpointLimits;
  signature: {
    scheme: 'standard-webhooks-v1';
    key_id: string;
    rotated_at: string | null;
    previous_secret_expires_at: string | null;
  };
  last_test: { at: string; ok: boolean; status_code: number | null; latency_ms: number } | null;
  consecutive_failures: number;
  updated_at: string;
}

export interface UpdateEndpoint {
  private_endpoint_url?: string;
  /** Sent to the seller with every call; `null` removes it. */
  auth_header?: { name: string; value: string } | null;
  /** 1000 to 120000. */
  timeout_ms?: number;
  limits?: Partial<EndpointLimits>;
  status?: 'active' | 'paused';
}

export interface EndpointTest {
  success: boolean;
  seller_status_code: number | null;
  latency_ms: number;
  request_id: string;
  checks: { name: string; ok: boolean; message: string }[];
  seller_response: unknown;
}

export interface RotatedSecret {
  gateway_signing_secret: string;
  key_id: string;
  previous_key_id: string;
  /** Until then the calls carry both signatures. */
  previous_secret_expires_at: string;
}
