import type { Currency, InputOf, OutputOf } from '@market/contracts';
import { subscribe } from '@market/contracts/payments-ledger';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Idempotency, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { OfferedListing, type SubscribableListing } from './offered-listing.js';
import { SubscriptionOffers } from './subscription-offers.js';
import { toSubscriptionView } from './subscription.js';
import { Subscriptions } from './subscriptions.js';

type Output = OutputOf<typeof subscribe>;

/** Starts a subscription to a free listing, or returns the payment for a paid one. */
@Injectable()
export class Subscribe {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly listings: OfferedListing,
    private readonly subscriptions: Subscriptions,
    private readonly offers: SubscriptionOffers,
  ) {}

  @HandleRequest(subscribe)
  async execute({ listing_id, origin_currency }: InputOf<typeof subscribe>, context: RequestContext): Promise<Output> {
    const storedAnswer = await this.idempotency.replay(subscribe, context);
    if (storedAnswer?.outcome === 'subscribed') return storedAnswer;
    // The idempotency key stays bound to its request, but the answer is not replayed: a repetition gets the current
    // state of the payment.
    delete context.reply.idempotencyReplayed;
    const listing = await this.listings.find(listing_id, principalOf(context).accountId, context);
    if (BigInt(listing.priceMicros) > 0n) {
      const required = await this.askFor(listing, origin_currency, context);
      return context.idempotency && !storedAnswer
        ? this.idempotency.run(subscribe, context, async () => required)
        : required;
    }
    const start = (tx: Tx): Promise<Output> => this.start(tx, listing, context);
    return storedAnswer ? this.database.transaction(start) : this.idempotency.run(subscribe, context, start);
  }

  private async askFor(
    listing: SubscribableListing,
    originCurrency: Currency | undefined,
    context: RequestContext,
  ): Promise<Output> {
    const subscriptionId = await this.subscriptions.activeId(
      this.database,
      principalOf(context).accountId,
      listing.listingId,
    );
    if (subscriptionId) throw refuse(subscribe, 'already_subscribed', { subscription_id: subscriptionId });
    return { outcome: 'payment_required', payment: await this.offers.make(listing, originCurrency, context) };
  }

  private async start(tx: Tx, listing: SubscribableListing, context: RequestContext): Promise<Output> {
    const consumerId = principalOf(context).accountId;
    const { listingId, name, slug, sellerId, pricingModel } = listing;
    const started = await this.subscriptions.start(
      tx,
      {
        consumerId,
        sellerId,
        listing: { id: listingId, name, slug },
        pricingModel,
        priceMicros: 0n,
        includedCalls: null,
        includedUnits: null,
        paymentId: null,
      },
      context,
    );
    if (started) return { outcome: 'subscribed', subscription: toSubscriptionView(started) };
    throw refuse(subscribe, 'already_subscribed', {
      subscription_id: (await this.subscriptions.activeId(tx, consumerId, listingId))!,
    });
  }
}
