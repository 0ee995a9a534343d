import type { PaymentRail, Route } from './payment-rail.js';

/** A route that a signed authorization can pay. */
export interface ExactRoute {
  rail: PaymentRail;
  exact: NonNullable<PaymentRail['exact']>;
  route: Route & { unitPriceMicros: bigint };
}

/** The routes on which offers are made now. */
export const openExactRoutes = (rails: PaymentRail[]): ExactRoute[] =>
  exactRoutes(rails).filter(({ route }) => route.closed === undefined);

/** Returns one route for each chain, of the first rail that serves the chain. */
export function exactRoutes(rails: PaymentRail[]): ExactRoute[] {
  const routes = new Map<string, ExactRoute>();
  for (const rail of rails) {
    if (!rail.exact) continue;
    for (const { unitPriceMicros, ...route } of rail.routes()) {
      if (route.currency === 'USDC' && unitPriceMicros !== null && !routes.has(route.network))
        routes.set(route.network, { rail, exact: rail.exact, route: { ...route, unitPriceMicros, scheme: 'exact' } });
    }
  }
  return [...routes.values()];
}
