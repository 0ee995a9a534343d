import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { budgetOf, id, microsText, timestamp } from '../shared/index.js';

/** Four fifths or all of a budget's limit for a day or a month are spent. */
export const budgetReached = defineEvent({
  subject: 'evt.payments-ledger.budget-reached.v1',
  payload: z.object({
    accountId: id,
    budgetId: id,
    budget: budgetOf,
    period: z.enum(['day', 'month']),
    isExhausted: z.boolean(),
    spentMicros: microsText,
    limitMicros: microsText,
    resetsAt: timestamp,
    at: timestamp,
  }),
});

/** A payment with a key counts against the key's budget and against its agent's. */
export const budgetExceeded = declareRefusal(
  'forbidden',
  'A budget of this API key or of its agent does not allow this payment; nothing was paid for it now',
  z.object({
    budget: budgetOf.describe('Whose budget it is.'),
    limit: z.enum(['per_day', 'per_month', 'per_call', 'listings', 'frozen']),
    limit_usd: z
      .number()
      .nullable()
      .meta({ examples: [5] }),
    price_usd: z.number().meta({ examples: [0.25] }),
    /** The amount spent in the period; null if the limit is not for a period. */
    spent_usd: z
      .number()
      .nullable()
      .meta({ examples: [4.9] }),
    /** When the day or the month of the limit ends; null if waiting changes nothing. */
    resets_at: timestamp.nullable().meta({ examples: ['2026-11-22T00:00:00.000Z'] }),
  }),
  { nextAction: 'change_budget' },
);

const spentInPeriod = z.object({
  from: timestamp,
  resets_at: timestamp,
  spent_usd: z
    .number()
    .describe('What was spent in the period, in US dollars: what is charged, and what is committed and may be.'),
});

/**
 * The amounts that were spent in the current day and month (UTC) under a budget of the caller: that of a key, or of the
 * account. They count the whole day and month, also before there was a budget. A payment that is not charged yet counts until it
 * ends.
 */
export const getSpending = defineRequest({
  subject: 'rpc.payments-ledger.get-spending.v1',
  repeatable: true,
  input: z.object({ budgetId: id }),
  output: z.object({ day: spentInPeriod, month: spentInPeriod }),
  refusals: {},
});
