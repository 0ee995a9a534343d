import { createOffer } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { invariant } from '@market/kernel';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { Authorizations } from './authorizations.js';
import { Offers } from './offers.js';
import { PaymentRoutes } from './payment-routes.query.js';
import { isForCall, isPaidCall, moneyOf, toOffer } from './payment.js';

/** Creates the offer of a gateway call. */
@Injectable()
export class CreateOffer {
  constructor(
    private readonly offers: Offers,
    private readonly authorizations: Authorizations,
    private readonly routes: PaymentRoutes,
  ) {}

  /**
   * A new quote costs one statement in a shared commit. For a seller that was not looked up recently, it also costs a
   * bus request.
   */
  @HandleRequest(createOffer)
  async execute(input: InputOf<typeof createOffer>, context: RequestContext): Promise<OutputOf<typeof createOffer>> {
    const row = await this.offers.make(
      {
        buyerId: principalOf(context).accountId,
        listing: input.listing,
        priceMicros: BigInt(input.priceMicros),
        usage: input.usage,
        originCurrency: input.originCurrency,
        originChainId: input.originChainId,
        originWalletId: input.originWalletId,
        jobSeconds: input.jobSeconds,
        purchasable: {
          purpose: 'call',
          gateway_request_id: input.gatewayRequestId,
          body_digest: Buffer.from(input.bodyDigest, 'hex'),
          pricing_model: null,
          included_calls: null,
          included_units: null,
        },
      },
      context,
    );
    invariant(isForCall(row), 'the offer of a call is for a call');
    return {
      offer: toOffer(row, await this.authorizations.acceptsOf(row, context)),
      otherRoutes: this.routes.besides(row),
      money: moneyOf(row),
      gatewayRequestId: row.gateway_request_id,
      isOpen: isPaidCall(row),
    };
  }
}
