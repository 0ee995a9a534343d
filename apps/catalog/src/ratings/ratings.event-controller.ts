import { listingRated } from '@market/contracts/reputation';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';

// Reviews are never removed, so the summary with more reviews is the later one.
const keepLatest = sql(
  'listing-ratings.keep-latest',
  `INSERT INTO listing_ratings AS known (listing_id, review_count, accuracy, reliability, value)
   SELECT DISTINCT ON (listing_id) *
   FROM unnest($1::uuid[], $2::int[], $3::float8[], $4::float8[], $5::float8[])
     AS updates (listing_id, review_count, accuracy, reliability, value)
   ORDER BY listing_id, review_count DESC
   ON CONFLICT (listing_id) DO UPDATE SET
     review_count = excluded.review_count, accuracy = excluded.accuracy,
     reliability = excluded.reliability, value = excluded.value
   WHERE known.review_count < excluded.review_count`,
);

/** Stores the ratings that listings show, a projection of the summaries of reputation. */
@Controller()
export class RatingsEventController {
  @HandleEvent(listingRated)
  async onListingRated(events: ReceivedEvent<typeof listingRated>[], tx: Tx): Promise<void> {
    const updates = events.map((event) => event.payload);
    await tx.query(keepLatest, [
      updates.map((rating) => rating.listingId),
      updates.map((rating) => rating.reviewCount),
      updates.map((rating) => rating.averageAccuracy),
      updates.map((rating) => rating.averageReliability),
      updates.map((rating) => rating.averageValue),
    ]);
  }
}
