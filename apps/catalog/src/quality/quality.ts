import type { listingQualityMeasured } from '@market/contracts/gateway';
import type { ReceivedEvent } from '@market/messaging';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

const COLUMNS = `last_success_at, success_rate_7d, success_rate_30d, p50_ms_7d, p95_ms_7d, p50_ms_30d, p95_ms_30d, calls_7d, calls_30d,
   buyers_30d, buyers_success_rate_30d`;
const keepLatest = sql(
  'listing-quality.keep-latest',
  `INSERT INTO listing_quality AS known (listing_id, version, success_lower_bound, ${COLUMNS})
   SELECT DISTINCT ON (listing_id) listing_id, version, success_lower_bound, measured.*
   FROM unnest($1::uuid[], $2::int[], $3::float8[], $4::json[])
       AS updates (listing_id, version, success_lower_bound, quality),
     json_to_record(quality) AS measured (last_success_at timestamptz, success_rate_7d float8, success_rate_30d float8,
       p50_ms_7d int, p95_ms_7d int, p50_ms_30d int, p95_ms_30d int, calls_7d int, calls_30d int,
       buyers_30d int, buyers_success_rate_30d float8)
   ORDER BY listing_id, version DESC
   ON CONFLICT (listing_id) DO UPDATE SET
     (version, success_lower_bound, ${COLUMNS})
       = ROW (excluded.version, excluded.success_lower_bound, ${COLUMNS.replaceAll(/\w+/g, 'excluded.$&')})
   WHERE known.version < excluded.version`,
);
/** The reliability of what works now is at least this, and that of all else less. */
export const LIVE_RELIABILITY = 1_000_000;
const rank = sql(
  'listing-popularity.rank',
  `UPDATE listing_popularity ranked SET reliability = known.reliability
   FROM (
     SELECT l.id, CASE WHEN l.pricing_model <> 'per_call' THEN 0
       ELSE (CASE WHEN endpoint.status = 'active' THEN ${LIVE_RELIABILITY} ELSE 0 END)
         + round(coalesce(quality.success_lower_bound, 0) * ${LIVE_RELIABILITY - 1})::bigint END AS reliability
     FROM listings l
     LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id
     LEFT JOIN listing_quality quality ON quality.listing_id = l.id
     WHERE l.id = ANY($1::uuid[])
   ) known
   WHERE ranked.listing_id = known.id AND ranked.reliability <> known.reliability`,
);
const forget = sql('listing-quality.forget', 'DELETE FROM listing_quality WHERE listing_id = $1');

/** Stores the quality of listings' calls, as the gateway measured it, and derives the order `reliable` from it. */
@Injectable()
export class Quality {
  /** Stores the newest version for each listing. */
  async project(tx: Tx, events: ReceivedEvent<typeof listingQualityMeasured>[]): Promise<void> {
    const updates = events.map((event) => event.payload);
    const listingIds = updates.map(({ listingId }) => listingId);
    await tx.query(keepLatest, [
      listingIds,
      updates.map(({ version }) => version),
      updates.map(({ successLowerBound }) => successLowerBound),
      updates.map(({ quality }) => JSON.stringify(quality)),
    ]);
    await this.rank(tx, listingIds);
  }

  /** Updates the order: live listings come first, ordered by the lower bound of their success rate. */
  async rank(tx: Tx, listingIds: string[]): Promise<void> {
    await tx.query(rank, [listingIds]);
  }

  async forget(tx: Tx, listingId: string): Promise<void> {
    await tx.query(forget, [listingId]);
  }
}
