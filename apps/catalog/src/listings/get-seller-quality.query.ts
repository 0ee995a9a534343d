import type { InputOf, OutputOf } from '@market/contracts';
import type { getSellerQuality } from '@market/contracts/catalog';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type SellerQuality = OutputOf<typeof getSellerQuality>;

// A listing whose calls all failed has no successful calls, and has the weight of a single call.
const summarize = sql(
  'listing-quality.of-seller',
  `SELECT count(*) FILTER (WHERE endpoint.status = 'active')::int AS live_listings, coalesce(sum(calls_30d), 0)::int AS calls_30d,
     sum(success_rate_30d * greatest(calls_30d, 1)) / sum(greatest(calls_30d, 1)) FILTER (WHERE success_rate_30d IS NOT NULL) AS success_rate_30d,
     max(last_success_at) AS last_success_at
   FROM listings l LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id LEFT JOIN listing_quality quality ON quality.listing_id = l.id
   WHERE l.provider_id = $1 AND l.status = 'active' AND l.pricing_model = 'per_call'`,
);

/** One statement, over a seller's listings alone. */
@Injectable()
export class GetSellerQuality {
  constructor(private readonly database: Database) {}

  async execute({ sellerId }: InputOf<typeof getSellerQuality>): Promise<SellerQuality> {
    const [row] = await this.database.query<Omit<SellerQuality, 'last_success_at'> & { last_success_at: Date | null }>(
      summarize,
      [sellerId],
    );
    return { ...row!, last_success_at: row!.last_success_at?.toISOString() ?? null };
  }
}
