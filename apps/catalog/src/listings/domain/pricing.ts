import { MICROS_PER_USD, type Micros } from '@market/kernel';

export const MAX_PRICE_MICROS: Micros = 1_000_000n * MICROS_PER_USD;

export interface Price {
  model: 'free' | 'per_call' | 'monthly' | 'yearly' | 'usage_tiered';
  amountMicros: Micros;
  /** The currency prices are shown in. Every price is in USD, so showing another name beside it would mislead a buyer. */
  currency: string;
}

/** What is wrong with a price, in words for its seller; null when nothing is. A paid model may cost nothing; free must. */
export function pricingProblem({ model, amountMicros, currency }: Price): string | null {
  if (currency !== 'USD') return 'pricing_currency must be USD';
  if (model === 'free' && amountMicros !== 0n) return 'pricing_amount must be 0 on free listings';
  if (amountMicros < 0n || amountMicros > MAX_PRICE_MICROS) return 'pricing_amount must be 0 to 1000000 USD';
  return null;
}
