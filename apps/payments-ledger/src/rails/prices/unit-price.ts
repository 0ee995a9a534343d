import type { Micros } from '@market/kernel';

/** What one whole unit of a currency costs, in USD micros. */
export interface UnitPrice {
  micros: Micros;
  /** When its source says it was so; null where it has no time: a dollar, or what the operator fixed. */
  at: Date | null;
}

export const DOLLAR: UnitPrice = { micros: 1_000_000n, at: null };

/** A USD price in a currency's base units, rounded up so that what arrives always covers the price. */
export function toBaseUnits(usd: Micros, unitPrice: Micros, decimals: number): bigint {
  return (usd * 10n ** BigInt(decimals) + unitPrice - 1n) / unitPrice;
}

/** The least USD price that is so many base units or more. */
export function leastPrice(baseUnits: bigint, unitPrice: Micros, decimals: number): Micros {
  return baseUnits <= 0n ? 0n : ((baseUnits - 1n) * unitPrice) / 10n ** BigInt(decimals) + 1n;
}

/** A price of so many decimals in micros, rounded down: a cheaper coin means more of it, and the seller's price stays covered. @throws Error unless it is above 0. */
export function microsOf(units: bigint, decimals: number): Micros {
  const micros = (units * 1_000_000n) / 10n ** BigInt(decimals);
  if (micros <= 0n) throw new Error('the price is not above 0');
  return micros;
}
