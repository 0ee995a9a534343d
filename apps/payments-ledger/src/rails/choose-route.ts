import type { Currency } from '@market/contracts';
import type { Micros } from '@market/kernel';
import type { PaymentRail, Route } from './payment-rail.js';

export interface RoutePreference {
  originCurrency?: Currency;
  /** A CAIP-2 id or its reference alone: "eip155:84532" or "84532". */
  originChainId?: string;
  preferredCurrency: Currency;
  /** Whether a route that a signature pays comes before the preferred currency, as for a call of an x402 client. */
  prefersSignature: boolean;
  priceMicros: Micros;
  /** Whether another currency than the preferred one may be chosen if the buyer names neither currency nor chain. */
  mayFallBack: boolean;
}

export interface RailRoute {
  rail: PaymentRail;
  route: Route;
}

export type RouteChoice = ({ kind: 'chosen' } & RailRoute) | { kind: 'below_minimum' } | { kind: 'unavailable' };

export const routesOf = (rails: PaymentRail[]): RailRoute[] =>
  rails.flatMap((rail) => rail.routes().map((route) => ({ rail, route })));

/**
 * Returns the first route that can carry the price. If the buyer requests a currency, only its routes are considered, and
 * if it requests a chain, only routes on it. If it requests no currency, and requests a chain or `mayFallBack` is set, the
 * routes of all currencies are considered: with `prefersSignature` those that a signature pays come first. The listing's
 * preferred currency comes before the others, and then the lowest minimum.
 */
export function chooseRoute(rails: PaymentRail[], wish: RoutePreference): RouteChoice {
  const candidates = candidatesFor(rails, wish);
  const chosen = candidates.find(({ route }) => wish.priceMicros >= route.minimumMicros);
  if (chosen) return { kind: 'chosen', ...chosen };
  return { kind: candidates.length === 0 ? 'unavailable' : 'below_minimum' };
}

function candidatesFor(
  rails: PaymentRail[],
  { originCurrency, originChainId, preferredCurrency, prefersSignature, mayFallBack }: RoutePreference,
): RailRoute[] {
  const options = routesOf(rails)
    .filter(({ route }) => route.closed === undefined && onChain(route, originChainId))
    .filter(({ route }) => originCurrency === undefined || !route.isDefaultOnly);
  const isPreferred = ({ route }: RailRoute): boolean => route.currency === (originCurrency ?? preferredCurrency);
  const mayLeave = originCurrency === undefined && (originChainId !== undefined || mayFallBack);
  if (!mayLeave) return options.filter(isPreferred);
  const rank = (option: RailRoute): number =>
    (isPreferred(option) ? 0 : 1) + (prefersSignature && !isSignable(option) ? 2 : 0);
  // Routes of one rank stay in the order of the configuration, unless nothing speaks for any of them.
  const byCost = (a: RailRoute, b: RailRoute): number =>
    Number(isDeposit(a)) - Number(isDeposit(b)) || Number(a.route.minimumMicros - b.route.minimumMicros);
  const isAny = (option: RailRoute): boolean => !isPreferred(option) && !(prefersSignature && isSignable(option));
  return options.sort((a, b) => rank(a) - rank(b) || (isAny(a) ? byCost(a, b) : 0));
}

const isDeposit = ({ route }: RailRoute): boolean => route.scheme === 'deposit';
/** The deposits of a rail that takes signatures of the same currency on the same chain can be paid by one, too. */
const isSignable = ({ rail, route: { currency, network } }: RailRoute): boolean =>
  rail.routes().some((other) => other.scheme === 'exact' && other.currency === currency && other.network === network);

function onChain(route: Route, chainId: string | undefined): boolean {
  return (
    chainId === undefined ||
    route.network === chainId ||
    route.network.slice(route.network.indexOf(':') + 1) === chainId
  );
}
