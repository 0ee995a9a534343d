import { z } from 'zod';
import { callableOffering } from '../catalog/listings.js';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { findPayerWallet } from '../identity/wallets.js';
import { openStream, storedContent } from './contents.js';
import { jobProgress, openJob } from './jobs.js';
import { includedUnits } from '../shared/index.js';
import { bodyRefusals } from './endpoints.js';
import {
  askedPayment,
  authorizedTransfer,
  authorizePayment,
  createOffer,
  keylessOffer,
  openKeylessPayment,
  pendingReason,
} from '../payments-ledger/offers.js';
import { includedCalls } from '../payments-ledger/quotas.js';
import { currency, cursorPageOf, cursorRequest, id, relayRequestId, timestamp, used } from '../shared/index.js';

/**
 * Names the marketplaces that a request to a seller has passed through, comma separated, the latest last. Like CDN-Loop
 * (RFC 8586), each adds its own name to those that came with the call, and refuses a call that names it already.
 */
export const HOP_HEADER = 'X-Market-Hop';
/** The name of this marketplace in the header. */
export const hopOf = (publicUrl: string): string => new URL(publicUrl).host;

/** How many units a call used that costs what it uses, as its seller says; of a stream the last event says it. */
export const UNITS_HEADER = 'X-Market-Units';
/** What the 402 of a plan says. */
const planDetails = z.object({
  listing_id: id,
  price_usd: z.number().describe('Of a period.'),
  included_calls: z.number().int().nullable().describe('Of a period; null if it includes units.'),
  included_units: includedUnits.nullable(),
  included: includedCalls,
});

const sentBody = {
  body: z.string(),
  /** As the buyer sent it, if the body is no JSON. */
  contentType: z.string().max(200).optional(),
};

/**
 * The paid call. `body` is the buyer's JSON text exactly as it arrived, or, with a `contentType`, the base64 of a body of
 * that type. It is digested, signed and forwarded unchanged, and never parsed and serialized again. The Idempotency-Key is
 * in the request context; its fingerprint is computed by the gateway.
 */
