import { z } from 'zod';
import { usdAmount } from './fields.js';
import { id, microsText } from './scalars.js';

const MAX_LISTINGS = 50;

const perPayment =
  'US dollars that one payment may cost, of a call or of a period of a subscription; null is no limit.';
const perPeriod = (period: string): string => `US dollars that may be spent in a ${period} of UTC; null is no limit.`;

/** What an API key or a whole agent may spend, as it is set and shown. An omitted field sets no limit. */
export const budgetFields = z.strictObject({
  per_call_usd: usdAmount.nullable().default(null).describe(perPayment),
  per_day_usd: usdAmount.nullable().default(null).describe(perPeriod('day')),
  per_month_usd: usdAmount.nullable().default(null).describe(perPeriod('month')),
  listings: z
    .array(id)
    .max(MAX_LISTINGS, { error: `must be a list of at most ${MAX_LISTINGS} ids of listings` })
    .nullable()
    .default(null)
    .describe('The listings that may be paid for; null is all of them.'),
  frozen: z.boolean().default(false).describe('Whether nothing may be paid at all.'),
});
export type BudgetFields = z.output<typeof budgetFields>;

export const budgetOf = z.enum(['key', 'agent']);

/** A budget as part of a principal, which services check when they commit money. */
export const budget = z.object({
  /** The id of the key or of the account that it limits. */
  id,
  of: budgetOf,
  perCallMicros: microsText.nullable(),
  perDayMicros: microsText.nullable(),
  perMonthMicros: microsText.nullable(),
  listings: z.array(id).nullable(),
  frozen: z.boolean(),
});
export type Budget = z.output<typeof budget>;
