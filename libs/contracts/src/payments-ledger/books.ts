import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { feeReceivedMicros, usdAmount } from './money.js';
import { refundReason, refundStatus } from './refunds.js';
import {
  cursorPageOf,
  cursorRequest,
  id,
  microsText,
  pricingModel,
  relayRequestId,
  sha256Hex,
  timestamp,
  used,
} from '../shared/index.js';

const listingRef = z.object({ id, name: z.string(), slug: z.string() });

/** What the buyer sent, in the units of its asset. */
const paidAsset = z.object({
  asset: z.string().describe('The symbol of the asset that was sent, such as USDC, ETH or SOL.'),
  amount: z.string().describe('The price in whole units of the asset, as decimal text.'),
  amount_base_units: z.string().describe('The same amount as an integer of the smallest unit of the asset.'),
});

/** The price of a call or of a subscription, the fee and the seller's part, in `currency`. */
export const receiptView = z.object({
  id,
  payment_id: id,
  recipient_type: z.enum(['buyer', 'seller']),
  gross_amount: z.number().describe('The price in `currency`.'),
  fee_rate: z
    .number()
    .describe('The share of the price that the marketplace keeps, as a fraction: 0.05 is five percent.'),
  fee_amount: z.number().describe('The fee of the marketplace in `currency`; part of the price.'),
  net_amount: z.number().describe('The price less the fee, in `currency`: what the seller receives.'),
  currency: z.literal('USD').describe('The currency of the amounts of this record, whatever asset was paid.'),
  paid: paidAsset.describe('What was sent for it, in which asset; a surplus is in refunds.'),
  usage: used.optional().describe('What the call used, where that makes its price.'),
  transaction_hash: z.string(),
  listing: listingRef,
  created_at: timestamp,
});

/** A receipt with the ids of its parties; the edge adds their public profiles. */
export const receiptDetail = receiptView.extend({
  relay_request_id: z.string(),
  payer_id: id,
  seller_id: id,
  /** Refunds of what was paid beyond the price. */
  refunds: z.array(
    z.object({
      status: refundStatus,
      reason: refundReason,
      amount: usdAmount.describe('What was paid beyond the price, in US dollars.'),
      transaction_hash: z.string().nullable(),
    }),
  ),
});

export const listReceipts = defineRequest({
  subject: 'rpc.payments-ledger.list-receipts.v1',
  repeatable: true,
  input: z.object({ role: z.enum(['buyer', 'seller']).optional(), ...cursorRequest }),
  output: cursorPageOf(receiptView),
  refusals: {},
});

export const getReceipt = defineRequest({
  subject: 'rpc.payments-ledger.get-receipt.v1',
  repeatable: true,
  input: z.object({ receiptId: id }),
  output: receiptDetail,
  refusals: { receipt_not_found: declareRefusal('not-found', 'No such receipt', z.object({})) },
});

/**
 * What a proof signs: the receipt, its parties and what was exchanged, so that third parties can check it by
 * themselves.
 */
export const receiptClaims = z.object({
  /** The marketplace that issued it: its PUBLIC_URL. */
  iss: z.string(),
  /** When the receipt was made, in seconds since 1970. */
  iat: z.number().int(),
  receipt_id: id,
  payment_id: id,
  recipient_type: z.enum(['buyer', 'seller']),
  buyer_id: id,
  seller_id: id,
  listing: listingRef,
  gross_amount: z.number().describe('The price in `currency`.'),
  fee_rate: z
    .number()
    .describe('The share of the price that the marketplace keeps, as a fraction: 0.05 is five percent.'),
  fee_amount: z.number().describe('The fee of the marketplace in `currency`; part of the price.'),
  net_amount: z.number().describe('The price less the fee, in `currency`: what the seller receives.'),
  currency: z.literal('USD').describe('The currency of the amounts among these claims, whatever asset was paid.'),
  paid: paidAsset.describe('What was sent for it, in which asset.'),
  usage: used.optional().describe('What the call used, where that makes its price.'),
  network: z.string(),
  transaction_hash: z.string(),
  relay_request_id: relayRequestId,
  /** The id of the gateway call; null for a subscription. */
  gateway_request_id: id.nullable(),
  /** SHA-256 in hex of the canonical request body, and of the stored answer; null for a subscription. */
  request_digest: sha256Hex.nullable(),
  response_digest: sha256Hex.nullable(),
  seller_status_code: z.number().int().nullable(),
});

