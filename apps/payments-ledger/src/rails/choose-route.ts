import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { PaymentRail, Route } from './payment-rail.js';

export interface RouteWish {
  originCurrency?: Currency;
  /** A CAIP-2 id or its reference alone: "eip155:84532" or "84532". */
  originChainId?: string;
  preferredCurrency: Currency;
  priceMicros: Micros;
  /** Whether a route nobody asked for may be left for one that carries the price. */
  mayFallBack: boolean;
}

export type RouteChoice = { kind: 'chosen'; rail: PaymentRail; route: Route } | { kind: 'below_minimum' } | { kind: 'unavailable' };

interface Option {
  rail: PaymentRail;
  route: Route;
}

/**
 * The route asked for, of several on the chain asked for the preferred currency's first; else the listing's preferred
 * currency if it carries the price; else the one with the least minimum that does.
 */
export function chooseRoute(rails: PaymentRail[], wish: RouteWish): RouteChoice {
  const { originCurrency, originChainId, preferredCurrency } = wish;
  const options = rails.flatMap((rail) => rail.routes().map((route): Option => ({ rail, route }))).filter(({ route }) => onChain(route, originChainId));
  const preferred = options.filter(({ route }) => route.currency === (originCurrency ?? preferredCurrency));
  const others = options.filter((option) => !preferred.includes(option)).sort((a, b) => Number(a.route.minimumMicros - b.route.minimumMicros));
  const mayLeave = originCurrency === undefined && (originChainId !== undefined || wish.mayFallBack);
  const candidates = mayLeave ? [...preferred, ...others] : preferred;
  if (candidates.length === 0) return { kind: 'unavailable' };
  const chosen = candidates.find(({ route }) => wish.priceMicros >= route.minimumMicros);
  return chosen ? { kind: 'chosen', ...chosen } : { kind: 'below_minimum' };
}

function onChain(route: Route, chainId: string | undefined): boolean {
  return chainId === undefined || route.network === chainId || route.network.slice(route.network.indexOf(':') + 1) === chainId;
}
