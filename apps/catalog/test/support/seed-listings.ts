import type { ListingStatus, PricingModel } from '@market/contracts';
import { newId } from '@market/kernel';
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
    ...values,
  };
}

/** Inserts listings directly into the tables, without the rules of the service. */
export async function seedListings(service: CatalogService, listings: SeededListing[]): Promise<void> {
  const rows = JSON.stringify(listings, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  await service.sql(
    `INSERT INTO providers SELECT DISTINCT ("providerId")::uuid, 'Seller', NULL, 'agent', false
     FROM jsonb_to_recordset($1) AS seeded ("providerId" text) ON CONFLICT DO NOTHING`,
    [rows],
  );
  await service.sql(
    `INSERT INTO listings (id, version, provider_id, slug, name, tags, description, docs, category_id,
       pricing_model, price_micros, pricing_currency, preferred_currency,
       delivery_type, auth_method, formats, example_outputs, status, suspended_by, published_at, created_at, updated_at)
     SELECT id, 1, "providerId", 'seeded-' || id, name, tags, description, docs, "categoryId",
       "pricingModel", "priceMicros", 'USD', 'USDC',
       "deliveryType", 'none', '{json}', '[]', status, CASE WHEN status = 'suspended' THEN 'owner' END,
       "createdAt", "createdAt", "createdAt"
     FROM jsonb_to_recordset($1) AS seeded (id uuid, "providerId" uuid, name text, tags text[], description text,
       docs text, "categoryId" uuid, "pricingModel" text, "priceMicros" bigint, "deliveryType" text, status text,
       "createdAt" timestamptz)`,
    [rows],
  );
  await service.sql('INSERT INTO listing_slugs SELECT slug, id FROM listings ON CONFLICT DO NOTHING');
  await service.sql(
    `UPDATE listing_popularity SET completed_calls = "completedCalls", reliability = seeded.reliability
     FROM jsonb_to_recordset($1) AS seeded (id uuid, "completedCalls" bigint, reliability bigint) WHERE listing_id = id`,
    [rows],
  );
  await service.sql(
    `INSERT INTO endpoints (listing_id, version, status, limits)
     SELECT id, 1, 'active', '{}' FROM jsonb_to_recordset($1) AS seeded (id uuid, live bool) WHERE live`,
    [rows],
  );
}