/** A compact JWS (RFC 7515, EdDSA) over the claims; the same receipt signed by the same key gives the same text. */
export const getReceiptProof = defineRequest({
  subject: 'rpc.payments-ledger.get-receipt-proof.v1',
  repeatable: true,
  input: z.object({ receiptId: id }),
  output: z.object({ jws: z.string(), claims: receiptClaims }),
  refusals: {
    receipt_not_found: getReceipt.refusals.receipt_not_found,
    receipt_unlike_books: declareRefusal(
      'conflict',
      'This receipt differs from what the journal recorded, so it is not signed',
      z.object({}),
      { nextAction: 'contact_operator' },
    ),
  },
});

/** An Ed25519 public key (RFC 8037); `kid` is its RFC 7638 thumbprint. */
export const publicSigningKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  use: z.literal('sig'),
  alg: z.literal('EdDSA'),
});

/** The DID by which clients find the keys. Source: w3c-ccg.github.io/did-method-web. */
export const signerDid = (publicUrl: string): string => `did:web:${new URL(publicUrl).host.replace(':', '%3A')}`;

/** Every key that may have signed a receipt, the current one first. */
export const listSigningKeys = defineRequest({
  subject: 'rpc.payments-ledger.list-signing-keys.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ keys: z.array(publicSigningKey) }),
  refusals: {},
});

/**
 * The latest purchases of a listing by an agent that were not refunded: a delivered call that was charged, and a
 * subscription.
 */
export const getPurchaseEvidence = defineRequest({
  subject: 'rpc.payments-ledger.get-purchase-evidence.v1',
  repeatable: true,
  input: z.object({ buyerId: id, listingId: id }),
  output: z.object({ lastBillableCallAt: timestamp.nullable(), subscriptionStartedAt: timestamp.nullable() }),
  refusals: {},
});

export const ledgerEntryType = z.enum(['direct_payment', 'seller_credit', 'marketplace_fee', 'adjustment']);

/** One posting on an account of the caller. */
export const ledgerEntry = z.object({
  id,
  transaction_id: id,
  type: ledgerEntryType,
  account: z.string(),
  direction: z.enum(['debit', 'credit']),
  amount_cents: z
    .number()
    .describe('The amount in cents of `currency`, with fractions down to a ten-thousandth of a cent.'),
  currency: z.literal('USD').describe('The currency of the amount and the balance.'),
  balance_after_cents: z
    .number()
    .describe('The balance of `account` after this entry, in cents of `currency`; credits less debits.'),
  listing: listingRef.nullable(),
  reference: z.object({ payment_id: id.nullable(), gateway_request_id: id.nullable(), receipt_id: id.nullable() }),
  transaction_hash: z.string().nullable(),
  network: z.string().describe('CAIP-2: where the money moved, or is to move.'),
  wallet: z.string().nullable().describe('The address that was paid; of a refund the wallet it went back to.'),
  usage: used.nullable().describe('What the call used, where that makes its price.'),
  created_at: timestamp,
});

export const listLedger = defineRequest({
  subject: 'rpc.payments-ledger.list-ledger.v1',
  repeatable: true,
  input: z.object({
    type: ledgerEntryType.optional(),
    direction: z.enum(['debit', 'credit']).optional(),
    listingId: id.optional(),
    from: timestamp.optional(),
    to: timestamp.optional(),
    ...cursorRequest,
  }),
  output: cursorPageOf(ledgerEntry),
  refusals: {},
});

/** A balance may be below zero. */
const balance = usdAmount.extend({
  micros: z
    .string()
    .regex(/^-?\d{1,18}$/)
    .describe(
      'The balance in micros: millionths of a US dollar, as an integer in decimal text; negative where it is owed.',
    ),
});

const MONTHS_OF = { year: 12, quarter: 3, month: 1 };

/** The period of UTC that a statement is named by: 2026, 2026-Q4, 2026-11, or the days 2026-11-03--2026-11-20. */
export function statementPeriod(name: string): { from: string; to: string } | undefined {
  const [, year, quarter, month] = /^(2\d{3})(?:-Q([1-4])|-(0[1-9]|1[0-2]))?$/.exec(name) ?? [];
  if (year !== undefined) {
    const first = quarter ? 3 * (Number(quarter) - 1) : month ? Number(month) - 1 : 0;
    const length = MONTHS_OF[quarter ? 'quarter' : month ? 'month' : 'year'];
    const [from, to] = [first, first + length].map((at) => new Date(Date.UTC(Number(year), at)).toISOString());
    return { from: from!, to: to! };
  }
  const [, from, last] = /^(2\d{3}-\d\d-\d\d)--(2\d{3}-\d\d-\d\d)$/.exec(name) ?? [];
  if (from === undefined || last === undefined || from > last || !isDay(from) || !isDay(last)) return undefined;
  return { from: `${from}T00:00:00.000Z`, to: new Date(Date.parse(last) + DAY_MS).toISOString() };
}

