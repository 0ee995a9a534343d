import type { OutputOf } from '@market/contracts';
import type { getEndpoint, rotateEndpointSecret, testEndpoint } from '@market/contracts/gateway';
import { EARLIER, LATER, LISTING_ID } from '../openapi/example-values.js';

export const endpointExample: OutputOf<typeof getEndpoint> = {
  listing_id: LISTING_ID,
  status: 'active',
  url_host: 'weather.seller.example',
  auth_header_name: 'X-Api-Key',
  has_auth_header: true,
  timeout_ms: 30_000,
  limits: {
    max_request_bytes: 262_144,
    max_response_bytes: 1_048_576,
    max_file_bytes: 33_554_432,
    idle_timeout_ms: 30_000,
    stream_timeout_ms: 600_000,
    job_deadline_seconds: 3_600,
    max_concurrency: 32,
    requests_per_minute: null,
  },
  signature: {
    scheme: 'standard-webhooks-v1',
    key_id: 'k_7Qp2xZ9',
    rotated_at: null,
    previous_secret_expires_at: null,
  },
  last_test: { at: LATER, ok: true, status_code: 200, latency_ms: 84 },
  consecutive_failures: 0,
  updated_at: EARLIER,
};

/** The gateway service's form of a result, with the seller's JSON as text. */
export const testOutcomeExample: OutputOf<typeof testEndpoint> = {
  success: true,
  seller_status_code: 200,
  latency_ms: 84,
  request_id: '019a9f4c-5a10-7c3e-8b7d-1f2e3d4c5b88',
  checks: [
    { name: 'reachable', ok: true, message: 'The endpoint was reached' },
    { name: 'in_time', ok: true, message: 'Answered in 84 ms' },
    { name: 'json', ok: true, message: 'The answer is JSON within the limits' },
    { name: 'status', ok: true, message: 'The answer has a 2xx status' },
  ],
  seller_response_json: '{"hours":[]}',
};

const { seller_response_json: _asText, ...outcome } = testOutcomeExample;

export const testExample = { ...outcome, seller_response: { hours: [] } };

export const rotatedExample: OutputOf<typeof rotateEndpointSecret> = {
  gateway_signing_secret: 'whsec_…shown once…',
  key_id: 'k_9Tb4vW1',
  previous_key_id: 'k_7Qp2xZ9',
  previous_secret_expires_at: LATER,
};
