import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ListingsRepository } from './listings.repository.js';

const inFull = sql(
  'listings.inspect',
  `SELECT l.id, l.slug, (SELECT array_agg(slug ORDER BY slug) FROM listing_slugs WHERE listing_id = l.id) AS slugs, l.name,
     l.status, l.suspended_by, l.held_as, l.version, l.provider_id, provider.display_name AS provider_name, l.description, l.tags,
     l.pricing_model, l.price_micros, endpoint.status AS endpoint_status, endpoint.failing_since, rating.review_count, popularity.completed_calls AS purchases,
     l.created_at, l.published_at, l.updated_at,
     (SELECT array_agg(other.id) FROM (SELECT id FROM listings WHERE name_reads_as(name) = name_reads_as(l.name) AND id <> l.id ORDER BY id LIMIT 20) other) AS reads_like
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

export interface Namesakes {
  /** The normalised name: without case, accents, spaces and punctuation. */
  name: string;
  ids: string[];
  sellers: number;
}

/** Listings in every state, for operators. */
@Injectable()
export class InspectListings {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
  ) {}

  /** By uuid or slug; undefined when there is none. */
  async one(ref: string): Promise<object | undefined> {
    const id = await this.listings.resolve(this.database, ref);
    return id === undefined ? undefined : (await this.database.query<object>(inFull, [id]))[0];
  }

  /** The 100 most frequent names that more than one active listing has. Letters that look alike count as equal. */
  namesakes(): Promise<Namesakes[]> {
    return this.database.query<Namesakes>(namesakes);
  }
}
