import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { PaymentRail, Route } from './payment-rail.js';
import type { Prices } from './prices/prices.js';
import { leastPrice, toBaseUnits, type UnitPrice } from './prices/unit-price.js';

export interface RouteWish {
  originCurrency?: Currency;
  /** A CAIP-2 id or its reference alone: "eip155:84532" or "84532". */
  originChainId?: string;
  preferredCurrency: Currency;
  priceMicros: Micros;
  /** Whether a route nobody asked for may be left for one that carries the price. */
  mayFallBack: boolean;
}

export interface RouteQuote {
  rail: PaymentRail;
  route: Route;
  unitPrice: UnitPrice;
  amountBaseUnits: bigint;
}

export type RouteChoice = ({ kind: 'chosen' } & RouteQuote) | { kind: 'below_minimum' } | { kind: 'unavailable' } | { kind: 'price_unavailable'; currency: Currency };

interface Option {
  rail: PaymentRail;
  route: Route;
}

/**
 * The route asked for, of several on the chain asked for the preferred currency's first; else the listing's preferred
 * currency if it carries the price; else the one with the least minimum that does. Of these the first whose currency has a price.
 */
export async function chooseRoute(rails: PaymentRail[], prices: Pick<Prices, 'of'>, wish: RouteWish): Promise<RouteChoice> {
  const candidates = candidatesFor(rails, wish);
  if (candidates.length === 0) return { kind: 'unavailable' };
  const options = candidates.filter(({ route }) => wish.priceMicros >= route.minimumMicros);
  let unpriced: Currency | undefined;
  for (const { rail, route } of options) {
    const unitPrice = await prices.of(route.currency);
    if (unitPrice && wish.priceMicros >= minimumOf(route, unitPrice.micros)) return { kind: 'chosen', rail, route, unitPrice, amountBaseUnits: toBaseUnits(wish.priceMicros, unitPrice.micros, route.decimals) };
    if (!unitPrice) unpriced ??= route.currency;
  }
  return unpriced ? { kind: 'price_unavailable', currency: unpriced } : { kind: 'below_minimum' };
}

/** Least price in micros that a route carries while its currency costs so much. */
export function minimumOf({ minimumMicros, minimumBaseUnits = 0n, decimals }: Route, unitPrice: Micros): Micros {
  const carried = leastPrice(minimumBaseUnits, unitPrice, decimals);
  return carried > minimumMicros ? carried : minimumMicros;
}

function candidatesFor(rails: PaymentRail[], { originCurrency, originChainId, preferredCurrency, mayFallBack }: RouteWish): Option[] {
  const options = rails.flatMap((rail) => rail.routes().map((route): Option => ({ rail, route }))).filter(({ route }) => onChain(route, originChainId));
  const preferred = options.filter(({ route }) => route.currency === (originCurrency ?? preferredCurrency));
  const others = options.filter((option) => !preferred.includes(option)).sort((a, b) => Number(a.route.minimumMicros - b.route.minimumMicros));
  const mayLeave = originCurrency === undefined && (originChainId !== undefined || mayFallBack);
  return mayLeave ? [...preferred, ...others] : preferred;
}

function onChain(route: Route, chainId: string | undefined): boolean {
  return chainId === undefined || route.network === chainId || route.network.slice(route.network.indexOf(':') + 1) === chainId;
}
