import { z } from 'zod';
import { declareRefusal, defineRequest } from '../define.js';
import { openPayerAccount } from '../identity/agents.js';
import { chainType } from '../identity/wallets.js';
import { currency, id, microsText, relayRequestId, sha256Hex, timestamp, units, usage } from '../shared/index.js';
import { budgetExceeded } from './budgets.js';
import { includedCalls } from './quotas.js';
import { paymentRoute } from './routes.js';

/**
 * What to pay, where and until when. `amount` is in whole units, `amount_base_units` in the smallest unit of the chain.
 */
export const paymentRequirements = z.object({
  /** Null if only a signed authorization can pay; a transfer would buy nothing. */
  depositAddress: z.string().nullable(),
  amount: z.string().describe('What to pay, in whole units of `currency`, as decimal text.'),
  amount_base_units: z
    .string()
    .describe('The same amount as an integer of the smallest unit of `currency` on its network.'),
  currency: currency.describe('The asset to pay with; `amount` and `amount_base_units` are in it.'),
  network: z.string(),
  relayRequestId,
  expiresAt: timestamp,
});

export const feesView = z.object({
  gross_amount: z.number().describe('The price in US dollars, whatever asset pays it.'),
  fee_rate: z
    .number()
    .describe('The share of the price that the marketplace keeps, as a fraction: 0.05 is five percent.'),
  fee_amount: z.number().describe('The fee of the marketplace in US dollars; part of the price.'),
  provider_receives: z.number().describe('What of the price is the seller’s, in US dollars.'),
});

/**
 * What an x402 client signs to pay an offer: `PaymentRequirements` of version 2, scheme `exact`, or `upto` where a call
 * costs what it uses. On EVM chains `extra`
 * names the token's EIP-712 domain (`name`, `version`). On Solana it names the account that pays the transaction's fee
 * (`feePayer`) and the memo that the transaction must carry, which is the relay request id.
 */
export const exactRequirements = z.object({
  scheme: z.enum(['exact', 'upto']),
  network: z.string(),
  amount: z.string().describe('What to sign, as an integer of the smallest unit of `asset`.'),
  asset: z.string().describe('The contract of the token (EVM) or its mint (Solana).'),
  payTo: z.string(),
  maxTimeoutSeconds: z.number().int(),
  extra: z.object({
    name: z.string().optional(),
    version: z.string().optional(),
    feePayer: z.string().optional().describe('On Solana the account that pays the fee of the transaction.'),
    memo: z.string().optional(),
    assetTransferMethod: z.literal('permit2').optional().describe('Present where the token is moved by Permit2.'),
    facilitatorAddress: z.string().optional().describe('Of upto: the account that settles it, which is signed, too.'),
    relayRequestId,
  }),
});

/** The requirements before there is an offer, and therefore without its relay request id. */
export const exactTerms = exactRequirements.extend({
  extra: exactRequirements.shape.extra.omit({ relayRequestId: true, memo: true }),
});
export type ExactTerms = z.output<typeof exactTerms>;

/** The transfer by which a signed authorization was settled. */
export const authorizedTransfer = z.object({
  transaction: z.string(),
  network: z.string(),
  payer: z.string(),
  /** In base units; of a call that costs what it uses. */ amount: z.string().optional(),
  /** A compact JWS: see `OfferReceiptSigner` of the ledger. */ receipt: z.string().optional(),
});

/** The offer that a buyer is asked to pay: `data.payment` of a 402. */
export const paymentOffer = z.object({
  payment_id: id,
  relay_request_id: relayRequestId,
  status: z.string(),
  provider: z.string(),
  requirements: paymentRequirements,
  fees: feesView.describe('The price, the fee and what the seller receives of it, in US dollars.'),
  retry_headers: z.record(z.string(), z.string()),
  usage: usage
    .optional()
    .describe('Present where the call costs what it uses: the price above is the most that it costs.'),
  /** One for each chain whose signed authorization pays the offer, its own first; empty if no signature pays it. */
  x402: z.array(exactRequirements),
});
export type PaymentOffer = z.output<typeof paymentOffer>;

