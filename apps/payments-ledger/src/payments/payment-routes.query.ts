import type { OutputOf } from '@market/contracts';
import type { listPaymentRoutes, PaymentRoute } from '@market/contracts/payments-ledger';
import { usdNumber } from '@market/kernel';
import { Inject, Injectable } from '@nestjs/common';
import { PAYMENT_RAILS, type PaymentRail, type Route } from '../rails/payment-rail.js';

/** Lists the routes of all enabled rails. */
@Injectable()
export class PaymentRoutes {
  constructor(@Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[]) {}

  list(): OutputOf<typeof listPaymentRoutes> {
    return { routes: this.rails.flatMap((rail) => rail.routes().map((route) => toView(rail, route))) };
  }
}

function toView(
  rail: PaymentRail,
  { currency, network, decimals, scheme, minimumMicros, unitPriceMicros }: Route,
): PaymentRoute {
  return {
    provider: rail.id,
    currency,
    network,
    chain_id: network.slice(network.indexOf(':') + 1),
    decimals,
    schemes: rail.exact && currency === 'USDC' && scheme === 'deposit' ? ['deposit', 'exact'] : [scheme],
    minimum_usd: usdNumber(minimumMicros),
    unit_price_usd: unitPriceMicros === null ? null : usdNumber(unitPriceMicros),
    headers: { 'X-Market-Origin-Currency': currency, 'X-Market-Origin-Chain-Id': network },
  };
}