const DAY_MS = 86_400_000;
const isDay = (day: string): boolean => {
  const at = new Date(day);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
};

/**
 * A period (UTC) of an account: its balances at the start and the end, and its totals. They equal the sums of the
 * ledger's entries to the micro.
 */
export const statement = z.object({
  month: z.string().describe('The period, as it was named: a month, a quarter, a year or days.'),
  from: timestamp,
  to: timestamp.describe('When the period ends, exclusive.'),
  currency: z.literal('USD').describe('The currency of every amount of the statement.'),
  opening_balance: balance.describe("Of all the account's ledger accounts together; a balance is credits less debits."),
  closing_balance: balance.describe('The same at the end of the period, or now.'),
  accounts: z.array(
    z.object({
      account: z.string(),
      opening_balance: balance.describe('At the start of the period.'),
      closing_balance: balance.describe('At the end of the period, or now.'),
    }),
  ),
  totals: z.object({
    earned: usdAmount.describe('The prices of its sales, before fees.'),
    spent: usdAmount.describe('What its purchases cost, fees included.'),
    fees: usdAmount.describe('The fees of the marketplace on its sales.'),
    fees_paid: usdAmount.describe('What it paid of fees that it owed.'),
    refunds_due: usdAmount.describe('What became owed back to the account.'),
    refunds_received: usdAmount.describe('What was paid back to the account.'),
    refunds_owed: usdAmount.describe('What the account came to owe its buyers.'),
    refunds_paid: usdAmount.describe('What the account paid back to its buyers.'),
    payouts: usdAmount.describe('What the operator paid of the earnings that it had.'),
  }),
});

/** A statement with a page of its entries, newest first. The statement of a current period grows. */
export const getStatement = defineRequest({
  subject: 'rpc.payments-ledger.get-statement.v1',
  input: z.object({ month: z.string().refine((name) => statementPeriod(name) !== undefined), ...cursorRequest }),
  output: statement.extend({ entries: cursorPageOf(ledgerEntry) }),
  refusals: {
    statement_not_found: declareRefusal(
      'not-found',
      'A statement is named by its period, as in /statements/2026-11, 2026-Q4, 2026 or 2026-11-03--2026-11-20',
      z.object({}),
      { nextAction: 'fix_request' },
    ),
  },
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
    feeReceivedMicros,
    sellerStatusCode: z.number().int(),
    latencyMs: z.number().int(),
    requestDigest: sha256Hex,
    responseDigest: sha256Hex,
    transactionHash: z.string().nullable().optional(),
    completedAt: timestamp,
  }),
});

/** The money of a call arrived before the call was delivered. */
export const paymentArrived = defineEvent({
  subject: 'evt.payments-ledger.payment-arrived.v1',
  payload: z.object({
    paymentId: id,
    gatewayRequestId: id,
    transactionHash: z.string().nullable(),
    /** The call can be repeated until then. */
    retryUntil: timestamp,
  }),
});

/** A payment was not delivered in time, or exceeded the price. The buyer is owed `amountMicros`. */
export const paymentRefundDue = defineEvent({
  subject: 'evt.payments-ledger.payment-refund-due.v1',
  payload: z.object({
    paymentId: id,
    /** Null if the payment was for a subscription. */
    gatewayRequestId: id.nullable(),
    buyerId: id,
    sellerId: id,
    listingId: id,
    amountMicros: microsText,
    /** The part of it that the seller has, and owes. */
    sellersMicros: microsText,
    reason: refundReason,
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
    feeReceivedMicros,
    startedAt: timestamp,
  }),
});

/** A subscription was cancelled by its subscriber, or its period ran out. */
export const subscriptionEnded = defineEvent({
  subject: 'evt.payments-ledger.subscription-ended.v1',
  payload: z.object({
    subscriptionId: id,
    consumerId: id,
    sellerId: id,
    listingId: id,
    status: z.enum(['cancelled', 'expired']),
    endedAt: timestamp,
  }),
});
