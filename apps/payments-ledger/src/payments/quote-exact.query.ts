import type { InputOf, OutputOf } from '@market/contracts';
import type { ExactTerms, quoteExact } from '@market/contracts/payments-ledger';
import { Inject, Injectable } from '@nestjs/common';
import { zeroAddress, zeroHash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { chooseRoute } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { Prices } from '../rails/prices/prices.js';

type Call = InputOf<typeof quoteExact>['calls'][number];

/** The terms under which an offer would be made. No statement. */
@Injectable()
export class QuoteExact {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    private readonly prices: Prices,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute({ calls }: InputOf<typeof quoteExact>): Promise<OutputOf<typeof quoteExact>> {
    return { terms: await Promise.all(calls.map((call) => this.termsOf(call))) };
  }

  private async termsOf({ priceMicros, preferredCurrency }: Call): Promise<ExactTerms | null> {
    const choice = await chooseRoute(this.rails, this.prices, { preferredCurrency, priceMicros: BigInt(priceMicros), mayFallBack: this.config.defaultRoute === 'supported' });
    if (choice.kind !== 'chosen') return null;
    const { rail, route, amountBaseUnits } = choice;
    const asked = rail.exact?.requirements({ relayRequestId: zeroHash, depositAddress: zeroAddress, route, amountBaseUnits });
    if (!asked) return null;
    const { payTo: _payTo, extra, ...terms } = asked;
    return { ...terms, extra: { name: extra.name, version: extra.version } };
  }
}
