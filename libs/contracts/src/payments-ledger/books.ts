import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { id, microsText, pageOf, pageRequest, pricingModel, relayRequestId, sha256Hex, timestamp } from '../shared/index.js';

const listingRef = z.object({ id, name: z.string(), slug: z.string() });

export const receiptView = z.object({
  id,
  payment_id: id,
  recipient_type: z.enum(['buyer', 'seller']),
  gross_amount: z.number(),
  fee_rate: z.number(),
  fee_amount: z.number(),
  net_amount: z.number(),
  currency: z.string(),
  transaction_hash: z.string(),
  listing: listingRef,
  created_at: timestamp,
});

/** Parties by id; the edge adds their public profiles. */
export const receiptDetail = receiptView.extend({ relay_request_id: z.string(), payer_id: id, seller_id: id });

export const listReceipts = defineRequest({
  subject: 'rpc.payments-ledger.list-receipts.v1',
  input: z.object({ role: z.enum(['buyer', 'seller']).optional(), ...pageRequest }),
  output: pageOf(receiptView),
  refusals: {},
});

export const getReceipt = defineRequest({
  subject: 'rpc.payments-ledger.get-receipt.v1',
  input: z.object({ receiptId: id }),
  output: receiptDetail,
  refusals: { receipt_not_found: declareRefusal('not-found', 'No such receipt', z.object({})) },
});

export const ledgerEntryType = z.enum(['direct_payment', 'seller_credit', 'marketplace_fee', 'adjustment']);

/** One posting on an account of the caller. */
export const ledgerEntry = z.object({
  id,
  transaction_id: id,
  type: ledgerEntryType,
  account: z.string(),
  direction: z.enum(['debit', 'credit']),
  amount_cents: z.number(),
  currency: z.literal('USD'),
  balance_after_cents: z.number(),
  listing: listingRef.nullable(),
  reference: z.object({ payment_id: id.nullable(), gateway_request_id: id.nullable(), receipt_id: id.nullable() }),
  transaction_hash: z.string().nullable(),
  created_at: timestamp,
});

export const listLedger = defineRequest({
  subject: 'rpc.payments-ledger.list-ledger.v1',
  input: z.object({
    type: ledgerEntryType.optional(),
    direction: z.enum(['debit', 'credit']).optional(),
    listingId: id.optional(),
    from: timestamp.optional(),
    to: timestamp.optional(),
    ...pageRequest,
  }),
  output: pageOf(ledgerEntry),
  refusals: {},
});

export const paymentCompleted = defineEvent({
  subject: 'evt.payments-ledger.payment-completed.v1',
  payload: z.object({
    paymentId: id,
    relayRequestId,
    gatewayRequestId: id,
    buyerId: id,
    sellerId: id,
    listingId: id,
    grossMicros: microsText,
    feeMicros: microsText,
    sellerStatusCode: z.number().int(),
    latencyMs: z.number().int(),
    requestDigest: sha256Hex,
    responseDigest: sha256Hex,
    completedAt: timestamp,
  }),
});

/** Paid, and not delivered in time, or more than was asked for: the buyer is owed `amountMicros`. */
export const paymentRefundDue = defineEvent({
  subject: 'evt.payments-ledger.payment-refund-due.v1',
  payload: z.object({
    paymentId: id,
    gatewayRequestId: id,
    buyerId: id,
    listingId: id,
    amountMicros: microsText,
    reason: z.enum(['not_delivered', 'paid_late', 'overpaid']),
    at: timestamp,
  }),
});

/** A subscription became active; `paymentId` is null on a free listing. */
export const subscriptionStarted = defineEvent({
  subject: 'evt.payments-ledger.subscription-started.v1',
  payload: z.object({
    subscriptionId: id,
    paymentId: id.nullable(),
    consumerId: id,
    sellerId: id,
    listingId: id,
    pricingModel,
    grossMicros: microsText,
    startedAt: timestamp,
  }),
});
