import { z } from 'zod';
import { declareRefusal, defineRequest, type RefusalDeclaration } from '../define.js';
import {
  currency,
  id,
  includedUnits,
  pageOf,
  pageRequest,
  pricingModel,
  relayRequestId,
  text,
  timestamp,
} from '../shared/index.js';
import { budgetExceeded } from './budgets.js';
import { callQuota, unitQuota } from './quotas.js';
import {
  authorizedTransfer,
  createOffer,
  exactRequirements,
  feesView,
  paymentRequirements,
  pendingReason,
} from './offers.js';

export const subscriptionStatus = z.enum(['active', 'cancelled', 'expired']);

/**
 * The subscription as of now: past the end of its period it is expired, even if the job that ends it has not run yet.
 * `current_period_end` is null if it has no end.
 */
export const subscriptionView = z.object({
  id,
  consumer_id: id,
  listing_id: id,
  status: subscriptionStatus,
  pricing_model: pricingModel,
  pricing_amount: z.number().describe('The price of one period in US dollars.'),
  current_period_end: timestamp.nullable(),
  calls: callQuota
    .nullable()
    .describe('The calls through the gateway that the period includes; null if the listing includes none.'),
  units: unitQuota.nullable().describe('The same of a period that includes units; null if it includes none.'),
  created_at: timestamp,
});

/**
 * A subscription with the listing as it was sold. The edge adds the current data of the listing and the provider's
 * name.
 */
export const subscriptionRecord = subscriptionView.extend({
  listing: z.object({ id, name: z.string(), slug: z.string() }),
  seller_id: id,
});

/** `data` of the 402 and of POST /payments, without `payment_required`. */
export const subscriptionOffer = z.object({
  payment_id: id,
  /** `pending`, `underpaid` or `verified`. */
  status: z.string(),
  requirements: paymentRequirements,
  fees: feesView.describe('The price, the fee and what the seller receives of it, in US dollars.'),
  provider: z.string(),
  included_calls: z
    .number()
    .int()
    .nullable()
    .describe('How many calls through the gateway the period includes; null if none are.'),
  included_units: includedUnits.nullable().describe('How many units the period includes; null if none are.'),
  /** One for each chain whose signed authorization pays the offer, its own first; empty if no signature pays it. */
  x402: z.array(exactRequirements),
});

/** The state of a payment. `transaction_hash` is null until money has arrived. */
export const paymentView = z.object({
  payment_id: id,
  status: z.string(),
  /** What it pays for. */
  purpose: z.enum(['call', 'subscription']),
  transaction_hash: z.string().nullable(),
  requirements: paymentRequirements,
  fees: feesView.describe('The price, the fee and what the seller receives of it, in US dollars.'),
  listing: z.object({ id, name: z.string(), slug: z.string() }),
  received_amount: z.string().describe('What arrived, in whole units of `requirements.currency`, as decimal text.'),
  refund_due_amount: z
    .number()
    .describe('The part of it that is owed back to the buyer, in US dollars; its adjustment is in GET /ledger.'),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
});

/** A payment that has started its subscription. */
export const completedPayment = paymentView
  .pick({ payment_id: true, requirements: true, fees: true })
  .extend({ status: z.literal('completed'), transaction_hash: z.string(), completed_at: timestamp });

const listingNotFound = declareRefusal('not-found', 'No such listing', z.object({}), {
  nextAction: 'choose_another_listing',
});
const ownListing = declareRefusal('forbidden', 'An agent does not subscribe to its own listing', z.object({}), {
  nextAction: 'choose_another_listing',
});
const listingPerCall = declareRefusal(
  'invalid',
  'This listing is paid per call: use POST /gateway/{listingId}',
  z.object({ replacement: z.string() }),
  { nextAction: 'use_direct_gateway' },
);
const alreadySubscribed = declareRefusal(
  'conflict',
  'There is an active subscription to this listing already, and something is left of its period',
  z.object({ subscription_id: id }),
  { nextAction: 'do_not_retry' },
);
const {
  payment_route_minimum_not_met: minimumNotMet,
  payment_route_unavailable: routeUnavailable,
  ...otherRouteRefusals
} = createOffer.refusals;

