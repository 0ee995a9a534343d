import { z } from 'zod';
import { defineRequest, declareRefusal } from '../define.js';
import { id, timestamp } from '../shared/index.js';

/** Exact to the micro; negative where it is owed. */
const usd = (what: string) => z.string().describe(`${what}, in US dollars as decimal text.`);

/** A payment as operators find it. */
export const paymentSummary = z.object({
  id,
  purpose: z
    .enum(['call', 'included', 'subscription', 'fee'])
    .describe('What it pays for; included is a call of a period that is paid, or of a trial.'),
  state: z.string(),
  rail: z.string(),
  scheme: z.string(),
  network: z.string(),
  currency: z.string().describe('The asset that is paid; `amount` and `received_amount` are in it.'),
  gross_usd: usd('The price'),
  fee_usd: usd('The fee of the marketplace in the price'),
  buyer_id: id,
  seller_id: id.nullable(),
  listing: z.object({ id, name: z.string(), slug: z.string() }).nullable(),
  gateway_request_id: id.nullable(),
  relay_request_id: z.string(),
  transaction_hash: z.string().nullable(),
  created_at: timestamp,
  completed_at: timestamp.nullable(),
});

/**
 * Finds payments by id, relay request id or transaction, and payments of an account by its receipts: at most 20, newest
 * first.
 */
export const findPayments = defineRequest({
  subject: 'rpc.payments-ledger.find-payments.v1',
  repeatable: true,
  input: z.object({ ids: z.array(id).max(50), reference: z.string().max(200).optional(), accountId: id.optional() }),
  output: z.object({ payments: z.array(paymentSummary) }),
  refusals: {},
});

/** A payment with its signed authorizations and its journal entries. */
export const inspectPayment = defineRequest({
  subject: 'rpc.payments-ledger.inspect-payment.v1',
  repeatable: true,
  input: z.object({ paymentId: id }),
  output: paymentSummary.extend({
    pay_to: z.string(),
    payee: z.string(),
    amount: z.string().describe('What was asked for, in whole units of `currency`, as decimal text.'),
    received_amount: z.string().describe('What arrived, in whole units of `currency`, as decimal text.'),
    expires_at: timestamp,
    retry_until: timestamp.nullable(),
    authorizations: z.array(
      z.object({
        id,
        state: z.string(),
        network: z.string(),
        payer: z.string(),
        attempts: z.number().int(),
        reason: z.string().nullable(),
        valid_before: timestamp,
        created_at: timestamp,
      }),
    ),
    entries: z.array(
      z.object({
        reason: z.string(),
        account: z.string(),
        type: z.string(),
        direction: z.enum(['debit', 'credit']),
        amount_usd: usd('What was booked'),
        recorded_at: timestamp,
      }),
    ),
  }),
  refusals: { payment_not_found: declareRefusal('not-found', 'No such payment', z.object({})) },
});

/** Sales, balances and open payments of the marketplace. The answer may be some seconds old. */
export const getMoneyOverview = defineRequest({
  subject: 'rpc.payments-ledger.get-money-overview.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({
    days: z
      .array(
        z.object({
          day: z.string(),
          payments: z.number().int(),
          volume_usd: usd('Prices of these sales'),
          revenue_usd: usd('Fees on them'),
        }),
      )
      .describe('The last 14 days of UTC, oldest first: sales that were completed.'),
    refunds_due: z
      .object({ payments: z.number().int(), amount_usd: usd('What is owed back') })
      .describe('Payments whose money is owed back, and how much it is.'),
    fees_due_usd: usd('Fees that sellers owe whose buyers paid them directly'),
    payable_usd: usd('What is owed to sellers'),
    unexplained_usd: usd('The sum of all balances, which has to be zero'),
    rails: z.array(
      z.object({
        id: z.string(),
        open: z.number().int().describe('Payments that are neither completed nor given up.'),
        overdue: z.number().int().describe('Of those, what should have ended more than ten minutes ago.'),
        refunds_due: z.number().int().describe('The number of its payments whose money is owed back.'),
        settling: z.number().int(),
        oldest_settlement_seconds: z.number().nullable(),
      }),
    ),
  }),
  refusals: {},
});
