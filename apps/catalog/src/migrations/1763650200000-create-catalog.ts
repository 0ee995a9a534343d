import type { MigrationInterface, QueryRunner } from 'typeorm';

const ROLE = 'market_catalog';

export class CreateCatalog1763650200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createNeighbours(runner);
    await createListings(runner);
    await createSearch(runner);
    await createChallenges(runner);
  }

  /** The extension stays: another schema may use it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION names_resembling');
    await runner.query('DROP TABLE listing_challenges, listing_popularity, listing_slugs, listings, endpoints, providers, categories');
    await runner.query('DROP FUNCTION listing_document, words_of');
  }
}

/** Categories are ours; providers and endpoints are what identity and the gateway told us. */
async function createNeighbours(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE categories (
      id uuid PRIMARY KEY,
      slug text NOT NULL CONSTRAINT categories_slug UNIQUE,
      name text NOT NULL,
      description text NOT NULL,
      sort_order int NOT NULL
    )`);
  await runner.query(`REVOKE INSERT, UPDATE, DELETE ON categories FROM ${ROLE}`);
  await runner.query(`
    CREATE TABLE providers (
      id uuid PRIMARY KEY,
      display_name text NOT NULL,
      avatar_url text,
      account_type text NOT NULL CHECK (account_type IN ('agent', 'human')),
      is_verified boolean NOT NULL
    )`);
  // No reference to listings: the gateway may tell of an endpoint before the listing it belongs to is committed here.
  await runner.query(`
    CREATE TABLE endpoints (
      listing_id uuid PRIMARY KEY,
      version int NOT NULL,
      status text NOT NULL CHECK (status IN ('unverified', 'active', 'paused', 'failing')),
      limits jsonb NOT NULL,
      failing_since timestamptz,
      CHECK ((status = 'failing') = (failing_since IS NOT NULL))
    )`);
  await runner.query('CREATE INDEX endpoints_failing ON endpoints (failing_since) WHERE failing_since IS NOT NULL');
}

async function createListings(runner: QueryRunner): Promise<void> {
  // PostgreSQL's parser takes quadratic time over some long words ("a_a_a_…": a second for 10 KB), so that they are cut.
  await runner.query(String.raw`
    CREATE FUNCTION words_of(text text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_tsvector('pg_catalog.english', regexp_replace(text, '\S{128}', '\& ', 'g'))`);
  // Declared immutable over a stable array_to_string: of a text[] it depends on nothing but its argument.
  // Tags and docs are capped, since a tsvector holds 1 MB at most and the end of a long manual finds nothing useful.
  await runner.query(`
    CREATE FUNCTION listing_document(name text, tags text[], description text, docs text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN setweight(words_of(name), 'A')
        || setweight(words_of(left(array_to_string(tags, ' '), 5000)), 'B')
        || setweight(words_of(description), 'C')
        || setweight(words_of(left(coalesce(docs, ''), 10000)), 'D')`);
  await runner.query(`
    CREATE TABLE listings (
      id uuid PRIMARY KEY,
      version int NOT NULL,
      provider_id uuid NOT NULL REFERENCES providers (id),
      slug text NOT NULL,
      name text NOT NULL,
      description text NOT NULL,
      category_id uuid REFERENCES categories (id),
      pricing_model text NOT NULL CHECK (pricing_model IN ('free', 'per_call', 'monthly', 'yearly', 'usage_tiered')),
      price_micros bigint NOT NULL CHECK (price_micros BETWEEN 0 AND 1000000000000),
      pricing_currency text NOT NULL,
      preferred_currency text NOT NULL CHECK (preferred_currency IN ('USDC', 'ETH', 'SOL')),
      delivery_type text NOT NULL CHECK (delivery_type IN ('api', 'webhook', 'streaming', 'batch', 'file')),
      auth_method text NOT NULL CHECK (auth_method IN ('api_key', 'oauth2', 'bearer_token', 'none')),
      formats text[] NOT NULL,
      docs text,
      connection_instructions text,
      example_outputs jsonb NOT NULL,
      demo_endpoint text,
      github_url text,
      logo_url text,
      expected_delivery text,
      risk_disclaimers text,
      sla text,
      tags text[] NOT NULL,
      status text NOT NULL CHECK (status IN ('draft', 'active', 'suspended')),
      suspended_by text CHECK (suspended_by IN ('owner', 'operator', 'system')),
      published_at timestamptz,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      search tsvector NOT NULL GENERATED ALWAYS AS (listing_document(name, tags, description, docs)) STORED,
      CHECK ((status = 'suspended') = (suspended_by IS NOT NULL)),
      CHECK (status <> 'active' OR published_at IS NOT NULL),
      CHECK (pricing_model <> 'free' OR price_micros = 0)
    )`);
  await runner.query('CREATE INDEX listings_provider ON listings (provider_id)');
  // Slugs outlive a listing that was public, so that nobody moves into an address that buyers remember.
  await runner.query(`
    CREATE TABLE listing_slugs (
      slug text PRIMARY KEY,
      listing_id uuid NOT NULL
    )`);
  await runner.query('CREATE INDEX listing_slugs_listing ON listing_slugs (listing_id)');
  // Apart from listings: a counter in an indexed row would rewrite that row's full-text entries with every paid call.
  await runner.query(`
    CREATE TABLE listing_popularity (
      listing_id uuid PRIMARY KEY REFERENCES listings (id) ON DELETE CASCADE,
      completed_calls bigint NOT NULL DEFAULT 0
    )`);
}

async function createSearch(runner: QueryRunner): Promise<void> {
  await runner.query('CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public');
  await runner.query('CREATE INDEX listings_search ON listings USING gin (search)');
  await runner.query('CREATE INDEX listings_name_trigrams ON listings USING gin (name gin_trgm_ops)');
  await runner.query(`CREATE INDEX listings_newest ON listings (created_at DESC, id DESC) WHERE status = 'active'`);
  await runner.query(`CREATE INDEX listings_price ON listings (price_micros, id) WHERE status = 'active'`);
  await runner.query(`CREATE INDEX listings_category ON listings (category_id, created_at DESC, id DESC) WHERE status = 'active'`);
  await runner.query('CREATE INDEX listing_popularity_most ON listing_popularity (completed_calls DESC, listing_id DESC)');
  // With the default sample the planner takes a rare word for a common one and walks the whole table (185 ms instead of 0.8).
  await runner.query('ALTER TABLE listings ALTER COLUMN search SET STATISTICS 2000');
  // The threshold is a setting, and only the operator uses the index: a function is where both meet in one statement.
  await runner.query(`
    CREATE FUNCTION names_resembling(q text) RETURNS SETOF uuid
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 100 SET pg_trgm.word_similarity_threshold = 0.45
    BEGIN ATOMIC
      SELECT id FROM listings WHERE q <% name;
    END`);
}

async function createChallenges(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE listing_challenges (
      challenge text PRIMARY KEY CHECK (challenge ~ '^[0-9a-f]{64}$'),
      agent_id uuid NOT NULL,
      difficulty smallint NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL
    )`);
  await runner.query('CREATE INDEX listing_challenges_agent ON listing_challenges (agent_id, created_at DESC)');
  await runner.query('CREATE INDEX listing_challenges_expiry ON listing_challenges (expires_at)');
}
