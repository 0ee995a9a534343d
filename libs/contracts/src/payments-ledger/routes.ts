import { z } from 'zod';
import { defineRequest } from '../define.js';
import { currency } from '../shared/index.js';

/** One way a payment can take, as a buyer chooses it. Prices in US dollars. */
export const paymentRoute = z.object({
  provider: z.string(),
  currency,
  /** CAIP-2, and its reference alone. */
  network: z.string(),
  chain_id: z.string(),
  /** Of one whole unit in the chain's smallest. */
  decimals: z.number().int(),
  /** `deposit`: a transfer to an address; `exact`: a signed authorization of x402. */
  schemes: z.array(z.enum(['deposit', 'exact'])),
  minimum_usd: z.number(),
  /** Of one whole unit of the currency; null where it is known of an offer alone. */
  unit_price_usd: z.number().nullable(),
  /** Sent with a call, they choose this route. */
  headers: z.object({ 'X-Market-Origin-Currency': currency, 'X-Market-Origin-Chain-Id': z.string() }),
});
export type PaymentRoute = z.output<typeof paymentRoute>;

/** Every route that is on. */
export const listPaymentRoutes = defineRequest({
  subject: 'rpc.payments-ledger.list-payment-routes.v1',
  repeatable: true,
  input: z.object({}),
  output: z.object({ routes: z.array(paymentRoute) }),
  refusals: {},
});
