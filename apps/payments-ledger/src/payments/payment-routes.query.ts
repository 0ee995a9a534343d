import type { OutputOf } from '@market/contracts';
import { listPaymentRoutes, type OtherRoute, type PaymentRoute } from '@market/contracts/payments-ledger';
import { usdNumber } from '@market/kernel';
import { HandleRequest } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import type { PaymentRow } from './payment.js';
import { routesOf, type RailRoute } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';

/** Lists the routes of all enabled rails. */
@Injectable()
export class PaymentRoutes {
  constructor(@Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[]) {}

  @HandleRequest(listPaymentRoutes)
  list(): OutputOf<typeof listPaymentRoutes> {
    return { routes: this.named().map(toView) };
  }

  /** The open routes that can carry the price of an offer, without the offer's own currency and chain. */
  besides(offer: PaymentRow): OtherRoute[] {
    return this.named()
      .filter(
        ({ route }) =>
          route.closed === undefined &&
          BigInt(offer.gross_micros) >= route.minimumMicros &&
          (route.currency !== offer.currency || route.network !== offer.network),
      )
      .map(toView)
      .map(({ provider, currency, network, schemes, headers }) => ({ provider, currency, network, schemes, headers }));
  }

  /** The routes that a request can name. */
  private named(): RailRoute[] {
    return routesOf(this.rails).filter(({ route }) => !route.isDefaultOnly);
  }
}

function toView({
  rail,
  route: { currency, network, decimals, scheme, minimumMicros, unitPriceMicros, closed },
}: RailRoute): PaymentRoute {
  return {
    provider: rail.id,
    currency,
    network,
    chain_id: network.slice(network.indexOf(':') + 1),
    decimals,
    schemes: rail.exact && currency === 'USDC' && scheme === 'deposit' ? ['deposit', 'exact'] : [scheme],
    minimum_usd: usdNumber(minimumMicros),
    unit_price_usd: unitPriceMicros === null ? null : usdNumber(unitPriceMicros),
    closed: closed ?? null,
    headers: { 'X-Market-Origin-Currency': currency, 'X-Market-Origin-Chain-Id': network },
  };
}
