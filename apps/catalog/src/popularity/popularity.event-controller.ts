import { paymentCompleted, subscriptionStarted } from '@market/contracts/payments-ledger';
import { listingPopularityMeasured } from '@market/contracts/reputation';
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
const keepLatest = sql(
  'listing-popularity.keep-latest',
  `UPDATE listing_popularity known SET popularity = latest.popularity, popularity_version = latest.version
   FROM (SELECT DISTINCT ON (listing_id) *
         FROM unnest($1::uuid[], $2::int[], $3::int[]) AS measured (listing_id, version, popularity)
         ORDER BY listing_id, version DESC) latest
   WHERE known.listing_id = latest.listing_id AND known.popularity_version < latest.version`,
);

/**
 * Counts what was bought of a listing, for operators, and stores its popularity, which reputation measures by what is
 * not free to fake. Events of a deleted listing are ignored.
 */
@Controller()
export class PopularityEventController {
  @HandleEvent(listingPopularityMeasured)
  async onListingPopularityMeasured(events: ReceivedEvent<typeof listingPopularityMeasured>[], tx: Tx): Promise<void> {
    const measured = events.map((event) => event.payload);
    await tx.query(keepLatest, [
      measured.map(({ listingId }) => listingId),
      measured.map(({ version }) => version),
      measured.map(({ popularity }) => popularity),
    ]);
  }

  @HandleEvent(paymentCompleted)
  async onPaymentCompleted(events: ReceivedEvent<typeof paymentCompleted>[], tx: Tx): Promise<void> {
    tx.send(count, [events.map((event) => event.payload.listingId)]);
  }

  @HandleEvent(subscriptionStarted)
  async onSubscriptionStarted(events: ReceivedEvent<typeof subscriptionStarted>[], tx: Tx): Promise<void> {
    tx.send(count, [events.map((event) => event.payload.listingId)]);
  }
}
