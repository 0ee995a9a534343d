import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';

/** What one whole unit of a currency costs in USD micros. */
export interface PriceFeed {
  priceMicros(currency: Currency): Micros;
}

export const PRICE_FEED = Symbol('price feed');

/** Prices as the operator configured them; USDC is a dollar. */
export const fixedPriceFeed = (prices: { ETH: Micros; SOL: Micros }): PriceFeed => ({
  priceMicros: (currency) => (currency === 'USDC' ? 1_000_000n : prices[currency]),
});

/** A USD price in a currency's base units, rounded up so that what arrives always covers the price. */
export function toBaseUnits(usd: Micros, unitPrice: Micros, decimals: number): bigint {
  return (usd * 10n ** BigInt(decimals) + unitPrice - 1n) / unitPrice;
}
