import type { InputOf, OutputOf } from '@market/contracts';
import { type ExactTerms, quoteExact } from '@market/contracts/payments-ledger';
import { HandleRequest, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { zeroHash } from 'viem';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { openExactRoutes, type ExactRoute } from '../rails/exact-routes.js';
import { baseUnitsOf, PAYMENT_RAILS, type ExactPayee, type PaymentRail } from '../rails/payment-rail.js';

type Call = InputOf<typeof quoteExact>['calls'][number];

/** Returns the terms of keyless offers for several listings. It executes no statement. */
@Injectable()
export class QuoteExact {
  constructor(
    @Inject(PAYMENT_RAILS) private readonly rails: PaymentRail[],
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  /** No statement. For sellers that were not looked up recently, a bus request. */
  @HandleRequest(quoteExact)
  async execute({ calls }: InputOf<typeof quoteExact>, context: RequestContext): Promise<OutputOf<typeof quoteExact>> {
    const minimum = BigInt(this.config.minimumX402Micros);
    const routes = openExactRoutes(this.rails);
    const sellerIds = calls.map(({ sellerId }) => sellerId);
    const payees = await Promise.all(routes.map(({ exact }) => exact.payeesOf(sellerIds, context)));
    return {
      terms: calls.map((asked, call) =>
        BigInt(asked.priceMicros) < minimum
          ? []
          : routes.flatMap((route, index) => termsOf(route, payees[index]![call]!, asked)),
      ),
      minimumMicros: minimum.toString(),
      networks: routes.map(({ route }) => route.network),
      uptoNetworks: routes
        .filter(({ exact, route }) => exact.facilitators.uptoAddressOf(route.network) !== null)
        .map(({ route }) => route.network),
      payTo: routes[0]?.exact.payTo ?? null,
    };
  }
}

/** What is signed on a route, by each scheme that it takes, the one that pays what was used first. */
function termsOf(
  { exact, route }: ExactRoute,
  payee: ExactPayee | null,
  { priceMicros, jobSeconds, isByUse }: Call,
): ExactTerms[] {
  const priced = payee && {
    relayRequestId: zeroHash,
    payTo: payee.payTo,
    route,
    amountBaseUnits: baseUnitsOf(BigInt(priceMicros), route),
    jobSeconds,
  };
  const asked = priced ? [isByUse ? exact.upto(priced) : null, exact.requirements(priced)] : [];
  return asked
    .filter((each) => each !== null)
    .map(({ extra, ...terms }) => {
      const { name, version, feePayer, assetTransferMethod, facilitatorAddress } = extra;
      const evm = { name, version, assetTransferMethod, facilitatorAddress };
      return { ...terms, extra: feePayer === undefined ? evm : { feePayer } };
    });
}
