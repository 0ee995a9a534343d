import { z } from 'zod';
import { defineRequest, declareRefusal } from '../define.js';
import { id, timestamp } from '../shared/index.js';

const usd = z.string().describe('US dollars as decimal text, exact to the micro; negative where it is owed.');

/** A payment as operators find it. */
export const paymentSummary = z.object({
  id,
  purpose: z.enum(['call', 'subscription', 'fee']),
  state: z.string(),
  rail: z.string(),
  scheme: z.string(),
  network: z.string(),
  currency: z.string(),
  gross_usd: usd,
  fee_usd: usd,
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
    amount: z.string(),
    received_amount: z.string(),
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
        amount_usd: usd,
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
      .array(z.object({ day: z.string(), payments: z.number().int(), volume_usd: usd, revenue_usd: usd }))
      .describe('The last 14 days of UTC, oldest first: sales that were completed.'),
    refunds_due: z.object({ payments: z.number().int(), amount_usd: usd }),
    fees_due_usd: usd.describe('Owed by sellers that their buyers paid themselves.'),
    payable_usd: usd.describe('Owed to sellers.'),
    unexplained_usd: usd.describe('The sum of all balances, which is zero.'),
    rails: z.array(
      z.object({
        id: z.string(),
        open: z.number().int().describe('Payments that are neither completed nor given up.'),
        overdue: z.number().int().describe('Of those, what should have ended more than ten minutes ago.'),
        refunds_due: z.number().int(),
        settling: z.number().int(),
        oldest_settlement_seconds: z.number().nullable(),
      }),
    ),
  }),
  refusals: {},
});
