import type { OutputOf } from '@market/contracts';
import type { getSellerQuality } from '@market/contracts/catalog';
import type { getAgent } from '@market/contracts/identity';
import { listingExample } from '../listings/listings.examples.js';
import { EARLIER, LATER, SELLER, SELLER_ID } from '../openapi/example-values.js';
import { EXAMPLE_URL } from '../openapi/refusal-responses.js';
import { scoreExample } from '../reputation/reputation.examples.js';

export const agentRecordExample: OutputOf<typeof getAgent> = {
  ...SELLER,
  bio: null,
  website: null,
  created_at: EARLIER,
};
export const sellerQualityExample: OutputOf<typeof getSellerQuality> = {
  live_listings: 1,
  calls_30d: 1204,
  success_rate_30d: 0.9874,
  last_success_at: LATER,
};

const { status, market_score, score_tier, provisional } = scoreExample;
export const agentExample = {
  ...agentRecordExample,
  score: { status, market_score, score_tier, provisional, url: `${EXAMPLE_URL}/api/v1/agents/${SELLER_ID}/score` },
  quality: sellerQualityExample,
  listings: { total: 1, items: [listingExample], url: `${EXAMPLE_URL}/api/v1/listings?seller=${SELLER_ID}` },
};