/** Another way to pay a price: a request with these headers gets an offer of that route. */
export const otherRoute = paymentRoute.pick({
  provider: true,
  currency: true,
  network: true,
  schemes: true,
  headers: true,
});
export type OtherRoute = z.output<typeof otherRoute>;

const settles = z
  .enum(['on_first_event', 'on_delivery', 'on_acceptance'])
  .optional()
  .describe(
    'When a signature is settled, if that is not when the whole answer is stored: at the first event of a stream, when ' +
      'a job is delivered, or, if it was signed for less time, when the job is taken.',
  );

/** `data.payment` of the 402 of a call. */
export const askedPayment = paymentOffer.extend({
  settles,
  included: includedCalls.optional().describe('Of a listing that gives calls for nothing: what is left of them.'),
  other_routes: z
    .array(otherRoute)
    .optional()
    .describe('The other ways to pay this price: the same request with these headers gets an offer of that route.'),
});

/**
 * `extra.offer` is the offer token: all terms of the offer, signed by the ledger. They are stored nowhere else until the offer is
 * paid.
 */
export const keylessRequirements = exactRequirements.extend({
  extra: exactRequirements.shape.extra.extend({ offer: z.string() }),
});

/**
 * An offer that is not for a particular buyer. It has no payment yet, and no address, because only a signed
 * authorization can pay it.
 */
export const keylessOffer = paymentOffer
  .omit({ payment_id: true })
  .extend({ requirements: paymentRequirements.omit({ depositAddress: true }), x402: keylessRequirements, settles });
export type KeylessOffer = z.output<typeof keylessOffer>;

/** The listing as it was when the offer was made. The buyer pays the price that it saw. */
export const soldListing = z.object({
  listingId: id,
  name: z.string(),
  slug: z.string(),
  sellerId: id,
  preferredCurrency: currency,
});

/** The money of one call in micros, fixed when the offer is made. */
export const callMoney = z.object({
  grossMicros: microsText,
  feeMicros: microsText,
  netMicros: microsText,
  feeBps: z.number().int(),
  /** Of a call that costs what it uses: the other amounts are the most until the units are known. */
  usage: usage.optional(),
});
export type CallMoney = z.output<typeof callMoney>;

/** Of a listing that answers by jobs: how long one may take. A signature has to last as long. */
const jobSeconds = z.number().int().positive().optional();

/**
 * Creates an offer for a buyer, listing, body and route. A repeated request returns the same offer as long as it is
 * live.
 */
