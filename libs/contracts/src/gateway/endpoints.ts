import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest, defineSignal } from '../define.js';
import { deliveryType, id, jsonObject, text, timestamp, usage, wholeNumber } from '../shared/index.js';

export const endpointUrlRefusal = declareRefusal(
  'invalid',
  'private_endpoint_url is not an address the marketplace may call',
  z.object({ problem: z.string() }),
  { nextAction: 'fix_request' },
);

/** The refusals of a body with which no call of the listing can be made. */
export const bodyRefusals = {
  request_body_invalid: declareRefusal(
    'invalid',
    'The body must be one JSON object without repeated keys, nested at most 64 deep',
    z.object({ problem: z.enum(['invalid_json', 'not_an_object', 'too_deep', 'duplicate_key']) }),
    { nextAction: 'fix_request' },
  ),
  request_body_misfit: declareRefusal(
    'invalid',
    "The body does not fit the listing's input_schema; details.path says where, as a JSON Pointer, and details.problems names every place",
    z.object({
      path: z.string(),
      problem: z.string(),
      problems: z.array(z.object({ path: z.string(), problem: z.string() })),
    }),
    { nextAction: 'fix_request' },
  ),
  request_body_uncheckable: declareRefusal(
    'invalid',
    "This body cannot be checked against the listing's input_schema in time, and repeating it does not help; nothing was charged",
    z.object({}),
    { nextAction: 'fix_request' },
  ),
  input_schema_slow: declareRefusal(
    'rate-limited',
    "Bodies of yours have used the time for checks against this listing's input_schema; nothing was charged",
    z.object({ retry_after_seconds: z.number().int() }),
    { nextAction: 'retry_after_delay' },
  ),
  request_body_too_large: declareRefusal(
    'too-large',
    "The body is larger than the listing's limit",
    z.object({ max_request_bytes: z.number().int() }),
    { nextAction: 'fix_request' },
  ),
};

export const gatewayLimits = z.object({
  max_request_bytes: z.number().int(),
  max_response_bytes: z.number().int().describe('Of an answer that is JSON.'),
  max_file_bytes: z.number().int().describe('Of an answer that is a file or a stream.'),
  idle_timeout_ms: z.number().int().describe('Of a stream: between two events.'),
  stream_timeout_ms: z.number().int().describe('Of a stream: from its first event to its last.'),
  job_deadline_seconds: z.number().int().describe('Of a job: from the call to its delivery.'),
  max_concurrency: z.number().int(),
  requests_per_minute: z.number().int().nullable(),
});

export const endpointStatus = z.enum(['unverified', 'active', 'paused', 'failing']);

/** The endpoint without its URL's path, its credentials or its secret. */
export const endpointView = z.object({
  listing_id: id,
  status: endpointStatus,
  url_host: z.string(),
  auth_header_name: z.string().nullable(),
  has_auth_header: z.boolean(),
  timeout_ms: z.number().int(),
  limits: gatewayLimits,
  signature: z.object({
    scheme: z.literal('standard-webhooks-v1'),
    key_id: z.string(),
    rotated_at: timestamp.nullable(),
    previous_secret_expires_at: timestamp.nullable(),
  }),
  last_test: z
    .object({ at: timestamp, ok: z.boolean(), status_code: z.number().int().nullable(), latency_ms: z.number().int() })
    .nullable(),
  consecutive_failures: z.number().int(),
  updated_at: timestamp,
});

/** The refusals of strangers. A listing that its seller alone can see is reported as missing, so that drafts stay private. */
const refusalsOfStrangers = {
  endpoint_not_found: declareRefusal(
    'not-found',
    'You have no such listing, or it has no private endpoint',
    z.object({}),
    { nextAction: 'choose_another_listing' },
  ),
  not_owner: declareRefusal('forbidden', 'Only the owner of a listing may do this', z.object({})),
};

/** Called by the catalog before it stores a per_call listing. Repeating it for a listing replaces only the URL. */
export const provisionEndpoint = defineRequest({
  subject: 'rpc.gateway.provision-endpoint.v1',
  input: z.object({ listingId: id, sellerId: id, url: z.string().max(2048) }),
  /** `signingSecret` is present when this call created the endpoint. */
  output: z.object({ signingSecret: z.string().optional(), status: endpointStatus, limits: gatewayLimits }),
  refusals: { endpoint_url_refused: endpointUrlRefusal },
});

export const getEndpoint = defineRequest({
  subject: 'rpc.gateway.get-endpoint.v1',
  repeatable: true,
  input: z.object({ listing_id: id }),
  output: endpointView,
  refusals: refusalsOfStrangers,
});