const offerRefusals = {
  listing_not_found: listingNotFound,
  own_listing: ownListing,
  listing_per_call: listingPerCall,
  already_subscribed: alreadySubscribed,
  payment_route_minimum_not_met: {
    ...minimumNotMet,
    message: 'The selected payment route cannot support this low price; the seller was not called',
  },
  payment_route_unavailable: {
    ...routeUnavailable,
    recovery: { nextAction: 'choose_another_payment_route' },
  } satisfies RefusalDeclaration,
  ...otherRouteRefusals,
};

/**
 * Subscribes to a free listing at once. For a paid listing it returns the buyer's pending payment, which is the same
 * for as long as it can be paid. The price is the one at the time when the payment was created.
 */
export const subscribe = defineRequest({
  subject: 'rpc.payments-ledger.subscribe.v1',
  input: z.object({
    listing_id: id,
    origin_currency: currency
      .optional()
      .describe("What to pay with; the seller's preferred currency where it is left out."),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({ outcome: z.literal('subscribed'), subscription: subscriptionView }),
    z.object({ outcome: z.literal('payment_required'), payment: subscriptionOffer }),
  ]),
  refusals: offerRefusals,
});

/** The pending payment of a paid listing, as `subscribe` returns it. */
export const createPayment = defineRequest({
  subject: 'rpc.payments-ledger.create-payment.v1',
  input: z.object({ listing_id: id }),
  output: subscriptionOffer,
  refusals: {
    ...offerRefusals,
    listing_free: declareRefusal(
      'invalid',
      'This listing costs nothing: POST /subscribe starts the subscription without a payment',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
  },
});

const paymentNotFound = declareRefusal('not-found', 'No such payment', z.object({}), {
  nextAction: 'request_new_payment_requirements',
});

export const getPayment = defineRequest({
  subject: 'rpc.payments-ledger.get-payment.v1',
  repeatable: true,
  input: z.object({ payment_id: id }),
  output: paymentView,
  refusals: { payment_not_found: paymentNotFound },
});

const requestNewPayment = { nextAction: 'request_new_payment_requirements', useNewIdempotencyKey: true } as const;

/**
 * Checks whether a subscription's payment has arrived, and starts the subscription: payment, journal, both receipts,
 * subscription and event in one transaction. Repeating it returns the first result again. `payment_id` or
 * `relay_request_id` names the payment. `payload` pays it: with a signed authorization, which is settled at once, or in
 * the sandbox with an outcome.
 */
export const verifyPayment = defineRequest({
  subject: 'rpc.payments-ledger.verify-payment.v1',
  input: z.object({
    payment_id: id.optional(),
    /** The listing of the subscription, if the caller names it. */
    listing_id: id.optional(),
    relay_request_id: relayRequestId
      .optional()
      .describe('Of the payment, as its requirements name it; either this or payload.'),
    /** A PaymentPayload of x402 v2, as the client sent it. */
    payload: z.record(z.string(), z.unknown()).optional(),
    scheme: text(0, 64)
      .optional()
      .describe('deposit or exact, as it was paid; refused if it is not that of the payment.'),
    network: text(0, 128).optional().describe('CAIP-2 id of the chain that was paid on.'),
    transactionHash: text(0, 128)
      .optional()
      .describe('The transaction that paid, on Solana its signature; refused if another one did.'),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('completed'),
      subscription: subscriptionView,
      payment: completedPayment,
      /** The rail that carried the money. */
      provider: z.string(),
      /** The transfer of a signed authorization, if one paid. */
      transfer: authorizedTransfer.nullable().default(null),
    }),
    z.object({
      outcome: z.literal('pending'),
      payment_id: id,
      relay_request_id: relayRequestId,
      retry_after_seconds: z.number().int(),
      reason: pendingReason,
    }),
  ]),
  refusals: {
    payment_not_found: paymentNotFound,
    budget_exceeded: budgetExceeded,
    payment_of_call: declareRefusal(
      'invalid',
      'This payment is for a gateway call: repeat the call with X-Market-Relay-Request-Id',
      z.object({ relay_request_id: relayRequestId }),
      { nextAction: 'use_direct_gateway' },
    ),
    payment_mismatch: declareRefusal(
      'invalid',
      'The request does not match this payment, which is untouched',
      z.object({ field: z.string(), problem: z.string() }),
      { nextAction: 'fix_request' },
    ),
    payment_rejected: declareRefusal(
      'invalid',
      'The signed payment was not accepted and nothing was charged: sign the requirements of POST /subscribe anew',
      z.object({ rejection: z.string().describe("The protocol's reason.") }),
      { nextAction: 'pay_and_retry', drop: ['PAYMENT-SIGNATURE'] },
    ),
    payment_unpaid: declareRefusal(
      'invalid',
      'Nothing has been paid: pay as the requirements say, then verify again',
      z.object({}),
      { nextAction: 'pay_and_retry' },
    ),
    payment_underpaid: declareRefusal(
      'invalid',
      'The payment is not complete: pay what is missing to the same address, then verify again',
      z.object({ received: z.string(), missing: z.string(), currency }),
      { nextAction: 'pay_and_retry' },
    ),
    payment_expired: declareRefusal(
      'invalid',
      'The payment was not made in time; POST /subscribe for a new one',
      z.object({}),
      requestNewPayment,
    ),
    payment_failed: declareRefusal(
      'invalid',
      'The payment failed and cost nothing; POST /subscribe for a new one',
      z.object({}),
      requestNewPayment,
    ),
    payment_cancelled: declareRefusal(
      'invalid',
      'The payment was cancelled; POST /subscribe for a new one',
      z.object({}),
      requestNewPayment,
    ),
    payment_refund_due: declareRefusal(
      'invalid',
      'The money of this payment arrived too late or bought nothing: it is owed back, as GET /ledger shows',
      z.object({ status: z.enum(['refund_due', 'refunded']), amount: z.number() }),
      requestNewPayment,
    ),
    listing_unavailable: declareRefusal(
      'conflict',
      'The listing is not offered now; the payment is untouched and refunded if the subscription cannot start in time',
      z.object({ retry_until: timestamp }),
      { nextAction: 'retry_after_delay' },
    ),
    already_subscribed: declareRefusal(
      'conflict',
      'There is an active subscription to this listing already; the money of this payment is owed back, as GET /ledger shows',
      z.object({ subscription_id: id }),
      { nextAction: 'do_not_retry' },
    ),
  },
});

