import type { InputOf, OutputOf } from '@market/contracts';
import type { ExactTerms, quoteExact } from '@market/contracts/payments-ledger';
import type { Micros } from '@market/kernel';
import { Inject, Injectable } from '@nestjs/common';
import { zeroAddress, zeroHash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { exactRoutes } from '../rails/exact-routes.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { Prices } from '../rails/prices/prices.js';
import { toBaseUnits } from '../rails/prices/unit-price.js';

/** The terms under which keyless offers would be made. No statement. */
@Injectable()
export class QuoteExact {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    private readonly prices: Prices,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute({ prices }: InputOf<typeof quoteExact>): Promise<OutputOf<typeof quoteExact>> {
    const unitPrice = await this.prices.of('USDC');
    return { terms: prices.map((price) => (unitPrice && BigInt(price) >= BigInt(this.config.minimumExactMicros) ? this.termsOf(BigInt(price), unitPrice.micros) : [])) };
  }

  private termsOf(price: Micros, unitPriceMicros: bigint): ExactTerms[] {
    return exactRoutes(this.rails).flatMap(({ exact, route }) => {
      const asked = exact.requirements({ relayRequestId: zeroHash, depositAddress: zeroAddress, route, amountBaseUnits: toBaseUnits(price, unitPriceMicros, route.decimals) });
      if (!asked) return [];
      const { payTo: _payTo, extra, ...terms } = asked;
      return [{ ...terms, extra: { name: extra.name, version: extra.version } }];
    });
  }
}
