import type { InputOf, OutputOf } from '@market/contracts';
import type { ExactTerms, quoteExact } from '@market/contracts/payments-ledger';
import { Inject, Injectable } from '@nestjs/common';
import { zeroAddress, zeroHash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { chooseRoute } from '../rails/choose-route.js';
import { PAYMENT_RAILS, type PaymentRail } from '../rails/payment-rail.js';
import { PRICE_FEED, toBaseUnits, type PriceFeed } from '../rails/price-feed.js';

type Call = InputOf<typeof quoteExact>['calls'][number];

/** The terms under which an offer would be made. No statement. */
@Injectable()
export class QuoteExact {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(PRICE_FEED) private readonly prices: PriceFeed,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  execute({ calls }: InputOf<typeof quoteExact>): Promise<OutputOf<typeof quoteExact>> {
    return Promise.resolve({ terms: calls.map((call) => this.termsOf(call)) });
  }

  private termsOf({ priceMicros, preferredCurrency }: Call): ExactTerms | null {
    const gross = BigInt(priceMicros);
    const choice = chooseRoute(this.rails, { preferredCurrency, priceMicros: gross, mayFallBack: this.config.defaultRoute === 'supported' });
    if (choice.kind !== 'chosen') return null;
    const { rail, route } = choice;
    const amountBaseUnits = toBaseUnits(gross, this.prices.priceMicros(route.currency), route.decimals);
    const asked = rail.exact?.requirements({ relayRequestId: zeroHash, depositAddress: zeroAddress, route, amountBaseUnits });
    if (!asked) return null;
    const { payTo: _payTo, extra, ...terms } = asked;
    return { ...terms, extra: { name: extra.name, version: extra.version } };
  }
}
