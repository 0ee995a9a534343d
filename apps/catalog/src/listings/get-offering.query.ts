import type { InputOf, OutputOf } from '@market/contracts';
import { type CallableOffering, getOffering } from '@market/contracts/catalog';
import { isUuid } from '@market/kernel';
import { HandleRequest, refuse } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { isSlug } from './slug.js';

const COLUMNS = `l.id AS "listingId", l.slug, l.name, l.provider_id AS "sellerId", l.status, l.pricing_model AS "pricingModel",
  l.price_micros::text AS "priceMicros", l.preferred_currency AS "preferredCurrency",
  CASE WHEN category.id IS NOT NULL THEN json_build_object('id', category.id, 'name', category.name, 'slug', category.slug) END AS category,
  l.input_schema::text AS "inputSchema", l.example_input::text AS "exampleInput", l.output_schema::text AS "outputSchema", l.formats,
    l.delivery_type AS "deliveryType", l.request_formats AS "requestFormats", l.usage,
   l.included_calls AS "includedCalls", l.included_units AS "includedUnits", l.free_calls AS "freeCalls",
  coalesce(l.suspended_by = 'system' AND provider.is_overdue, false) AS "isSuspendedForDebt"`;
const JOINED =
  'LEFT JOIN categories category ON category.id = l.category_id LEFT JOIN providers provider ON provider.id = l.provider_id';
const byId = sql('listings.offering-by-id', `SELECT ${COLUMNS} FROM listings l ${JOINED} WHERE l.id = $1`);
const bySlug = sql(
  'listings.offering-by-slug',
  `SELECT ${COLUMNS} FROM listing_slugs s JOIN listings l ON l.id = s.listing_id ${JOINED} WHERE s.slug = $1`,
);

/** Returns the offering of a listing in any status; the gateway decides whether it may be sold. */
@Injectable()
export class GetOffering {
  constructor(private readonly database: Database) {}

  @HandleRequest(getOffering)
  async execute({ ref }: InputOf<typeof getOffering>): Promise<OutputOf<typeof getOffering>> {
    const found = await this.find(this.database, ref);
    if (!found) throw refuse(getOffering, 'listing_not_found', {});
    return found;
  }

  async find(from: Pick<Tx, 'query'>, ref: string): Promise<CallableOffering | undefined> {
    const known = isUuid(ref) ? byId : isSlug(ref) ? bySlug : null;
    return known ? (await from.query<CallableOffering>(known, [ref]))[0] : undefined;
  }
}
