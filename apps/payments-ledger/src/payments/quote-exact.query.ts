import type { InputOf, OutputOf } from '@market/contracts';
import type { ExactTerms, quoteExact } from '@market/contracts/payments-ledger';
import type { Micros } from '@market/kernel';
import { Inject, Injectable } from '@nestjs/common';
import { zeroHash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { exactRoutes } from '../rails/exact-routes.js';
import { baseUnitsOf, PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';

/** The terms under which keyless offers would be made. No statement. */
@Injectable()
export class QuoteExact {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  execute({ prices }: InputOf<typeof quoteExact>): OutputOf<typeof quoteExact> {
    const minimum = BigInt(this.config.minimumX402Micros);
    return {
      terms: prices.map((price) => (BigInt(price) >= minimum ? this.termsOf(BigInt(price)) : [])),
      minimumMicros: minimum.toString(),
    };
  }

  private termsOf(price: Micros): ExactTerms[] {
    return exactRoutes(this.rails).flatMap(({ exact, route }) => {
      const asked = exact.requirements({
        relayRequestId: zeroHash,
        payTo: exact.payTo,
        route,
        amountBaseUnits: baseUnitsOf(price, route),
      });
      if (!asked) return [];
      const { extra, ...terms } = asked;
      return [{ ...terms, extra: { name: extra.name, version: extra.version } }];
    });
  }
}
