import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { id, microsText, timestamp } from '../shared/index.js';
import { usdAmount } from './money.js';
import { authorizedTransfer, keylessRequirements } from './offers.js';

/**
 * `notice`: half of the limit is owed. `overdue`: more than the limit was owed for too long, and paid listings are off
 * the market.
 */
export const feeStatus = z.enum(['good', 'notice', 'overdue']);

/**
 * The balances of an account. The marketplace holds no money for the account: its money is in its own wallets, or owed.
 */
export const balanceView = z.object({
  currency: z.literal('USD').describe('The currency of every amount of the balance.'),
  earned: usdAmount.describe('By sales, after fees.'),
  received: z
    .array(
      z.object({
        network: z.string().nullable().describe('CAIP-2; null where another party carried the payments.'),
        wallet: z.string().nullable().describe('The wallet they paid; null where another party carried them.'),
        amount: usdAmount.describe('What came there, in US dollars.'),
      }),
    )
    .describe('What came to wallets of the account itself.'),
  payable: usdAmount.describe('What the operator owes of the earnings.'),
  payouts: z
    .array(
      z.object({
        network: z.string().describe('CAIP-2 id of the chain that was paid on.'),
        wallet: z.string(),
        transaction_hash: z.string(),
        amount: usdAmount.describe('What the transfer paid, in US dollars.'),
        confirmed_at: timestamp,
      }),
    )
    .describe('What the operator paid of the earnings: the latest 20, newest first.'),
  fees: z
    .object({
      due: usdAmount.describe('Pay it with POST /fees/payments.'),
      paid: usdAmount.describe('Fees that the account has paid so far.'),
      limit: usdAmount.describe('More than this may be due for the days of grace alone.'),
      status: feeStatus,
      pay_by: timestamp
        .nullable()
        .describe('When paid listings leave the market; null while no more than the limit is due.'),
    })
    .describe('The fees that the account owes the operator and has paid.'),
  refunds: z.object({
    due_to_account: usdAmount.describe('Paid for nothing and owed back.'),
    due_by_account: usdAmount.describe('Received for calls that were not delivered, and owed to their buyers.'),
  }),
});
export type BalanceView = z.output<typeof balanceView>;

/** A month of one seller, with the amounts of the ledger. Amounts that are due are those at the end of the month. */
export const booksReportRow = z.object({
  seller_id: id,
  month: z.string().describe('yyyy-mm, of UTC.'),
  sales: z.number().int(),
  volume: usdAmount.describe('The prices of the sales.'),
  revenue: usdAmount.describe('The fees of the marketplace on them.'),
  fees_due: usdAmount.describe('What the seller owes of fees.'),
  fees_paid: usdAmount,
  refunds_due: usdAmount.describe('What buyers of the seller are owed back, by whomever.'),
  payouts_due: z
    .object({ micros: z.string().regex(/^-?\d{1,18}$/), usd: z.number() })
    .describe('What the operator owes the seller; below zero where it paid more.'),
  payouts_paid: usdAmount,
});

/**
 * For operators: sales, earnings and debts by seller and month. With a month, the report has only that month, for every
 * seller that was in the books by then.
 */
export const reportBooks = defineRequest({
  subject: 'rpc.payments-ledger.report-books.v1',
  input: z.object({
    month: z
      .string()
      .regex(/^\d{4}-(0[1-9]|1[0-2])$/)
      .optional(),
    sellerId: id.optional(),
  }),
  output: z.object({ rows: z.array(booksReportRow) }),
  refusals: {},
});

export const getBalance = defineRequest({
  subject: 'rpc.payments-ledger.get-balance.v1',
  repeatable: true,
  input: z.object({}),
  output: balanceView,
  refusals: {},
});

/**
 * Pays fees that the caller owes, by a signed authorization that is settled at once. Without one, the answer states
 * what to sign. An authorization makes only one payment: repeating it returns the first result again.
 */
export const payFees = defineRequest({
  subject: 'rpc.payments-ledger.pay-fees.v1',
  input: z.object({
    /** All fees that are due, if it is left out. */
    amountMicros: microsText.optional(),
    /** A decoded `PAYMENT-SIGNATURE` as JSON text. */
    authorization: z.string().max(16_384).optional(),
  }),
  output: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('payment_required'),
      due: usdAmount,
      amount: usdAmount.describe('What is paid now of the fees, in US dollars.'),
      accepts: z.array(keylessRequirements),
      /** Why the given authorization does not pay. */
      reason: z.string().optional(),
    }),
    z.object({
      outcome: z.literal('paid'),
      paymentId: id,
      amount: usdAmount.describe('What is paid now of the fees, in US dollars.'),
      /** The fees that are still due. */
      due: usdAmount,
      completedAt: timestamp,
      transfer: authorizedTransfer,
    }),
    /** It is not known yet whether the authorization was settled. A repeated request returns the result. */
    z.object({ outcome: z.literal('pending'), paymentId: id, retryAfterSeconds: z.number().int() }),
  ]),
  refusals: {
    no_fees_due: declareRefusal('conflict', 'No fees are due', z.object({}), { nextAction: 'do_not_retry' }),
    more_than_due: declareRefusal('invalid', 'The amount is more than what is due', z.object({ due: usdAmount }), {
      nextAction: 'fix_request',
    }),
    fees_not_payable: declareRefusal('conflict', 'This marketplace takes no payments of fees over x402', z.object({}), {
      nextAction: 'contact_operator',
    }),
  },
});

/** A seller paid fees that it owed; `receivedMicros` is what of it is no play money. */
export const feesPaid = defineEvent({
  subject: 'evt.payments-ledger.fees-paid.v1',
  payload: z.object({
    paymentId: id,
    sellerId: id,
    amountMicros: microsText,
    receivedMicros: microsText,
    paidAt: timestamp,
  }),
});

/** The fees due of a seller have exceeded half of its limit. */
export const feesNearLimit = defineEvent({
  subject: 'evt.payments-ledger.fees-near-limit.v1',
  payload: z.object({ sellerId: id, dueMicros: microsText, limitMicros: microsText, at: timestamp }),
});

/**
 * Whether an account's paid listings may be sold. They may not be sold after its fees due were above the limit for too
 * long.
 */
export const sellerStandingChanged = defineEvent({
  subject: 'evt.payments-ledger.seller-standing-changed.v1',
  payload: z.object({
    sellerId: id,
    /** Grows with every change. */
    version: z.number().int(),
    isOverdue: z.boolean(),
    changedAt: timestamp,
  }),
});
