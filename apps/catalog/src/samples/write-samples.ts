import { batchSql, sql, type Database } from '@market/persistence';
import { SampleListings, type SampleListing } from './sample-listings.js';

const BATCH = 2_000;
const LANES = 2;

const categories = sql('samples.categories', 'SELECT id FROM categories ORDER BY sort_order');
const providers = batchSql(`INSERT INTO providers (id, display_name, account_type, is_verified) SELECT *, 'agent', false FROM unnest($1::uuid[], $2::text[])`);
const listings = batchSql(`
  WITH sample AS (
    SELECT * FROM jsonb_to_recordset($1) AS sample (id uuid, "providerId" uuid, slug text, name text, description text, tags text[], "categoryId" uuid, "pricingModel" text,
      "priceMicros" bigint, "deliveryType" text, status text, "createdAt" timestamptz, "completedCalls" bigint)
  ), listing AS (
    INSERT INTO listings (id, version, provider_id, slug, name, description, tags, category_id, pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type,
      auth_method, formats, example_outputs, status, suspended_by, published_at, created_at, updated_at)
    SELECT id, 1, "providerId", slug, name, description, tags, "categoryId", "pricingModel", "priceMicros", 'USD', 'USDC', "deliveryType",
      'api_key', '{json}', '[]', status, CASE WHEN status = 'suspended' THEN 'owner' END, CASE WHEN status <> 'draft' THEN "createdAt" END, "createdAt", "createdAt" FROM sample
  ), slug AS (
    INSERT INTO listing_slugs (slug, listing_id) SELECT slug, id FROM sample
  )
  INSERT INTO listing_popularity (listing_id, completed_calls, is_active) SELECT id, "completedCalls", status = 'active' FROM sample`);

const asOwner = sql('samples.as-owner', 'SET LOCAL ROLE NONE');
const analyze = sql('samples.analyze', 'ANALYZE listings, listing_slugs, listing_popularity, listing_words, providers');

/**
 * Writes sample listings and their sellers straight into the tables of the catalog: nobody is told by an event, no
 * endpoint answers behind them, and identity does not know the sellers. Some 10,000 a second.
 * @param onWritten is told how many there are so far.
 */
export async function writeSamples(database: Database, count: number, seed: number, onWritten: (count: number) => void = () => undefined): Promise<void> {
  const categoryIds = (await database.query<{ id: string }>(categories)).map(({ id }) => id);
  const samples = new SampleListings(count, categoryIds, Date.now(), seed);
  for (let start = 0; start < samples.providers.length; start += BATCH) {
    const batch = samples.providers.slice(start, start + BATCH);
    await database.query(providers, [batch.map(({ id }) => id), batch.map(({ displayName }) => displayName)]);
  }
  let [begun, written] = [0, 0];
  const lane = async (): Promise<void> => {
    while (begun < count) {
      const size = Math.min(BATCH, count - begun);
      begun += size;
      const batch: SampleListing[] = Array.from({ length: size }, () => samples.next());
      await database.query(listings, [JSON.stringify(batch)]);
      written += size;
      onWritten(written);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  // Plans made for a few listings are wrong for very many, and the next autovacuum may be a minute away.
  await database.transaction(async (tx) => {
    await tx.query(asOwner);
    await tx.query(analyze);
  });
}
