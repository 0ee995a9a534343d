import { paymentCompleted, subscriptionStarted } from '@market/contracts/payments-ledger';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';

// The column `completed_calls` also counts subscriptions; it was named when only calls were sold.
const count = sql(
  'listing-popularity.count',
  `UPDATE listing_popularity popularity SET completed_calls = popularity.completed_calls + counted.purchases
   FROM (SELECT listing_id, count(*) AS purchases FROM unnest($1::uuid[]) AS bought (listing_id) GROUP BY listing_id) counted
   WHERE popularity.listing_id = counted.listing_id`,
);

/**
 * Counts completed payments and started subscriptions as the popularity of a listing. Events of a deleted listing are
 * ignored.
 */
@Controller()
export class PopularityEventController {
  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    tx.send(count, [events.map((event) => event.payload.listingId)]);
  }

  @HandleEvent(subscriptionStarted)
  async onSubscriptionStarted(events: ReceivedEvent<typeof subscriptionStarted>[], tx: Tx): Promise<void> {
    tx.send(count, [events.map((event) => event.payload.listingId)]);
  }
}
