import type { InputOf, OutputOf } from '@market/contracts';
import { findListings, inspectListing } from '@market/contracts/catalog';
import { isUuid } from '@market/kernel';
import { HandleRequest, operatorOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ListingsRepository } from './listings.repository.js';

const inFull = sql(
  'listings.inspect',
  `SELECT l.id, l.slug, (SELECT array_agg(slug ORDER BY slug) FROM listing_slugs WHERE listing_id = l.id) AS slugs, l.name,
     l.status, l.suspended_by, l.held_as, l.version, l.provider_id, provider.display_name AS provider_name,
     l.description, l.tags, l.pricing_model, l.price_micros,
     endpoint.status AS endpoint_status, endpoint.failing_since,
     rating.review_count, popularity.completed_calls::float8 AS purchases,
     l.created_at, l.published_at, l.updated_at,
     (SELECT array_agg(other.id) FROM (
       SELECT id FROM listings
       WHERE name_reads_as(name) = name_reads_as(l.name) AND id <> l.id ORDER BY id LIMIT 20
     ) other) AS reads_like
   FROM listings l JOIN providers provider ON provider.id = l.provider_id
   LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id
   LEFT JOIN listing_ratings rating ON rating.listing_id = l.id
   LEFT JOIN listing_popularity popularity ON popularity.listing_id = l.id
   WHERE l.id = $1`,
);

const namesakes = sql(
  'listings.namesakes',
  `SELECT name_reads_as(name) AS name, array_agg(id ORDER BY id) AS ids, count(DISTINCT provider_id)::int AS sellers FROM listings
   WHERE status = 'active' GROUP BY 1 HAVING count(*) > 1 ORDER BY count(*) DESC, 1 LIMIT 100`,
);

const SUMMARY = 'l.id, l.slug, l.name, l.status, l.suspended_by, l.provider_id';
const byId = sql(
  'listings.find-by-ids',
  `SELECT ${SUMMARY} FROM listings l WHERE l.id = $1 OR l.provider_id = $1 ORDER BY l.created_at DESC, l.id LIMIT 20`,
);
const byName = sql(
  'listings.find-by-name',
  `SELECT ${SUMMARY} FROM listings l
   WHERE name_reads_as(l.name) = name_reads_as($1) OR l.id = (SELECT listing_id FROM listing_slugs WHERE slug = $1)
   ORDER BY l.created_at DESC, l.id LIMIT 20`,
);

type Found = OutputOf<typeof inspectListing>;
type FoundRow = Omit<Found, 'failing_since' | 'created_at' | 'published_at' | 'updated_at'> & {
  failing_since: Date | null;
  created_at: Date;
  published_at: Date | null;
  updated_at: Date;
};

export interface Namesakes {
  /** The normalised name, without case, accents, spaces and punctuation. */
  name: string;
  ids: string[];
  sellers: number;
}

/** Returns listings in every state, for operators. */
@Injectable()
export class InspectListings {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
  ) {}

  @HandleRequest(inspectListing)
  async inspect({ ref }: InputOf<typeof inspectListing>, context: RequestContext): Promise<Found> {
    operatorOf(context);
    const id = await this.listings.resolve(this.database, ref);
    const [row] = id === undefined ? [] : await this.database.query<FoundRow>(inFull, [id]);
    if (!row) throw refuse(inspectListing, 'listing_not_found', {});
    return {
      ...row,
      failing_since: row.failing_since?.toISOString() ?? null,
      created_at: row.created_at.toISOString(),
      published_at: row.published_at?.toISOString() ?? null,
      updated_at: row.updated_at.toISOString(),
    };
  }

  @HandleRequest(findListings)
  async find({ query }: InputOf<typeof findListings>, context: RequestContext): Promise<OutputOf<typeof findListings>> {
    operatorOf(context);
    return { listings: await this.database.query(isUuid(query) ? byId : byName, [query]) };
  }

  /** Returns the 100 most frequent names that several active listings share. Lookalike letters count as equal. */
  namesakes(): Promise<Namesakes[]> {
    return this.database.query<Namesakes>(namesakes);
  }
}