/** The caller's subscriptions, newest first. */
export const listSubscriptions = defineRequest({
  subject: 'rpc.payments-ledger.list-subscriptions.v1',
  repeatable: true,
  input: z.object({ status: z.enum([...subscriptionStatus.options, 'all']).default('active'), ...pageRequest }),
  output: pageOf(subscriptionRecord),
  refusals: {},
});

const subscriptionNotFound = declareRefusal('not-found', 'No such subscription', z.object({}));

export const getSubscription = defineRequest({
  subject: 'rpc.payments-ledger.get-subscription.v1',
  repeatable: true,
  input: z.object({ subscription_id: id }),
  output: subscriptionRecord,
  refusals: { subscription_not_found: subscriptionNotFound },
});

/** Ends an active subscription at once. Repeating it changes nothing. */
export const cancelSubscription = defineRequest({
  subject: 'rpc.payments-ledger.cancel-subscription.v1',
  input: z.object({ subscription_id: id }),
  output: z.object({ id, status: z.literal('cancelled') }),
  refusals: {
    subscription_not_found: subscriptionNotFound,
    not_subscriber: declareRefusal('forbidden', 'Only the subscriber can end a subscription', z.object({})),
    subscription_expired: declareRefusal('conflict', 'The subscription has expired already', z.object({})),
  },
});
