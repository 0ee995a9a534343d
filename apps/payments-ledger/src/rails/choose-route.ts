import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { PaymentRail, Route } from './payment-rail.js';

export interface RoutePreference {
  originCurrency?: Currency;
  /** A CAIP-2 id or its reference alone: "eip155:84532" or "84532". */
  originChainId?: string;
  preferredCurrency: Currency;
  priceMicros: Micros;
  /** Whether the preferred currency may be replaced if its routes cannot carry the price. */
  mayFallBack: boolean;
}

export interface RailRoute {
  rail: PaymentRail;
  route: Route;
}

export type RouteChoice = ({ kind: 'chosen' } & RailRoute) | { kind: 'below_minimum' } | { kind: 'unavailable' };

/**
 * Returns the first route that can carry the price. If the buyer requests a currency, only its routes are considered.
 * Otherwise the listing's preferred currency comes first. The other routes follow, lowest minimum first, if the buyer
 * requests a chain or `mayFallBack` is set. If the buyer requests a chain, only routes on it are considered.
 */
export function chooseRoute(rails: PaymentRail[], wish: RoutePreference): RouteChoice {
  const candidates = candidatesFor(rails, wish);
  const chosen = candidates.find(({ route }) => wish.priceMicros >= route.minimumMicros);
  if (chosen) return { kind: 'chosen', ...chosen };
  return { kind: candidates.length === 0 ? 'unavailable' : 'below_minimum' };
}

function candidatesFor(
  rails: PaymentRail[],
  { originCurrency, originChainId, preferredCurrency, mayFallBack }: RoutePreference,
): RailRoute[] {
  const options = rails
    .flatMap((rail) => rail.routes().map((route): RailRoute => ({ rail, route })))
    .filter(({ route }) => onChain(route, originChainId));
  const preferred = options.filter(({ route }) => route.currency === (originCurrency ?? preferredCurrency));
  const others = options
    .filter((option) => !preferred.includes(option))
    .sort((a, b) => Number(a.route.minimumMicros - b.route.minimumMicros));
  const mayLeave = originCurrency === undefined && (originChainId !== undefined || mayFallBack);
  return mayLeave ? [...preferred, ...others] : preferred;
}

function onChain(route: Route, chainId: string | undefined): boolean {
  return (
    chainId === undefined ||
    route.network === chainId ||
    route.network.slice(route.network.indexOf(':') + 1) === chainId
  );
}
