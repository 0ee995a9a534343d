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

/** The route asked for; else the listing's preferred currency if it carries the price; else the one with the least minimum that does. */
export function chooseRoute(rails: PaymentRail[], wish: RouteWish): RouteChoice {
  const options = rails.flatMap((rail) => rail.routes().map((route) => ({ rail, route }))).filter(({ route }) => onChain(route, wish.originChainId));
  const explicit = wish.originCurrency !== undefined || wish.originChainId !== undefined;
  const wanted = options.filter(({ route }) => route.currency === (wish.originCurrency ?? (wish.originChainId ? route.currency : wish.preferredCurrency)));
  if (wanted.length === 0 && explicit) return { kind: 'unavailable' };
  const carries = ({ route }: { route: Route }): boolean => wish.priceMicros >= route.minimumMicros;
  const chosen = wanted.find(carries);
  if (chosen) return { kind: 'chosen', ...chosen };
  if (explicit || !wish.mayFallBack) return { kind: 'below_minimum' };
  const [cheapest] = options.filter(carries).sort((a, b) => Number(a.route.minimumMicros - b.route.minimumMicros));
  return cheapest ? { kind: 'chosen', ...cheapest } : { kind: 'below_minimum' };
}

function onChain(route: Route, chainId: string | undefined): boolean {
  return chainId === undefined || route.network === chainId || route.network.slice(route.network.indexOf(':') + 1) === chainId;
}
