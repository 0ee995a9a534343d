import type { InputOf, OutputOf } from '@market/contracts';
import { createPayment } from '@market/contracts/payments-ledger';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Idempotency } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { OfferedListing } from './offered-listing.js';
import { SubscriptionOffers } from './subscription-offers.js';
import { Subscriptions } from './subscriptions.js';

type Output = OutputOf<typeof createPayment>;

/**
 * Returns the payment for which a subscription waits: the one that POST /subscribe named, on any route, or a new one.
 */
@Injectable()
export class CreatePayment {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly listings: OfferedListing,
    private readonly subscriptions: Subscriptions,
    private readonly offers: SubscriptionOffers,
  ) {}

  @HandleRequest(createPayment)
  async execute({ listing_id }: InputOf<typeof createPayment>, context: RequestContext): Promise<Output> {
    const storedAnswer = await this.idempotency.replay(createPayment, context);
    // The idempotency key stays bound to its request, but the answer is not replayed: a repetition gets the offer that
    // is valid at that time.
    delete context.reply.idempotencyReplayed;
    const { accountId } = principalOf(context);
    const listing = await this.listings.find(listing_id, accountId, context);
    if (BigInt(listing.priceMicros) === 0n) throw refuse(createPayment, 'listing_free', {});
    const subscriptionId = await this.subscriptions.activeId(this.database, accountId, listing.listingId);
    if (subscriptionId) throw refuse(createPayment, 'already_subscribed', { subscription_id: subscriptionId });
    const offer = (await this.offers.live(listing, context)) ?? (await this.offers.make(listing, undefined, context));
    return context.idempotency && !storedAnswer
      ? this.idempotency.run(createPayment, context, async () => offer)
      : offer;
  }
}
