import { z } from 'zod';
import { defineRequest } from '../define.js';
import { currency } from '../shared/index.js';

/** A payment route that a buyer can choose. Prices are in US dollars. */
export const paymentRoute = z.object({
  provider: z.string(),
  currency: currency.describe('The asset that the route takes.'),
  /** `network` is a CAIP-2 id; `chain_id` is the reference in it. */
  network: z.string(),
  chain_id: z.string(),
  /** The number of decimals of the currency, from whole units to base units. */
  decimals: z.number().int(),
  /** `deposit`: a transfer to an address; `exact`: a signed authorization of x402. */
  schemes: z.array(z.enum(['deposit', 'exact'])),
  minimum_usd: z.number().describe('The least price in US dollars that the route takes.'),
  unit_price_usd: z
    .number()
    .nullable()
    .describe('What one whole unit of `currency` is worth in US dollars; null if it is known only for an offer.'),
  closed: z.string().nullable().describe('Why no offer is made on this route now; null if offers are made.'),
  /** The headers of a call that choose this route. */
  headers: z.object({
    'X-Market-Origin-Currency': currency.describe('The asset, as the header names it.'),
    'X-Market-Origin-Chain-Id': z.string(),
  }),
});
export type PaymentRoute = z.output<typeof paymentRoute>;

/** Lists every enabled route. */
export const listPaymentRoutes = defineRequest({
  subject: 'rpc.payments-ledger.list-payment-routes.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ routes: z.array(paymentRoute) }),
  refusals: {},
});
