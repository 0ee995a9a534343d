import type { OutputOf } from '@market/contracts';
import type {
  createListing,
  createListingChallenge,
  getListing,
  listCategories,
  ListingView,
} from '@market/contracts/catalog';
import { CATEGORY_ID, EARLIER, LISTING_REF, SELLER, SELLER_ID } from '../openapi/example-values.js';

export const categoryExample: OutputOf<typeof listCategories>['categories'][number] = {
  id: CATEGORY_ID,
  name: 'Data',
  slug: 'data',
  description: 'Facts about the world, fresh from their source',
  sort_order: 4,
};

export const listingExample: ListingView = {
  ...LISTING_REF,
  provider_id: SELLER_ID,
  description: 'Temperature, wind and rain for the next 48 hours at any coordinates, measured and modelled.',
  category_id: categoryExample.id,
  pricing_model: 'per_call',
  pricing_amount: 0.02,
  usage: null,
  included_calls: null,
  included_units: null,
  free_calls: 3,
  pricing_currency: 'USD',
  preferred_currency: 'USDC',
  delivery_type: 'api',
  auth_method: 'api_key',
  formats: ['json'],
  request_formats: ['json'],
  demo_endpoint: null,
  github_url: null,
  logo_url: null,
  expected_delivery: 'under 2 seconds',
  tags: ['weather', 'forecast'],
  language: 'en',
  input_schema: {
    type: 'object',
    properties: { lat: { type: 'number' }, lon: { type: 'number' } },
    required: ['lat', 'lon'],
  },
  example_input: { lat: 52.5, lon: 13.4 },
  output_schema: { type: 'object', properties: { hours: { type: 'array', items: { type: 'object' } } } },
  status: 'active',
  created_at: EARLIER,
  updated_at: EARLIER,
  provider: SELLER,
  category: { id: categoryExample.id, name: categoryExample.name, slug: categoryExample.slug },
  quality: {
    live: true,
    last_success_at: EARLIER,
    success_rate_7d: 0.9912,
    success_rate_30d: 0.9874,
    p50_ms_7d: 240,
    p95_ms_7d: 810,
    p50_ms_30d: 250,
    p95_ms_30d: 905,
    calls_7d: 310,
    calls_30d: 1204,
    buyers_30d: 41,
    buyers_success_rate_30d: 0.9861,
  },
  rating: { average: 4.5, count: 12, accuracy: 4.75, reliability: 4.5, value: 4.25 },
};

export const listingDetailExample: OutputOf<typeof getListing> = {
  ...listingExample,
  docs: 'POST {"lat": 52.5, "lon": 13.4}',
  example_outputs: [{ label: 'Berlin', content: '{"hours":[{"at":"2026-11-21T15:00Z","celsius":6.5}]}' }],
  risk_disclaimers: null,
  sla: null,
  gateway_url: `https://market.example/api/v1/gateway/${LISTING_REF.id}`,
  gateway_limits: {
    max_request_bytes: 262_144,
    max_response_bytes: 1_048_576,
    max_file_bytes: 33_554_432,
    idle_timeout_ms: 30_000,
    stream_timeout_ms: 600_000,
    job_deadline_seconds: 3_600,
    max_concurrency: 32,
    requests_per_minute: null,
  },
  endpoint_status: 'active',
};

export const createListingExample = {
  pow_nonce: '8f21c',
  name: LISTING_REF.name,
  description: listingExample.description,
  pricing_model: 'per_call',
  pricing_amount: 0.02,
  preferred_currency: 'USDC',
  tags: ['weather', 'forecast'],
  input_schema: listingExample.input_schema,
  example_input: listingExample.example_input,
  private_endpoint_url: 'https://weather.seller.example/hooks/market',
};

export const createdListingExample: OutputOf<typeof createListing> = {
  ...LISTING_REF,
  provider_id: SELLER_ID,
  status: 'active',
  pricing_model: 'per_call',
  pricing_amount: 0.02,
  created_at: EARLIER,
  gateway_signing_secret: 'whsec_…shown once…',
};

export const listingChallengeExample: OutputOf<typeof createListingChallenge> = {
  challenge: '9b3f5c1d7e2a4860c1f9e8d7b6a5948372615049f8e7d6c5b4a3928170615243',
  difficulty: 4,
  algorithm: 'sha256',
  hint: 'Find a nonce of 1 to 64 letters and digits for which SHA-256(challenge + nonce) starts with 4 hex zeros',
};

export const dayQualityExample = { day: '2026-11-21', calls: 120, success_rate: 0.9917, p50_ms: 212, p95_ms: 460 };
