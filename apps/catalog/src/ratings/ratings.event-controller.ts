import { listingRated } from '@market/contracts/reputation';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';

// Reviews are never taken back, so that of two summaries the one of more reviews is the later one.
const keepLatest = sql(
  'listing-ratings.keep-latest',
  `INSERT INTO listing_ratings AS known (listing_id, review_count, accuracy, reliability, value)
   SELECT DISTINCT ON (listing_id) * FROM unnest($1::uuid[], $2::int[], $3::float8[], $4::float8[], $5::float8[]) AS told (listing_id, review_count, accuracy, reliability, value)
   ORDER BY listing_id, review_count DESC
   ON CONFLICT (listing_id) DO UPDATE SET review_count = excluded.review_count, accuracy = excluded.accuracy, reliability = excluded.reliability, value = excluded.value
   WHERE known.review_count < excluded.review_count`,
);

/** What listings show of their reviews: a projection of what reputation counted. */
@Controller()
export class RatingsEventController {
  @HandleEvent(listingRated)
  async onListingRated(events: ReceivedEvent<typeof listingRated>[], tx: Tx): Promise<void> {
    const told = events.map((event) => event.payload);
    await tx.query(keepLatest, [
      told.map((rating) => rating.listingId),
      told.map((rating) => rating.reviewCount),
      told.map((rating) => rating.averageAccuracy),
      told.map((rating) => rating.averageReliability),
      told.map((rating) => rating.averageValue),
    ]);
  }
}