export const createOffer = defineRequest({
  subject: 'rpc.payments-ledger.create-offer.v1',
  repeatable: true,
  input: z.object({
    gatewayRequestId: id,
    listing: soldListing,
    priceMicros: microsText,
    usage: usage.optional(),
    bodyDigest: sha256Hex,
    originCurrency: currency.optional(),
    originChainId: z.string().max(64).optional(),
    originWalletId: id.optional(),
    jobSeconds,
  }),
  output: z.object({
    offer: paymentOffer,
    otherRoutes: z.array(otherRoute),
    money: callMoney,
    /** The call that this offer pays; an earlier one if the offer is not new. */
    gatewayRequestId: id,
    /** A signature pays this call already, or its answer was not handed out: the request is that call again. */
    isOpen: z.boolean(),
  }),
  refusals: {
    payment_route_minimum_not_met: {
      ...declareRefusal(
        'invalid',
        'The selected payment route cannot support this low per-call price; the seller was not called',
        z.object({
          seller_endpoint_called: z.literal(false),
          recommended_origin_currency: z.literal('SOL'),
          recommended_gateway_headers: z.object({ 'X-Market-Origin-Currency': z.literal('SOL') }),
        }),
        { nextAction: 'retry_with_solana_payment_route', retrySameRoute: false, useNewIdempotencyKey: true },
      ),
      code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET' as const,
    },
    payment_route_unavailable: declareRefusal(
      'invalid',
      'No payment route serves this currency and chain, or the seller has no wallet there',
      z.object({}),
      {
        nextAction: 'choose_another_payment_route',
        drop: ['X-Market-Origin-Currency', 'X-Market-Origin-Chain-Id', 'X-Market-Origin-Wallet-Id'],
      },
    ),
    seller_not_payable: declareRefusal(
      'conflict',
      'The seller has no wallet that this marketplace can pay, so this listing cannot be bought; choose another one',
      z.object({ networks: z.array(z.string()).describe('The chains on which a wallet of the seller could be paid.') }),
      { nextAction: 'choose_another_listing' },
    ),
    /** For a route of an external provider that sends back what it cannot deliver. */
    payer_wallet_required: declareRefusal(
      'invalid',
      'This payment route sends money back to the wallet it came from: ' +
        'link a wallet of its kind of chain that may pay, or name one in X-Market-Origin-Wallet-Id',
      z.object({ chain_type: chainType, network: z.string() }),
      { nextAction: 'link_wallet' },
    ),
    too_many_open_offers: declareRefusal(
      'rate-limited',
      'This account has as many unpaid offers as it may have: pay one of them, or wait until one expires',
      z.object({ limit: z.number().int(), retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay' },
    ),
    budget_exceeded: budgetExceeded,
    payment_provider_unavailable: declareRefusal(
      'unavailable',
      'The provider of this payment route cannot be reached at the moment',
      z.object({ provider: z.string(), retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay' },
    ),
    payment_provider_refused: declareRefusal(
      'forbidden',
      'The provider of this payment route does not serve one of the two wallets',
      z.object({ provider: z.string() }),
      { nextAction: 'choose_another_payment_route' },
    ),
  },
});

/**
 * What x402 clients would sign for keyless calls of these sellers at these prices, in the order of the input: one item
 * for each chain and scheme that takes the payment, none if no chain does. Stores nothing.
 */
export const quoteExact = defineRequest({
  subject: 'rpc.payments-ledger.quote-exact.v1',
  repeatable: true,
  input: z.object({
    calls: z
      .array(
        z.object({
          sellerId: id,
          priceMicros: microsText,
          jobSeconds,
          /** Whether a call costs what it uses. */
          isByUse: z.boolean().default(false),
        }),
      )
      .max(100),
  }),
  output: z.object({
    terms: z.array(z.array(exactTerms)),
    /** The lowest price for which signed payments are taken. */
    minimumMicros: microsText,
    /** The chains on which signed payments are taken, as CAIP-2 ids. */
    networks: z.array(z.string()),
    /** Those on which `upto` is taken, too. */
    uptoNetworks: z.array(z.string()).default([]),
    /** The one address to which all of them are paid; null if each is paid to its seller. */
    payTo: z.string().nullable(),
  }),
  refusals: {},
});

/**
 * Whether any configured route can pay a seller, whatever the price.
 */
export const checkPayable = defineRequest({
  subject: 'rpc.payments-ledger.check-payable.v1',
  repeatable: true,
  input: z.object({ sellerId: id }),
  output: z.object({
    isPayable: z.boolean(),
    /** The chains on which sellers are paid, as CAIP-2 ids, if this one has a wallet on none of them. */
    missing: z.array(z.string()),
  }),
  refusals: {},
});

/** Which of these sellers no configured route can pay. */
export const findUnpayableSellers = defineRequest({
  subject: 'rpc.payments-ledger.find-unpayable-sellers.v1',
  repeatable: true,
  input: z.object({ sellerIds: z.array(id).min(1).max(200) }),
  output: z.object({ sellerIds: z.array(id) }),
  refusals: {},
});

/** Offers of a keyless call, one for each chain that takes signed authorizations of the price. Stores nothing. */
export const quoteKeyless = defineRequest({
  subject: 'rpc.payments-ledger.quote-keyless.v1',
  repeatable: true,
  input: z.object({ listing: soldListing, priceMicros: microsText, usage: usage.optional(), jobSeconds }),
  /** `signatures`: a compact JWS for each offer, in the same order. */
  output: z.object({ offers: z.array(keylessOffer), signatures: z.array(z.string()) }),
  refusals: { seller_not_payable: createOffer.refusals.seller_not_payable },
});

const ofAnotherListing = declareRefusal(
  'conflict',
  'This relay request id pays for another listing; the payment is untouched',
  z.object({}),
  { nextAction: 'fix_request', keep: ['X-Market-Relay-Request-Id'] },
);

/** A payment for which the holder of its call's lock may call the seller. */
const authorized = z.object({
  outcome: z.literal('authorized'),
  paymentId: id,
  gatewayRequestId: id,
  retryUntil: timestamp,
  transactionHash: z.string().nullable(),
  /** Set if the payment is by a signed authorization that is not settled yet. */
  isSigned: z.literal(true).optional(),
  /** Set if the ledger has to know that the call was not delivered: `releasePayment`. */
  isReleasable: z.literal(true).optional(),
  provider: z.string(),
  scheme: z.string(),
  network: z.string(),
  money: callMoney,
  listing: soldListing,
});

/**
 * Creates a payment for a keyless offer, with the authorization that pays it. The signer is the buyer. Nothing is
 * stored for an authorization that does not pay. Repeating it returns the payment, whatever its state is.
 */
export const openKeylessPayment = defineRequest({
  subject: 'rpc.payments-ledger.open-keyless-payment.v1',
  repeatable: true,
  input: z.object({
    gatewayRequestId: id,
    listing: soldListing,
    bodyDigest: sha256Hex,
    /** How long the call may take, in milliseconds. */
    callMs: z.number().int().min(1000).max(300_000),
    authorization: z.string().max(16_384),
    /** If false, a payment that was opened earlier is found, and none is opened. */
    mayOpen: z.boolean(),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('opened'),
      buyerId: id,
      gatewayRequestId: id,
      offer: paymentOffer,
      money: callMoney,
      /** Null if `authorizePayment` has to decide. Only the holder of the call's lock may use it. */
      authorized: authorized.nullable(),
      /** An earlier signature of the wallet pays the same call, and this one was not taken: it is that call again. */
      isJoined: z.boolean(),
    }),
    z.object({ outcome: z.literal('rejected'), reason: z.string() }),
    z.object({ outcome: z.literal('not_opened') }),
  ]),
  refusals: {
    listing_mismatch: ofAnotherListing,
    own_listing: declareRefusal(
      'forbidden',
      'An agent does not buy from itself; use POST /listings/{id}/endpoint/test',
      z.object({}),
    ),
    wallet_is_a_humans: openPayerAccount.refusals.wallet_is_a_humans,
    wallet_cannot_pay: declareRefusal(
      'forbidden',
      'The wallet that signed is disabled or lacks the capability payer; nothing was charged: sign with another one',
      z.object({}),
      { nextAction: 'link_wallet', drop: ['PAYMENT-SIGNATURE'] },
    ),
  },
});

/**
 * Why a payment that may be on its way cannot be used for its call yet. `payment_not_seen`: no payment was seen.
 * `payment_not_final`: a payment was seen that is not final. `payment_unknown`: the rail, or the process that worked on
 * the call, does not answer. `settlement_unknown`: a signed authorization was submitted, and its outcome is unknown.
 */
export const pendingReason = z.enum(['payment_not_seen', 'payment_not_final', 'payment_unknown', 'settlement_unknown']);
export type PendingReason = z.output<typeof pendingReason>;

/**
 * Says whether a payment pays for a call now, before its seller is called. It changes nothing, except that money is
 * committed: a payment counts against the budgets of its key, and a signed authorization against the funds of its
 * payer. The caller holds the lock of the call, so that nobody else charges or refunds the payment meanwhile.
 */
export const authorizePayment = defineRequest({
  subject: 'rpc.payments-ledger.authorize-payment.v1',
  repeatable: true,
  onBehalf: true,
  input: z.object({
    relayRequestId,
    listingId: id,
    bodyDigest: sha256Hex,
    /** How long the call may take, in milliseconds. A signed authorization must still be good afterwards. */
    callMs: z.number().int().min(1000).max(300_000),
    /**
     * A decoded `PAYMENT-SIGNATURE` as JSON text, which pays an offer for which no money has arrived. It is charged
     * only when the answer is settled.
     */
    authorization: z.string().max(16_384).optional(),
    /** A job asks and no buyer, who has therefore not got the answer of a completed call. */
    isResumed: z.literal(true).optional(),
  }),
  output: z.discriminatedUnion('outcome', [
    authorized,
    /** Already charged: the stored result of this call is the answer. */
    z.object({
      outcome: z.literal('completed'),
      gatewayRequestId: id,
      transfer: authorizedTransfer.nullable().default(null),
    }),
    /** The authorization does not pay this offer. Nothing was charged, and the offer can still be paid. */
    z.object({ outcome: z.literal('rejected'), reason: z.string(), offer: paymentOffer }),
    /** Another payment pays the same call, and the authorization was not taken. */
    z.object({ outcome: z.literal('joined'), relayRequestId }),
    z.object({
      outcome: z.literal('pending'),
      gatewayRequestId: id,
      retryAfterSeconds: z.number().int(),
      reason: pendingReason,
    }),
    /** The wallet that signed pays the same call under another account. Nothing of this signature is taken. */
    z.object({ outcome: z.literal('under_way') }),
    /** Nothing was paid, and nothing is on its way. The offer can still be paid. */
    z.object({ outcome: z.literal('unpaid'), offer: paymentOffer }),
    z.object({ outcome: z.literal('underpaid'), offer: paymentOffer, received: z.string(), missing: z.string() }),
    /** Expired, failed or already refunded: a new offer is needed. */
    z.object({
      outcome: z.literal('not_payable'),
      reason: z.enum(['offer_expired', 'payment_failed', 'refund_due', 'refunded', 'cancelled']),
    }),
  ]),
  refusals: {
    payment_not_found: declareRefusal('not-found', 'No payment of yours has this relay request id', z.object({}), {
      nextAction: 'request_new_payment_requirements',
      drop: ['X-Market-Relay-Request-Id'],
    }),
    listing_mismatch: ofAnotherListing,
    budget_exceeded: budgetExceeded,
    /** A wallet can sign for more money than it has. */
    too_many_unsettled: declareRefusal(
      'rate-limited',
      'This wallet has as many unsettled signed calls as it may have; the signature stays valid',
      z.object({ limit: z.number().int(), retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay', keep: ['PAYMENT-SIGNATURE'] },
    ),
    request_body_mismatch: declareRefusal(
      'conflict',
      'This relay request id pays for another request body; the payment is untouched: repeat the body it ' +
        'was quoted for, of multipart/form-data with the same boundary',
      z.object({}),
      { nextAction: 'fix_request', keep: ['X-Market-Relay-Request-Id'] },
    ),
  },
});

/**
 * Charges for a delivered answer: payment, journal, both receipts and the event in one transaction. A payment is charged
 * once; repeating it, by whoever, returns the first result.
 */
export const settlePayment = defineRequest({
  subject: 'rpc.payments-ledger.settle-payment.v1',
  repeatable: true,
  input: z.object({
    paymentId: id,
    gatewayRequestId: id,
    sellerStatusCode: z.number().int(),
    latencyMs: z.number().int(),
    requestDigest: sha256Hex,
    responseDigest: sha256Hex,
    /** Of a call that costs what it uses: what its seller said. */
    units: units.optional(),
    /** The value from the authorization. If it is left out, the ledger looks it up. */
    isSigned: z.literal(true).optional(),
    /** Set by a job, which settles an answer that no request waits for. */
    isResumed: z.literal(true).optional(),
  }),
  output: z.object({ paymentId: id, completedAt: timestamp, transfer: authorizedTransfer.nullable().default(null) }),
  refusals: {
    not_payable: declareRefusal('conflict', 'This payment pays for nothing any more', z.object({})),
    /** Nothing was charged; the offer can be paid again. */
    settlement_refused: declareRefusal(
      'conflict',
      'The authorization could not be settled',
      z.object({ reason: z.string() }),
    ),
    /** The payment may have been charged or not. Repeating the request settles it. */
    settlement_unknown: declareRefusal(
      'conflict',
      'Whether the authorization was settled is not known yet',
      z.object({ retry_after_seconds: z.number().int() }),
    ),
  },
});

/**
 * Moves the money of a payment before its call is delivered whole: a stream is paid for when its first event has come,
 * and charged when it has ended. Nothing is done for money that has arrived. The caller holds the lock of the call.
 * With `until`, the call is a job that its seller may deliver until then: the payment is kept for it, and a signature
 * that can be settled afterwards is held.
 */
export const collectPayment = defineRequest({
  subject: 'rpc.payments-ledger.collect-payment.v1',
  repeatable: true,
  input: z.object({ paymentId: id, until: timestamp.optional() }),
  output: z.object({
    transfer: authorizedTransfer.omit({ receipt: true }).nullable(),
    isHeld: z.literal(true).optional(),
  }),
  refusals: settlePayment.refusals,
});

/**
 * After a call that was not billable, a signed authorization counts against neither the funds of its payer nor a budget
 * until it is authorized again. If this is lost, it counts for as long as the call might have taken. A client without a
 * key would sign for another call: what has arrived from it is owed back at once.
 */
export const releasePayment = defineRequest({
  subject: 'rpc.payments-ledger.release-payment.v1',
  repeatable: true,
  input: z.object({
    paymentId: id,
    /** The seller failed, or takes no calls: what has arrived is owed back to a buyer who cannot repeat the call. */
    isUndelivered: z.literal(true).optional(),
    /** The call has ended and may not be repeated: all that has arrived is owed back, and a signature lapses. */
    isOver: z.literal(true).optional(),
  }),
  output: z.object({
    isOwedBack: z.literal(true).optional(),
    /** Nothing has arrived, and nothing will be charged. */
    isFree: z.literal(true).optional(),
  }),
  refusals: {},
});

export const sandboxOutcome = z.enum(['paid', 'pending', 'underpaid', 'overpaid', 'late', 'failed']);

export const paySandbox = defineRequest({
  subject: 'rpc.payments-ledger.pay-sandbox.v1',
  input: z.object({ relay_request_id: relayRequestId, outcome: sandboxOutcome.default('paid') }),
  output: z.object({
    payment_id: id,
    relay_request_id: relayRequestId,
    status: z.string(),
    outcome: sandboxOutcome,
    received_amount: z.string().describe('What arrived, in whole units of `currency`, as decimal text.'),
    currency: currency.describe('The asset that was paid; `received_amount` is in it.'),
    transaction_hash: z.string(),
  }),
  refusals: {
    payment_not_found: authorizePayment.refusals.payment_not_found,
    budget_exceeded: budgetExceeded,
    sandbox_only: declareRefusal('not-found', 'Sandbox payments are available in sandbox mode only', z.object({})),
    offer_not_payable: declareRefusal(
      'conflict',
      'This offer can no longer be paid',
      z.object({ status: z.string() }),
      { nextAction: 'request_new_payment_requirements' },
    ),
  },
});