export const updateEndpoint = defineRequest({
  subject: 'rpc.gateway.update-endpoint.v1',
  input: z.object({
    listing_id: id,
    private_endpoint_url: text(1, 2_048).optional(),
    auth_header: z
      .strictObject({ name: text(1, 128), value: text(1, 4_096) })
      .nullable()
      .optional()
      .describe('A header every forwarded call carries; null removes it.'),
    timeout_ms: wholeNumber(1_000, 120_000)
      .optional()
      .describe('The whole call in milliseconds; of a stream, up to its first event.'),
    limits: z
      .strictObject({
        max_request_bytes: wholeNumber(1_024, 1_048_576),
        max_response_bytes: wholeNumber(1_024, 33_554_432).describe(
          'Of any answer; JSON is never more than 4,194,304. Until it is set: JSON 1,048,576, a file or stream 33,554,432.',
        ),
        idle_timeout_ms: wholeNumber(1_000, 300_000).describe(
          'Of a stream, between two events; 30,000 until it is set.',
        ),
        stream_timeout_ms: wholeNumber(1_000, 3_600_000).describe(
          'Of a stream, from its first event to its last; 600,000 until it is set.',
        ),
        max_concurrency: wholeNumber(1, 256),
        job_deadline_seconds: wholeNumber(1, 86_400).describe(
          'Of a job, from the call to its delivery; 3,600 until it is set. A listing that sets it answers by jobs, as does ' +
            'one whose delivery_type is webhook or batch: its buyers sign for as long.',
        ),
        requests_per_minute: wholeNumber(1, 60_000)
          .nullable()
          .describe('null: as many as max_concurrency lets through.'),
      })
      .partial()
      .optional(),
    status: z.enum(['active', 'paused']).optional(),
  }),
  output: endpointView,
  refusals: {
    ...refusalsOfStrangers,
    endpoint_url_refused: endpointUrlRefusal,
    auth_header_refused: declareRefusal(
      'invalid',
      'auth_header is not a header the marketplace may send',
      z.object({ problem: z.string() }),
      { nextAction: 'fix_request' },
    ),
  },
});

export const testEndpoint = defineRequest({
  subject: 'rpc.gateway.test-endpoint.v1',
  waitsForSeller: true,
  input: z.object({
    listing_id: id,
    body: jsonObject(65_536)
      .optional()
      .describe("What the test sends; it must fit the listing's input_schema. Its example_input when left out."),
  }),
  output: z.object({
    success: z.boolean(),
    seller_status_code: z.number().int().nullable(),
    latency_ms: z.number().int(),
    request_id: z.string(),
    checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.string() })),
    /** The seller's JSON text, unchanged; null if there was none. */
    seller_response_json: z.string().nullable(),
  }),
  refusals: {
    ...refusalsOfStrangers,
    ...bodyRefusals,
    too_many_tests: declareRefusal(
      'rate-limited',
      'At most 10 endpoint tests a minute for a listing',
      z.object({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay' },
    ),
  },
});

export const rotateEndpointSecret = defineRequest({
  subject: 'rpc.gateway.rotate-endpoint-secret.v1',
  answersSecret: true,
  input: z.object({
    listing_id: id,
    overlap_seconds: wholeNumber(0, 604_800).describe('How many seconds calls carry both signatures.').default(86_400),
  }),
  /** `gateway_signing_secret` is shown here once. */
  output: z.object({
    gateway_signing_secret: z.string(),
    key_id: z.string(),
    previous_key_id: z.string(),
    previous_secret_expires_at: timestamp,
  }),
  refusals: refusalsOfStrangers,
});

/**
 * How long the jobs of listings may take, in the order asked for; null for one that does not say that it answers by jobs,
 * as its seller does with a deadline of the endpoint, or with its delivery type.
 */
export const findJobSeconds = defineRequest({
  subject: 'rpc.gateway.find-job-seconds.v1',
  repeatable: true,
  input: z.object({
    listings: z
      .array(
        z.object({
          listingId: id,
          deliveryType,
          usage: usage.nullable().default(null),
          formats: z.array(z.string()).default([]),
        }),
      )
      .max(100),
  }),
  output: z.object({ jobSeconds: z.array(z.number().int().positive().nullable()) }),
  refusals: {},
});

/** `isFound`: calls or tests showed that the endpoint is in this state. Otherwise its owner changed it. */
export const endpointChanged = defineEvent({
  subject: 'evt.gateway.endpoint-changed.v1',
  payload: z.object({
    listingId: id,
    sellerId: id,
    isFound: z.boolean(),
    version: z.number().int(),
    status: endpointStatus,
    limits: gatewayLimits,
    changedAt: timestamp,
  }),
});

export const endpointTouched = defineSignal({
  subject: 'sig.gateway.endpoint-touched.v1',
  payload: z.object({ listingId: id }),
});
