import type { ListingStatus, PricingModel } from '@market/contracts';
import { newId } from '@market/kernel';
import { listingWords } from '../../src/search/listing-words.js';
import type { CatalogService } from './catalog-service.js';

export interface SeededListing {
  id: string;
  providerId: string;
  name: string;
  tags: string[];
  description: string;
  docs: string | null;
  categoryId: string | null;
  pricingModel: PricingModel;
  priceMicros: bigint;
  deliveryType: 'api' | 'webhook' | 'streaming' | 'batch' | 'file';
  status: ListingStatus;
  createdAt: Date;
  completedCalls: number;
  /** Whether its endpoint is active. */
  live: boolean;
  reliability: number;
  /** The success rate of 30 days, if it was measured. */
  success: number | null;
}

let count = 0;

/** Returns an active, free listing with its own provider; `values` override the defaults. */
export function listingOf(values: Partial<SeededListing> = {}): SeededListing {
  count += 1;
  return {
    id: newId(),
    providerId: newId(),
    name: `Listing ${count}`,
    tags: [],
    description: 'Nothing in particular',
    docs: null,
    categoryId: null,
    pricingModel: 'free',
    priceMicros: 0n,
    deliveryType: 'api',
    status: 'active',
    createdAt: new Date(),
    completedCalls: 0,
    live: false,
    reliability: 0,
    success: null,
    ...values,
  };
}

const wordsOf = ({ name, tags, description, docs }: SeededListing) =>
  listingWords({ name, tags, description, docs, category: null, language: null });

/** Inserts listings directly into the tables, without the rules of the service. */
export async function seedListings(service: CatalogService, listings: SeededListing[]): Promise<void> {
  const rows = JSON.stringify(
    listings.map((listing) => ({ ...listing, ...wordsOf(listing) })),
    (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  );
  await service.sql(
    `INSERT INTO providers SELECT DISTINCT ("providerId")::uuid, 'Seller', NULL, 'agent', false
     FROM jsonb_to_recordset($1) AS seeded ("providerId" text) ON CONFLICT DO NOTHING`,
    [rows],
  );
  await service.sql(
    `INSERT INTO listings (id, version, provider_id, slug, name, tags, description, docs, category_id,
       pricing_model, price_micros, pricing_currency, preferred_currency,
       delivery_type, auth_method, formats, example_outputs, status, suspended_by, published_at, created_at, updated_at,
       found_language, search)
     SELECT id, 1, "providerId", 'seeded-' || id, name, tags, description, docs, "categoryId",
       "pricingModel", "priceMicros", 'USD', 'USDC',
       "deliveryType", 'none', '{json}', '[]', status, CASE WHEN status = 'suspended' THEN 'owner' END,
       "createdAt", "createdAt", "createdAt", found, search_words(found, words, places)
     FROM jsonb_to_recordset($1) AS seeded (id uuid, "providerId" uuid, name text, tags text[], description text,
       docs text, "categoryId" uuid, "pricingModel" text, "priceMicros" bigint, "deliveryType" text, status text,
       "createdAt" timestamptz, words text[], places text[], language text, spoken text[]),
       coalesce(language, language_of(spoken)) found`,
    [rows],
  );
  await service.sql(
    `INSERT INTO listing_words SELECT DISTINCT word FROM jsonb_to_recordset($1) AS seeded (words text[]), unnest(words) word
     ON CONFLICT DO NOTHING`,
    [rows],
  );
  await service.sql('INSERT INTO listing_slugs SELECT slug, id FROM listings ON CONFLICT DO NOTHING');
  await service.sql(
    `UPDATE listing_popularity SET completed_calls = "completedCalls", popularity = round(1e9 * least(ln(1 + "completedCalls") / 12, 1)),
       reliability = seeded.reliability
     FROM jsonb_to_recordset($1) AS seeded (id uuid, "completedCalls" bigint, reliability bigint) WHERE listing_id = id`,
    [rows],
  );
  await service.sql(
    'UPDATE listings SET standing = p.standing FROM listing_popularity p WHERE id = listing_id AND listings.standing <> p.standing',
  );
  await service.sql(
    `INSERT INTO endpoints (listing_id, version, status, limits)
     SELECT id, 1, 'active', '{}' FROM jsonb_to_recordset($1) AS seeded (id uuid, live bool) WHERE live`,
    [rows],
  );
  await service.sql(
    `INSERT INTO listing_quality (listing_id, version, success_lower_bound, success_rate_30d, calls_7d, calls_30d)
     SELECT id, 1, 0, success, 0, 0 FROM jsonb_to_recordset($1) AS seeded (id uuid, success float8) WHERE success IS NOT NULL`,
    [rows],
  );
}