export const executeCall = defineRequest({
  subject: 'rpc.gateway.execute-call.v1',
  waitsForSeller: true,
  input: z.object({
    listingRef: z.string().min(1).max(150),
    ...sentBody,
    relayRequestId: relayRequestId.optional(),
    originCurrency: currency.optional(),
    originChainId: z.string().max(64).optional(),
    originWalletId: id.optional(),
    paymentScheme: z.string().max(64).optional(),
    paymentNetwork: z.string().max(128).optional(),
    /** A decoded `PAYMENT-SIGNATURE` as JSON text; its offer is named by `relayRequestId`. */
    authorization: z.string().max(16_384).optional(),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('payment_required'),
      payment: askedPayment,
      /** Why the relay request id that was sent does not pay this call. */
      reason: z
        .enum(['unpaid', 'underpaid', 'offer_expired', 'payment_failed', 'refund_due', 'refunded', 'cancelled'])
        .optional(),
      received: z.string().optional(),
      missing: z.string().optional(),
      /** Why the signed authorization does not pay, found before the call or at settlement. Nothing was charged. */
      rejection: z.object({ reason: z.string(), at: z.enum(['verification', 'settlement']) }).optional(),
    }),
    z.object({
      outcome: z.literal('pending'),
      relayRequestId: relayRequestId.optional(),
      retryAfterSeconds: z.number().int(),
      /** `call_in_progress`: the payment is valid, and another request is making the call. */
      reason: z.enum([...pendingReason.options, 'call_in_progress']),
    }),
    /**
     * `dataJson` is the gateway result as JSON text, with the same bytes for every request. Its `seller_response` is its
     * last member; of a file, it has all but what the edge adds to it.
     */
    z.object({
      outcome: z.literal('answered'),
      dataJson: z.string(),
      /** The file or stream that the seller answered with. */
      content: storedContent.optional(),
      idempotencyReplayed: z.boolean(),
      /** The transfer of a signed authorization, if one pays the call. */
      transfer: authorizedTransfer.optional(),
    }),
    /** The seller answers with a stream, whose first event has come and which is paid for. */
    z.object({
      outcome: z.literal('streaming'),
      stream: openStream,
      transfer: authorizedTransfer.omit({ receipt: true }).optional(),
    }),
    /** The seller has taken the call as a job, and delivers later. */
    z.object({
      outcome: z.literal('working'),
      job: openJob,
      transfer: authorizedTransfer.omit({ receipt: true }).optional(),
    }),
  ]),
  refusals: {
    listing_not_found: declareRefusal('not-found', 'No such listing', z.object({}), {
      nextAction: 'choose_another_listing',
    }),
    listing_not_per_call: declareRefusal(
      'invalid',
      'Only per_call listings, and plans with included_calls or included_units for their subscribers, are called through the gateway',
      z.object({}),
      { nextAction: 'choose_another_listing' },
    ),
    subscription_required: declareRefusal(
      'payment-required',
      'A call of this listing is included in a period of its subscription, and you have none: POST /subscribe',
      planDetails,
      { nextAction: 'subscribe', keep: ['Idempotency-Key'] },
    ),
    quota_used_up: declareRefusal(
      'payment-required',
      'What the period of your subscription includes is used up: POST /subscribe starts a new one now',
      planDetails,
      { nextAction: 'subscribe', keep: ['Idempotency-Key'] },
    ),
    quota_in_use: declareRefusal(
      'rate-limited',
      'Calls under way take all that the period of your subscription still includes; some may be given back when they end',
      planDetails.extend({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['Idempotency-Key'] },
    ),
    listing_unavailable: declareRefusal(
      'conflict',
      'The listing is not active now; the payment is untouched and refunded if the call is not delivered in time',
      z.object({}),
      { nextAction: 'retry_after_delay', keep: ['X-Market-Relay-Request-Id'] },
    ),
    own_listing: declareRefusal(
      'forbidden',
      'An agent does not buy from itself; use POST /listings/{id}/endpoint/test',
      z.object({}),
    ),
    endpoint_unavailable: declareRefusal(
      'invalid',
      'The seller is not taking calls on this listing now',
      z.object({ endpoint_status: z.string() }),
      { nextAction: 'choose_another_listing' },
    ),
    ...bodyRefusals,
    format_not_taken: declareRefusal(
      'unsupported-type',
      'The listing takes no body of this Content-Type; request_formats says which; nothing was charged',
      z.object({ request_formats: z.array(z.string()) }),
      { nextAction: 'fix_request' },
    ),
    listing_busy: declareRefusal(
      'rate-limited',
      'The seller takes no more calls at this moment; a payment is untouched',
      z.object({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['X-Market-Relay-Request-Id', 'Idempotency-Key'] },
    ),
    storage_full: declareRefusal(
      'rate-limited',
      'The files of calls of the buyer or of the seller take as much room as is kept for an account; a payment is untouched',
      z.object({ of: z.enum(['buyer', 'seller']), retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['X-Market-Relay-Request-Id', 'PAYMENT-SIGNATURE', 'Idempotency-Key'] },
    ),
    too_many_jobs: declareRefusal(
      'rate-limited',
      'The seller works on as many jobs of this listing, or of yours, as it may; a payment is untouched',
      z.object({ limit: z.number().int(), retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['X-Market-Relay-Request-Id', 'PAYMENT-SIGNATURE', 'Idempotency-Key'] },
    ),
    overloaded: declareRefusal(
      'unavailable',
      'The marketplace has as many active calls as it can carry at this moment; nothing was done, and a payment is untouched',
      z.object({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['X-Market-Relay-Request-Id', 'PAYMENT-SIGNATURE', 'Idempotency-Key'] },
    ),
    /** A paid call of an endpoint that is paused, gone, or failing and not due for the next try. */
    delivery_postponed: declareRefusal(
      'unavailable',
      'The seller does not take this call now; the payment stays valid for it, and is owed back if the call is not delivered in time',
      z.object({ endpoint_status: z.string(), retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['X-Market-Relay-Request-Id', 'Idempotency-Key'] },
    ),
    result_not_kept: declareRefusal(
      'not-found',
      'This call was delivered and charged; its result is no longer stored',
      z.object({}),
      {
        nextAction: 'request_new_payment_requirements',
        drop: ['X-Market-Relay-Request-Id', 'Idempotency-Key'],
        useNewIdempotencyKey: true,
      },
    ),
    payment_route_mismatch: declareRefusal(
      'invalid',
      "X-Market-Payment-Scheme or X-Market-Payment-Network is not that of this call's payment requirements; a payment is untouched",
      z.object({ scheme: z.string(), network: z.string() }),
      { nextAction: 'fix_request', keep: ['X-Market-Relay-Request-Id'] },
    ),
    wallet_not_found: findPayerWallet.refusals.wallet_not_found,
    wallet_chain_mismatch: declareRefusal(
      'invalid',
      'The wallet of X-Market-Origin-Wallet-Id cannot pay on the chain of this payment route',
      z.object({ wallet_chain_type: z.string(), network: z.string() }),
      { nextAction: 'choose_another_payment_route', drop: ['X-Market-Origin-Wallet-Id'] },
    ),
    payment_not_found: authorizePayment.refusals.payment_not_found,
    listing_mismatch: authorizePayment.refusals.listing_mismatch,
    too_many_unsettled: authorizePayment.refusals.too_many_unsettled,
    request_body_mismatch: authorizePayment.refusals.request_body_mismatch,
    payment_route_minimum_not_met: createOffer.refusals.payment_route_minimum_not_met,
    payment_route_unavailable: createOffer.refusals.payment_route_unavailable,
    seller_not_payable: createOffer.refusals.seller_not_payable,
    payer_wallet_required: createOffer.refusals.payer_wallet_required,
    budget_exceeded: createOffer.refusals.budget_exceeded,
    too_many_open_offers: createOffer.refusals.too_many_open_offers,
    payment_provider_unavailable: createOffer.refusals.payment_provider_unavailable,
    payment_provider_refused: createOffer.refusals.payment_provider_refused,
  },
});

const { listing_unavailable, delivery_postponed, listing_busy, result_not_kept, ...ofCalls } = executeCall.refusals;
const keepSignature = { keep: ['PAYMENT-SIGNATURE'] };

/**
 * A call without a key by an x402 client. The wallet that signs the payment is the buyer. `authorization` is the same
 * as in `executeCall`. Without it the answer states what to pay, and nothing is stored. A body that
 * would be refused does not change the price.
 */
export const executeKeylessCall = defineRequest({
  subject: 'rpc.gateway.execute-keyless-call.v1',
  waitsForSeller: true,
  input: z.object({
    listingRef: z.string().min(1).max(150),
    ...sentBody,
    authorization: z.string().max(16_384).optional(),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('payment_required'),
      listing: callableOffering.pick({
        name: true,
        slug: true,
        inputSchema: true,
        exampleInput: true,
        outputSchema: true,
      }),
      /** At least one offer; each is paid on a different chain. */
      offers: z.array(keylessOffer),
      /** The signature of each offer, in the same order. */
      signatures: z.array(z.string()),
      /** Why a call with this body would be refused, with the reason and the details of that refusal. */
      misfit: z.looseObject({ reason: z.string() }).optional(),
      reason: executeCall.output.options[0].shape.reason,
      rejection: executeCall.output.options[0].shape.rejection,
    }),
    executeCall.output.options[1],
    executeCall.output.options[2],
    executeCall.output.options[3],
    executeCall.output.options[4],
  ]),
  refusals: {
    listing_not_found: ofCalls.listing_not_found,
    listing_not_per_call: ofCalls.listing_not_per_call,
    listing_is_free: declareRefusal(
      'invalid',
      'Calls of this listing cost nothing and need an API key: register, then POST /gateway/{listing}',
      z.object({}),
      { nextAction: 'register' },
    ),
    keyless_payment_unavailable: declareRefusal(
      'invalid',
      'No signed payment is taken for this price: register, then POST /gateway/{listing}',
      z.object({}),
      { nextAction: 'register' },
    ),
    seller_not_payable: ofCalls.seller_not_payable,
    endpoint_unavailable: ofCalls.endpoint_unavailable,
    own_listing: openKeylessPayment.refusals.own_listing,
    too_many_unsettled: ofCalls.too_many_unsettled,
    wallet_is_a_humans: openKeylessPayment.refusals.wallet_is_a_humans,
    wallet_cannot_pay: openKeylessPayment.refusals.wallet_cannot_pay,
    request_body_invalid: ofCalls.request_body_invalid,
    request_body_misfit: ofCalls.request_body_misfit,
    request_body_uncheckable: ofCalls.request_body_uncheckable,
    input_schema_slow: ofCalls.input_schema_slow,
    request_body_too_large: ofCalls.request_body_too_large,
    format_not_taken: ofCalls.format_not_taken,
    request_body_mismatch: declareRefusal(
      'conflict',
      'This signature pays for another request body; the payment is untouched: repeat the body it ' +
        'was first sent with, of multipart/form-data with the same boundary',
      z.object({}),
      { nextAction: 'fix_request', ...keepSignature },
    ),
    listing_mismatch: declareRefusal(
      'conflict',
      'This signature pays for another listing; the payment is untouched',
      z.object({}),
      { nextAction: 'fix_request', ...keepSignature },
    ),
    listing_unavailable: { ...listing_unavailable, recovery: { nextAction: 'retry_after_delay', ...keepSignature } },
    listing_busy: { ...listing_busy, recovery: { nextAction: 'retry_after_delay', ...keepSignature } },
    storage_full: ofCalls.storage_full,
    too_many_jobs: ofCalls.too_many_jobs,
    overloaded: ofCalls.overloaded,
    delivery_postponed: { ...delivery_postponed, recovery: { nextAction: 'retry_after_delay', ...keepSignature } },
    result_not_kept: {
      ...result_not_kept,
      recovery: { nextAction: 'request_new_payment_requirements', drop: ['PAYMENT-SIGNATURE'] },
    },
  },
});

/** A request to the seller. If its process stopped before it had an answer, the request is not recorded. */
export const callAttempt = z.object({
  started_at: timestamp,
  seller_status_code: z.number().int().nullable(),
  latency_ms: z.number().int(),
  outcome: z.string().describe('delivered, or why it was not.'),
});

export const gatewayRequestStatus = z
  .enum([
    'payment_required',
    'payment_pending',
    'paid',
    'forwarding',
    'settling',
    'succeeded',
    'seller_failed',
    'seller_refused',
    'refund_due',
    'refunded',
    'expired',
  ])
  .describe(
    'paid: the money is there, and the call was not delivered yet. settling: the answer is stored, and its charge is not ' +
      'booked yet. refund_due: what was paid is owed back, and was not sent yet.',
  );

/**
 * A call with the ids of its parties; the edge adds their display names. The seller reads null for the relay request
 * id. It also reads null for the transaction hash, which names the buyer's wallet, until the call is charged. The
 * seller reads `request_digest` once the request was forwarded, the buyer `response_digest` once the answer is settled.
 */
export const gatewayRequestView = z.object({
  id,
  request_id: z.string(),
  listing: z.object({ id, name: z.string(), slug: z.string() }),
  role: z.enum(['buyer', 'seller']),
  buyer_id: id,
  seller_id: id,
  status: gatewayRequestStatus,
  billable: z.boolean().nullable(),
  charged_amount: z
    .object({
      amount_cents: z
        .number()
        .describe(
          'The amount in cents of `currency`, with fractions down to a ten-thousandth of a cent; 0 if nothing was charged.',
        ),
      currency: z.literal('USD').describe('The currency of the cents.'),
    })
    .describe('What the buyer was charged for the call.'),
  fees: z
    .object({
      fee_rate: z
        .number()
        .describe('The share of the price that the marketplace keeps, as a fraction: 0.05 is five percent.'),
      fee_amount_cents: z.number().describe('The fee of the marketplace in US cents; part of the charge.'),
      seller_receives_cents: z.number().describe('The charge less the fee, in US cents.'),
    })
    .describe('How the charge is shared.'),
  usage: used
    .nullable()
    .describe('What the call used, where that makes its price; null before its seller has said it.'),
  payment: z
    .object({
      provider: z.string(),
      scheme: z.string(),
      network: z.string(),
      relay_request_id: z.string().nullable(),
      transaction_hash: z.string().nullable(),
    })
    .nullable(),
  refund: z
    .object({ status: z.enum(['refund_due', 'refunded']), transaction_hash: z.string().nullable() })
    .nullable()
    .describe('Of a call that was paid and not delivered; GET /refunds has amount and wallet.'),
  seller_status_code: z.number().int().nullable(),
  latency_ms: z.number().int().nullable(),
  error_code: z.string().nullable(),
  request_digest: z.string().nullable(),
  response_digest: z.string().nullable(),
  kind: z
    .enum(['json', 'file', 'stream', 'job'])
    .nullable()
    .describe(
      'What the seller answered with, job if it took the call to deliver later; null while it has not answered.',
    ),
  content_type: z.string().nullable().describe('Of a file or stream, as the seller sent it.'),
  size: z.number().int().nullable().describe('Of a file or stream, in bytes.'),
  progress: jobProgress.nullable().describe('Of a job: what its seller said last.'),
  deadline: timestamp.nullable().describe('Of a job: until when it may be delivered.'),
  retry_after_seconds: z.number().int().nullable().describe('Of a job that is open: when to ask again.'),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
});

export const gatewayRequestDetail = gatewayRequestView.extend({
  attempts: z.array(callAttempt).describe('Oldest first; of those that failed the latest 20.'),
});

export const listGatewayRequests = defineRequest({
  subject: 'rpc.gateway.list-gateway-requests.v1',
  repeatable: true,
  input: z.object({
    role: z.enum(['buyer', 'seller', 'all']).default('all'),
    status: gatewayRequestStatus.optional(),
    listing_id: id.optional(),
    from: timestamp.optional(),
    to: timestamp.optional(),
    ...cursorRequest,
  }),
  output: cursorPageOf(gatewayRequestView),
  refusals: {},
});

export const getGatewayRequest = defineRequest({
  subject: 'rpc.gateway.get-gateway-request.v1',
  repeatable: true,
  input: z.object({ requestId: id }),
  output: gatewayRequestDetail,
  refusals: { gateway_request_not_found: declareRefusal('not-found', 'No such gateway request', z.object({})) },
});

/** A call that failed because the seller was not reached or gave no usable answer. A refusal (4xx) is not a failure. */
export const callFailed = defineEvent({
  subject: 'evt.gateway.call-failed.v1',
  payload: z.object({
    gatewayRequestId: id,
    attempt: z.number().int(),
    buyerId: id,
    sellerId: id,
    listingId: id,
    isPaid: z.boolean(),
    reason: z.string(),
    sellerStatusCode: z.number().int(),
    latencyMs: z.number().int(),
    at: timestamp,
  }),
});
