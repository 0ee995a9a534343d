import type { InputOf, OutputOf } from '@market/contracts';
import type { ExactTerms, quoteExact } from '@market/contracts/payments-ledger';
import type { Micros } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { zeroHash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { openExactRoutes, type ExactRoute } from '../rails/exact-routes.js';
import { baseUnitsOf, PAYMENT_RAILS, type ExactPayee, type PaymentRail } from '../rails/payment-rail.js';

/** Returns the terms of keyless offers for several listings. It executes no statement. */
@Injectable()
export class QuoteExact {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  async execute({ calls }: InputOf<typeof quoteExact>, context: RequestContext): Promise<OutputOf<typeof quoteExact>> {
    const minimum = BigInt(this.config.minimumX402Micros);
    const routes = openExactRoutes(this.rails);
    const sellerIds = calls.map(({ sellerId }) => sellerId);
    const payees = await Promise.all(routes.map(({ exact }) => exact.payeesOf(sellerIds, context)));
    return {
      terms: calls.map(({ priceMicros }, call) =>
        BigInt(priceMicros) < minimum
          ? []
          : routes.flatMap((route, index) => termsOf(route, payees[index]![call]!, BigInt(priceMicros))),
      ),
      minimumMicros: minimum.toString(),
      networks: routes.map(({ route }) => route.network),
      payTo: routes[0]?.exact.payTo ?? null,
    };
  }
}

function termsOf({ exact, route }: ExactRoute, payee: ExactPayee | null, price: Micros): ExactTerms[] {
  const asked =
    payee &&
    exact.requirements({
      relayRequestId: zeroHash,
      payTo: payee.payTo,
      route,
      amountBaseUnits: baseUnitsOf(price, route),
    });
  if (!asked) return [];
  const { extra, ...terms } = asked;
  const { name, version, feePayer } = extra;
  return [{ ...terms, extra: feePayer === undefined ? { name, version } : { feePayer } }];
}
