import { z } from 'zod';
import { timestamp } from '../shared/index.js';

/** The provider, the scheme and the network of a payment of nothing, for a call that is included. */
export const INCLUDED = 'included';

const counted = {
  used: z.number().int().describe('Those that were delivered or are under way; what fails is given back.'),
  left: z.number().int().describe('How many more cost nothing.'),
  ends_at: timestamp.nullable().describe('When the period ends; a trial has no end.'),
};

/** The calls that a period of a subscription, or a trial, includes, and what of them is left. */
export const callQuota = z.object({ calls: z.number().int().describe('How many calls are included.'), ...counted });

/** The same of a period that includes units. A call under way has the most that it may use. */
export const unitQuota = z.object({
  unit: z.string().describe('What is counted.'),
  units: z.number().int().describe('How many units are included.'),
  ...counted,
});

/** What of a listing is included for a buyer. */
export const includedCalls = z.object({
  period: callQuota.nullable().describe('Of the current period of the subscription; null without one.'),
  units: unitQuota.nullable().describe('Of the current period, where it includes units; null without one.'),
  trial: callQuota
    .extend({
      open: z.boolean().describe('Whether the buyer has bought enough here to try it; see minimum_spent.'),
      minimum_spent: z
        .number()
        .describe('US dollars that a buyer has to have spent here before free_calls are given to it.'),
    })
    .nullable()
    .describe('The free_calls of the listing; null if it gives none.'),
});
