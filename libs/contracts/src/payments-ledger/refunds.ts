import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { cursorPageOf, cursorRequest, id, microsText, timestamp, TRANSACTION_ID_PATTERN } from '../shared/index.js';
import { usdAmount } from './money.js';

export const refundReason = z.enum(['not_delivered', 'paid_late', 'overpaid', 'unused']);
export const refundStatus = z.enum(['refund_due', 'refunded']);
export const refundDebtor = z.enum(['seller', 'operator']);

/** A refund as both sides see it. The seller's part and the operator's part of the money are owed separately. */
export const refundView = z.object({
  id,
  payment_id: id,
  gateway_request_id: id.nullable(),
  role: z.enum(['buyer', 'seller']),
  status: refundStatus,
  reason: refundReason,
  owed_by: refundDebtor,
  amount: usdAmount.describe('What is owed back, in US dollars; it is paid in as much USDC.'),
  listing: z.object({ id, name: z.string(), slug: z.string() }),
  network: z.string().describe('Where it is paid, in USDC.'),
  wallet: z
    .string()
    .nullable()
    .describe("The buyer's; null until it is known, and while the buyer has none of that kind of chain."),
  transaction_hash: z.string().nullable(),
  due_since: timestamp.describe('Since when it is owed.'),
  pay_by: timestamp.nullable().describe('What a seller has not paid by then takes its paid listings off the market.'),
  refunded_at: timestamp.nullable(),
});
export type RefundView = z.output<typeof refundView>;

/** Refunds that the caller is owed or owes, newest first. */
export const listRefunds = defineRequest({
  subject: 'rpc.payments-ledger.list-refunds.v1',
  input: z.object({ role: z.enum(['buyer', 'seller']).optional(), status: refundStatus.optional(), ...cursorRequest }),
  output: cursorPageOf(refundView),
  refusals: {},
});

/**
 * Confirms that the caller has paid a refund that it owes. The ledger looks up the transfer on the chain: it must be of
 * USDC, from the seller's payout wallet to the refund's wallet, of at least the amount, and in a final block since the
 * refund was due. A transfer pays only one refund.
 */
export const confirmRefund = defineRequest({
  subject: 'rpc.payments-ledger.confirm-refund.v1',
  input: z.object({
    refund_id: id,
    transaction: z
      .string()
      .regex(TRANSACTION_ID_PATTERN, 'must be 0x and 64 hex digits, or a signature of Solana in base58')
      .describe('The hash of the transaction that paid it, on its network; on Solana its signature.'),
  }),
  output: refundView,
  refusals: {
    refund_not_found: declareRefusal('not-found', 'No such refund', z.object({})),
    not_debtor: declareRefusal('forbidden', 'This refund is not yours to pay', z.object({}), {
      nextAction: 'do_not_retry',
    }),
    refund_wallet_missing: declareRefusal(
      'conflict',
      'The buyer has no wallet on this kind of chain that the refund can be paid to; the refund is not overdue until there is one',
      z.object({}),
      { nextAction: 'retry_after_delay' },
    ),
    refund_not_checkable: declareRefusal(
      'conflict',
      'This marketplace has no RPC server of the network to look the transfer up',
      z.object({ network: z.string() }),
      { nextAction: 'contact_operator' },
    ),
    transfer_not_found: declareRefusal(
      'invalid',
      'This transaction contains no transfer of this USDC amount from your payout wallet to the wallet of the refund since it became due',
      z.object({ network: z.string(), wallet: z.string(), amount: usdAmount }),
      { nextAction: 'fix_request' },
    ),
    transfer_not_final: declareRefusal(
      'conflict',
      'The transfer is not final yet',
      z.object({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay' },
    ),
    transfer_used: declareRefusal('conflict', 'This transfer has paid another refund', z.object({}), {
      nextAction: 'fix_request',
    }),
  },
});

/** A refund was paid. `isWhole`: nothing of its payment is still owed to the buyer. */
export const paymentRefunded = defineEvent({
  subject: 'evt.payments-ledger.payment-refunded.v1',
  payload: z.object({
    refundId: id,
    paymentId: id,
    gatewayRequestId: id.nullable(),
    buyerId: id,
    sellerId: id,
    listingId: id,
    amountMicros: microsText,
    reason: refundReason,
    owedBy: refundDebtor,
    network: z.string(),
    wallet: z.string().nullable(),
    transactionHash: z.string(),
    isWhole: z.boolean(),
    at: timestamp,
  }),
});

/** A seller has not paid a refund within the days of grace. */
export const refundOverdue = defineEvent({
  subject: 'evt.payments-ledger.refund-overdue.v1',
  payload: z.object({ refundId: id, sellerId: id, at: timestamp }),
});
