import type { OutputOf } from '@market/contracts';
import type { listPaymentRoutes, PaymentRoute } from '@market/contracts/payments-ledger';
import { usdNumber } from '@market/kernel';
import { Inject, Injectable } from '@nestjs/common';
import { zeroAddress, zeroHash } from 'viem';
import { minimumOf } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail, type Route } from '../rails/payment-rail.js';
import { Prices } from '../rails/prices/prices.js';

/** The routes of every rail that is on, with what their currencies cost now. No statement. */
@Injectable()
export class PaymentRoutes {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    private readonly prices: Prices,
  ) {}

  async list(): Promise<OutputOf<typeof listPaymentRoutes>> {
    return { routes: await Promise.all(this.rails.flatMap((rail) => rail.routes().map((route) => this.toView(rail, route)))) };
  }

  private async toView(rail: PaymentRail, route: Route): Promise<PaymentRoute> {
    const { currency, network, decimals, minimumMicros } = route;
    const price = await this.prices.of(currency);
    const takesSigned = rail.exact?.requirements({ relayRequestId: zeroHash, depositAddress: zeroAddress, route, amountBaseUnits: 1n });
    return {
      provider: rail.id,
      currency,
      network,
      chain_id: network.slice(network.indexOf(':') + 1),
      decimals,
      schemes: takesSigned ? ['deposit', 'exact'] : ['deposit'],
      minimum_usd: usdNumber(price ? minimumOf(route, price.micros) : minimumMicros),
      unit_price_usd: price && usdNumber(price.micros),
      price_updated_at: price?.at?.toISOString() ?? null,
      available: price !== null,
      unavailable_reason: price ? null : 'price_unavailable',
      headers: { 'X-Market-Origin-Currency': currency, 'X-Market-Origin-Chain-Id': network },
    };
  }
}
