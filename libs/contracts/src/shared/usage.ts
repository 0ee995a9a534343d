import { MAX_UNITS } from '@market/kernel';
import { z } from 'zod';
import { text, usdAmount, wholeNumber } from './fields.js';

const MAX_TIERS = 5;
const MAX_PER = 1_000_000_000;

const tier = z.strictObject({
  up_to: wholeNumber(1, MAX_UNITS)
    .nullable()
    .default(null)
    .describe('The last unit of the tier; null, or left out, for the last tier.'),
  price: usdAmount.describe('US dollars for `per` units of this tier.'),
});

/** How a call is priced by what it used. What its seller sets is what is shown and what is charged by. */
export const usage = z
  .strictObject({
    unit: text(1, 30).describe('What is counted, such as token, page or result.'),
    per: wholeNumber(1, MAX_PER).default(1).describe('How many units the price of a tier is for.'),
    tiers: z
      .array(tier)
      .min(1, { error: `must be a list of 1 to ${MAX_TIERS} tiers` })
      .max(MAX_TIERS, { error: `must be a list of 1 to ${MAX_TIERS} tiers` })
      .refine((tiers) => tiers.every(({ up_to }, n) => (up_to === null) === (n === tiers.length - 1)), {
        error: 'every tier but the last must have up_to',
      })
      .refine((tiers) => tiers.every(({ up_to }, n) => up_to === null || n === 0 || up_to > tiers[n - 1]!.up_to!), {
        error: 'up_to must grow from tier to tier',
      })
      .refine((tiers) => tiers.some(({ price }) => price > 0), { error: 'a tier must have a price above 0' })
      .describe('Each unit costs what its own tier says; the sum is rounded down to a millionth of a dollar.'),
  })
  .describe(
    'Of a per_call listing: a call costs what it used, by tiers(units), and never more than pricing_amount, which is what ' +
      'its 402 asks for. The seller says the units in its answer.',
  );

/** What a period of a subscription includes that is counted in units. */
export const includedUnits = z
  .strictObject({
    unit: text(1, 30).describe('What is counted, such as token, page or result.'),
    units: wholeNumber(1, MAX_UNITS).describe('How many a period includes.'),
    per_call: wholeNumber(1, MAX_UNITS).describe(
      'The most that one call counts; as many are taken while it is under way.',
    ),
  })
  .describe(
    'Of usage_tiered: pricing_amount is the price of a month with so many units, which are called through the gateway. ' +
      'The seller says in its answer how many a call used. null: none, and subscribers connect as connection_instructions say.',
  );

export type IncludedUnits = z.output<typeof includedUnits>;

/** What a call used, with the seller's word for it. */
export const used = z.object({
  unit: z.string().describe('What was counted.'),
  units: z.number().int().describe('How many the seller said.'),
});

/** The number of units of a call that is priced by use. */
export const units = z.number().int().min(0).max(MAX_UNITS);
