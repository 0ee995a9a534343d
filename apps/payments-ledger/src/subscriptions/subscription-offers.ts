import type { Currency, OutputOf } from '@market/contracts';
import type { createPayment } from '@market/contracts/payments-ledger';
import { invariant } from '@market/kernel';
import { principalOf, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Budgets } from '../budgets/budgets.js';
import { Authorizations } from '../payments/authorizations.js';
import { Offers } from '../payments/offers.js';
import { LIVE_STATES } from '../payments/payment-state.js';
import { feesOf, paymentsAndOffers, requirementsOf, type PaymentRow } from '../payments/payment.js';
import type { SubscribableListing } from './offered-listing.js';

type SubscriptionOffer = OutputOf<typeof createPayment>;

const findLive = sql(
  'payments.live-subscription',
  `SELECT * FROM ${paymentsAndOffers("p.buyer_id = $1 AND p.listing_id = $2 AND p.pricing_model = $3 AND p.purpose = 'subscription'")} p
   WHERE state IN (${LIVE_STATES.map((state) => `'${state}'`).join(', ')})
     AND NOT (state IN ('pending', 'underpaid') AND expires_at <= now())
   ORDER BY created_at DESC, id DESC LIMIT 1`,
);

/** Creates offers for subscriptions. The price is the listing's price at the time of the offer. */
@Injectable()
export class SubscriptionOffers {
  constructor(
    private readonly database: Database,
    private readonly offers: Offers,
    private readonly budgets: Budgets,
    private readonly authorizations: Authorizations,
  ) {}

  /** Returns the same offer as long as it can be paid on this route. @throws Refusal of `createOffer`. */
  async make(
    listing: SubscribableListing,
    originCurrency: Currency | undefined,
    context: RequestContext,
  ): Promise<SubscriptionOffer> {
    invariant(listing.pricingModel !== 'free', 'what is free is not offered for money');
    const purchasable = {
      purpose: 'subscription',
      gateway_request_id: null,
      body_digest: null,
      pricing_model: listing.pricingModel,
      included_calls: listing.includedCalls ?? null,
      included_units: listing.includedUnits ?? null,
    } as const;
    return this.toView(
      await this.offers.make(
        {
          buyerId: principalOf(context).accountId,
          listing,
          priceMicros: BigInt(listing.priceMicros),
          originCurrency,
          purchasable,
        },
        context,
      ),
      context,
    );
  }

  /** The buyer's latest offer that can still be paid, on any route. */
  async live(
    { listingId, pricingModel }: SubscribableListing,
    context: RequestContext,
  ): Promise<SubscriptionOffer | undefined> {
    const [row] = await this.database.query<PaymentRow>(findLive, [
      principalOf(context).accountId,
      listingId,
      pricingModel,
    ]);
    if (row?.reserved_on === null) await this.budgets.check(row, context);
    return row && this.toView(row, context);
  }

  private async toView(row: PaymentRow, context: RequestContext): Promise<SubscriptionOffer> {
    return {
      payment_id: row.id,
      status: row.state,
      requirements: requirementsOf(row),
      fees: feesOf(row),
      provider: row.rail,
      included_calls: row.included_calls,
      included_units: row.included_units,
      x402: await this.authorizations.acceptsOf(row, context),
    };
  }
}
