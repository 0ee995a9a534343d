import type { Currency, InputOf, OutputOf } from '@market/contracts';
import { subscribe } from '@market/contracts/payments-ledger';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database, Idempotency, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { OfferedListing, type SubscribableListing } from './offered-listing.js';
import { SubscriptionOffers } from './subscription-offers.js';
import { toSubscriptionView } from './subscription.js';
import { Subscriptions } from './subscriptions.js';

type Output = OutputOf<typeof subscribe>;

/**
 * Subscribes to what is free, and names the payment of what is not. One bus request. Statements: free, a transaction of
 * 3; paid, 2 and a shared commit; with an Idempotency-Key 1 more, and 3 in a transaction.
 */
@Injectable()
export class Subscribe {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly listings: OfferedListing,
    private readonly subscriptions: Subscriptions,
    private readonly offers: SubscriptionOffers,
  ) {}

  async execute({ listingId, originCurrency }: InputOf<typeof subscribe>, call: Call): Promise<Output> {
    const kept = await this.idempotency.replay(subscribe, call);
    if (kept?.outcome === 'subscribed') return kept;
    // That a payment was asked for is no last word: the key stays bound to its request, and where it stands is told anew.
    delete call.reply.idempotencyReplayed;
    const listing = await this.listings.find(listingId, principalOf(call).accountId, call);
    if (BigInt(listing.priceMicros) > 0n) {
      const required = await this.askFor(listing, originCurrency, call);
      return call.idempotency && !kept ? this.idempotency.run(subscribe, call, async () => required) : required;
    }
    const start = (tx: Tx): Promise<Output> => this.start(tx, listing, call);
    return kept ? this.database.transaction(start) : this.idempotency.run(subscribe, call, start);
  }

  private async askFor(
    listing: SubscribableListing,
    originCurrency: Currency | undefined,
    call: Call,
  ): Promise<Output> {
    const subscriptionId = await this.subscriptions.activeId(
      this.database,
      principalOf(call).accountId,
      listing.listingId,
    );
    if (subscriptionId) throw refuse(subscribe, 'already_subscribed', { subscription_id: subscriptionId });
    return { outcome: 'payment_required', payment: await this.offers.make(listing, originCurrency, call) };
  }

  private async start(tx: Tx, listing: SubscribableListing, call: Call): Promise<Output> {
    const consumerId = principalOf(call).accountId;
    const { listingId, name, slug, sellerId, pricingModel } = listing;
    const started = await this.subscriptions.start(
      tx,
      { consumerId, sellerId, listing: { id: listingId, name, slug }, pricingModel, priceMicros: 0n, paymentId: null },
      call,
    );
    if (started) return { outcome: 'subscribed', subscription: toSubscriptionView(started) };
    throw refuse(subscribe, 'already_subscribed', {
      subscription_id: (await this.subscriptions.activeId(tx, consumerId, listingId))!,
    });
  }
}
