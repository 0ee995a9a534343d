import type { InputOf, OutputOf } from '@market/contracts';
import { getSellerQuality } from '@market/contracts/catalog';
import { HandleRequest } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type SellerQuality = OutputOf<typeof getSellerQuality>;

// Each listing has the weight of its calls_30d, and at least of one call, because calls_30d is 0 if all its calls
// failed.
const summarize = sql(
  'listing-quality.of-seller',
  `SELECT count(*) FILTER (WHERE endpoint.status = 'active')::int AS live_listings,
     coalesce(sum(calls_30d), 0)::int AS calls_30d,
     sum(success_rate_30d * greatest(calls_30d, 1))
       / sum(greatest(calls_30d, 1)) FILTER (WHERE success_rate_30d IS NOT NULL) AS success_rate_30d,
     max(last_success_at) AS last_success_at
   FROM listings l
   LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id
   LEFT JOIN listing_quality quality ON quality.listing_id = l.id
   WHERE l.provider_id = $1 AND l.status = 'active' AND l.pricing_model = 'per_call'`,
);

/** Returns the quality of one seller's calls over all its listings. */
@Injectable()
export class GetSellerQuality {
  constructor(private readonly database: Database) {}

  @HandleRequest(getSellerQuality)
  async execute({ sellerId }: InputOf<typeof getSellerQuality>): Promise<SellerQuality> {
    const [row] = await this.database.query<Omit<SellerQuality, 'last_success_at'> & { last_success_at: Date | null }>(
      summarize,
      [sellerId],
    );
    return { ...row!, last_success_at: row!.last_success_at?.toISOString() ?? null };
  }
}
