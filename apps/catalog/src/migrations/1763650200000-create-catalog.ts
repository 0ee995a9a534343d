import type { MigrationInterface, QueryRunner } from 'typeorm';
import { SEARCH_FUNCTIONS } from '../search/listing-words.js';

const ROLE = 'market_catalog';

/** The last digits of an id never change, and are not reused after a category is removed. */
const CATEGORIES: readonly [lastDigits: string, slug: string, name: string, description: string][] = [
  ['01', 'data-research', 'Data & Research', 'Datasets, enrichment, market and literature research'],
  ['02', 'search-web', 'Search & Web', 'Web search, crawling, scraping and page extraction'],
  [
    '03',
    'language-translation',
    'Language & Translation',
    'Translation, summarising, classification and other text understanding',
  ],
  ['04', 'writing-content', 'Writing & Content', 'Copy, articles, editing and other written content'],
  ['05', 'code-development', 'Code & Development', 'Code generation, review, testing and developer tools'],
  ['06', 'images-design', 'Images & Design', 'Image generation, editing, recognition and design'],
  ['07', 'audio-video', 'Audio & Video', 'Speech, transcription, music and video'],
  ['08', 'finance-markets', 'Finance & Markets', 'Prices, filings, accounting and financial analysis'],
  ['09', 'blockchain-crypto', 'Blockchain & Crypto', 'On-chain data, wallets, tokens and smart contracts'],
  ['10', 'business-productivity', 'Business & Productivity', 'Documents, email, calendars, sales and back-office work'],
  ['11', 'maps-travel-weather', 'Maps, Travel & Weather', 'Places, routes, bookings and forecasts'],
  ['12', 'security-identity', 'Security & Identity', 'Verification, fraud detection, scanning and compliance'],
  ['13', 'science-health', 'Science & Health', 'Scientific computing, biology, chemistry and health information'],
  ['99', 'other', 'Other', 'Everything that fits nowhere else'],
];

export class CreateCatalog1763650200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createCategories(runner);
    await createProjections(runner);
    await createListings(runner);
    await createSearch(runner);
    await createChallenges(runner);
  }

  /** The extensions stay, because other schemas may use them. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `DROP TABLE listing_challenges, listing_words, listing_popularity, listing_slugs, listings,
         listing_quality, listing_ratings, endpoints, providers, categories`,
    );
    await runner.query(
      `DROP FUNCTION after_endpoints_changed, after_listings_added, after_listings_changed,
         name_reads_as, language_of, search_words, standing_of`,
    );
  }
}

async function createCategories(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE categories (
      id uuid PRIMARY KEY,
      slug text NOT NULL CONSTRAINT categories_slug UNIQUE,
      name text NOT NULL,
      description text NOT NULL,
      sort_order int NOT NULL
    )`);
  for (const [index, [lastDigits, slug, name, description]] of CATEGORIES.entries()) {
    await runner.query('INSERT INTO categories (id, slug, name, description, sort_order) VALUES ($1, $2, $3, $4, $5)', [
      `01995bad-5c00-7000-8000-0000000000${lastDigits}`,
      slug,
      name,
      description,
      (index + 1) * 10,
    ]);
  }
  await runner.query(`REVOKE INSERT, UPDATE, DELETE ON categories FROM ${ROLE}`);
}

/**
 * Projections of events from identity, the gateway and reputation. They have no foreign keys to listings, because an event
 * may arrive before its listing is committed or after it is deleted.
 */
async function createProjections(runner: QueryRunner): Promise<void> {
  await runner.query(`
    CREATE TABLE providers (
      id uuid PRIMARY KEY,
      display_name text NOT NULL,
      avatar_url text,
      account_type text NOT NULL CHECK (account_type IN ('agent', 'human')),
      is_verified boolean NOT NULL,
      is_overdue boolean NOT NULL DEFAULT false,
      standing_version int NOT NULL DEFAULT 0,
      is_unpayable boolean NOT NULL DEFAULT false,
      is_suspended boolean NOT NULL DEFAULT false,
      suspension_version int NOT NULL DEFAULT 0
    )`);
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
  await runner.query(`
    CREATE TABLE listing_ratings (
      listing_id uuid PRIMARY KEY,
      review_count int NOT NULL,
      accuracy float8 NOT NULL,
      reliability float8 NOT NULL,
      value float8 NOT NULL
    )`);
  await runner.query(`
    CREATE TABLE listing_quality (
      listing_id uuid PRIMARY KEY,
      version int NOT NULL,
      success_lower_bound float8 NOT NULL,
      last_success_at timestamptz,
      success_rate_7d float8,
      success_rate_30d float8,
      p50_ms_7d int,
      p95_ms_7d int,
      p50_ms_30d int,
      p95_ms_30d int,
      calls_7d int NOT NULL,
      calls_30d int NOT NULL,
      buyers_30d int NOT NULL DEFAULT 0,
      buyers_success_rate_30d float8
    )`);
  // For searches by the least success rate.
  await runner.query('CREATE INDEX listing_quality_success ON listing_quality (success_rate_30d, listing_id)');
}

async function createListings(runner: QueryRunner): Promise<void> {
  for (const statement of SEARCH_FUNCTIONS) await runner.query(statement);
  // Normalises a name: removes case, accents, spaces and punctuation, and replaces lookalike letters.
  // The pairs of translate() are those of listings/lookalikes.ts, and digits that look like letters.
  await runner.query(String.raw`
    CREATE FUNCTION name_reads_as(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN regexp_replace(
      lower(normalize(translate(normalize(name, NFKC),
        'АВЕЅІЈКМНОРСТХУԚԜаеѕіјорсухһԁԛԝѵΑΒΕΖΗΙΚΜΝΟΡΤΥΧανικορυγօոսհցɡɑıǃ01',
        'ABESIJKMHOPCTXYQWaesijopcyxhdqwvABEZHIKMNOPTYXavikopuyonuhggailol'), NFKD)),
      '[\s\u0021-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007e\u00ad\u0300-\u036f\u200b-\u206f\ufe00-\ufe0f\ufeff]', '', 'g')`);
  // The columns that a search reads from thousands of rows come first: PostgreSQL must step over the preceding columns,
  // which is slow after a column of variable length.
  // is_live: whether the endpoint is active; a trigger on endpoints maintains it. standing: see listing_popularity.
  // Vacuum runs after 2 % of changes instead of 20 %, because counts use index-only scans, which need an up-to-date
  // visibility map.
  await runner.query(`
    CREATE TABLE listings (
      id uuid PRIMARY KEY,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      price_micros bigint NOT NULL CHECK (price_micros BETWEEN 0 AND 1000000000000),
      version int NOT NULL,
      is_live boolean NOT NULL DEFAULT false,
      standing smallint NOT NULL DEFAULT 0,
      search tsvector NOT NULL DEFAULT '',
      provider_id uuid NOT NULL REFERENCES providers (id),
      slug text NOT NULL,
      name text NOT NULL,
      description text NOT NULL,
      language text,
      found_language text NOT NULL DEFAULT 'en',
      category_id uuid REFERENCES categories (id),
      pricing_model text NOT NULL CHECK (pricing_model IN ('free', 'per_call', 'monthly', 'yearly', 'usage_tiered')),
      usage jsonb,
      included_calls int CHECK (included_calls > 0),
      included_units jsonb,
      free_calls int CHECK (free_calls > 0),
      pricing_currency text NOT NULL,
      preferred_currency text NOT NULL CHECK (preferred_currency IN ('USDC', 'ETH', 'SOL')),
      delivery_type text NOT NULL CHECK (delivery_type IN ('api', 'webhook', 'streaming', 'batch', 'file')),
      auth_method text NOT NULL CHECK (auth_method IN ('api_key', 'oauth2', 'bearer_token', 'none')),
      formats text[] NOT NULL,
      request_formats text[] NOT NULL DEFAULT '{json}',
      docs text,
      connection_instructions text,
      example_outputs jsonb NOT NULL,
      input_schema json,
      example_input json,
      output_schema json,
      demo_endpoint text,
      github_url text,
      logo_url text,
      expected_delivery text,
      risk_disclaimers text,
      sla text,
      tags text[] NOT NULL,
      status text NOT NULL CHECK (status IN ('draft', 'active', 'suspended')),
      suspended_by text CHECK (suspended_by IN ('owner', 'operator', 'system')),
      held_as text CHECK (held_as IN ('draft', 'active', 'withdrawn')),
      published_at timestamptz,
      CHECK ((status = 'suspended') = (suspended_by IS NOT NULL)),
      CHECK ((suspended_by IS NOT DISTINCT FROM 'operator') = (held_as IS NOT NULL)),
      CHECK (status <> 'active' OR published_at IS NOT NULL),
      CHECK (pricing_model <> 'free' OR price_micros = 0),
      CHECK (usage IS NULL OR (pricing_model = 'per_call' AND price_micros > 0)),
      CHECK (included_calls IS NULL OR (pricing_model IN ('monthly', 'yearly') AND price_micros > 0)),
      CHECK (included_units IS NULL OR (pricing_model = 'usage_tiered' AND price_micros > 0)),
      CHECK (free_calls IS NULL OR (price_micros > 0 AND (pricing_model = 'per_call' OR num_nonnulls(included_calls, included_units) > 0)))
    ) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02)`);
  // Used to count one seller's listings for its limits.
  await runner.query('CREATE INDEX listings_of_provider ON listings (provider_id, created_at DESC)');
  await runner.query('CREATE INDEX listings_name_reads_as ON listings (name_reads_as(name))');
  // Slugs of a listing that was public are kept, so that no other listing gets an address that buyers remember.
  await runner.query(`
    CREATE TABLE listing_slugs (
      slug text PRIMARY KEY,
      listing_id uuid NOT NULL
    )`);
  await runner.query('CREATE INDEX listing_slugs_listing ON listing_slugs (listing_id)');
  // How alive, reliable and bought a listing is, from 0 to 100: what breaks ties of relevance.
  await runner.query(`
    CREATE FUNCTION standing_of(reliability bigint, popularity bigint) RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN round(60 * least(reliability, 2000000) / 2000000::float8 + 40 * least(popularity, 1000000000) / 1000000000::float8)::smallint`);
  // A separate table: a counter in listings would rewrite the full-text index entries of the row with every paid call.
  // The standing is coarse, so that it seldom changes; a job copies it into listings, where a search reads it, and
  // known_standing is the copied one. The rows of listings have room for that update beside them, without new entries.
  await runner.query(`
    CREATE TABLE listing_popularity (
      listing_id uuid PRIMARY KEY REFERENCES listings (id) ON DELETE CASCADE,
      completed_calls bigint NOT NULL DEFAULT 0,
      popularity bigint NOT NULL DEFAULT 0,
      popularity_version int NOT NULL DEFAULT 0,
      reliability bigint NOT NULL DEFAULT 0,
      is_active boolean NOT NULL,
      standing smallint NOT NULL GENERATED ALWAYS AS (standing_of(reliability, popularity)) STORED,
      known_standing smallint NOT NULL DEFAULT 0
    ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02)`);
}

/**
 * The GIN index finds the matches of a search, and the other indexes provide the sort orders; see
 * search/search-sql.ts.
 */
async function createSearch(runner: QueryRunner): Promise<void> {
  for (const extension of ['pg_trgm', 'btree_gin'])
    await runner.query(`CREATE EXTENSION IF NOT EXISTS ${extension} SCHEMA public`);
  await runner.query(
    'CREATE INDEX listing_slugs_trigrams ON listing_slugs USING gin (slug gin_trgm_ops) WITH (fastupdate = off)',
  );
  // fastupdate is off, because every search would scan the list of pending entries, and one writer would have to merge
  // it.
  await runner.query(
    `CREATE INDEX listings_search ON listings USING gin (search, category_id, pricing_model, delivery_type)
       WITH (fastupdate = off) WHERE status = 'active'`,
  );
  // Only the words of names and tags: where too many listings have a word, those that have it there are looked at.
  await runner.query(
    `CREATE INDEX listings_named ON listings USING gin (ts_filter(search, '{a,b}')) WITH (fastupdate = off) WHERE status = 'active'`,
  );
  // For searches without a text, which are counted by an index-only scan. PostgreSQL skips over the values of columns
  // without a filter, of which there are few.
  await runner.query(
    `CREATE INDEX listings_filters ON listings (category_id, pricing_model, delivery_type, price_micros, is_live) WHERE status = 'active'`,
  );
  await runner.query(`CREATE INDEX listings_newest ON listings (created_at, id) WHERE status = 'active'`);
  await runner.query(
    `CREATE INDEX listings_live ON listings (created_at, id) WHERE status = 'active' AND pricing_model = 'per_call' AND is_live`,
  );
  await runner.query(`CREATE INDEX listings_price ON listings (price_micros, id) WHERE status = 'active'`);
  // Prices depend on the model: in the order of all prices, the most expensive per_call listing follows about 250,000
  // subscriptions.
  await runner.query(
    `CREATE INDEX listings_price_of_model ON listings (pricing_model, price_micros, id) INCLUDE (is_live) WHERE status = 'active'`,
  );
  await runner.query(
    'CREATE INDEX listing_popularity_most ON listing_popularity (popularity, listing_id) INCLUDE (reliability) WHERE is_active',
  );
  await runner.query(
    'CREATE INDEX listing_popularity_reliable ON listing_popularity (reliability, listing_id) WHERE is_active',
  );
  await runner.query(
    'CREATE INDEX listing_popularity_changed ON listing_popularity (listing_id) WHERE standing <> known_standing',
  );
  // Every word that any listing ever had, for spelling corrections.
  await runner.query('CREATE TABLE listing_words (word text PRIMARY KEY)');
  await runner.query(
    'CREATE INDEX listing_words_trigrams ON listing_words USING gin (word gin_trgm_ops) WITH (fastupdate = off)',
  );
  await createTriggers(runner);
}

async function createTriggers(runner: QueryRunner): Promise<void> {
  const triggers: [name: string, event: string, tables: string, body: string][] = [
    [
      'after_listings_added',
      'INSERT',
      'NEW TABLE AS added',
      `
      INSERT INTO listing_popularity (listing_id, is_active) SELECT id, status = 'active' FROM added ON CONFLICT DO NOTHING;`,
    ],
    [
      'after_listings_changed',
      'UPDATE',
      'NEW TABLE AS changed',
      `
      UPDATE listing_popularity SET is_active = NOT is_active FROM changed
      WHERE listing_id = changed.id AND is_active <> (changed.status = 'active');`,
    ],
  ];
  for (const [name, event, tables, body] of triggers) {
    await runner.query(
      `CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN ${body} RETURN NULL; END $$`,
    );
    await runner.query(
      `CREATE TRIGGER ${name} AFTER ${event} ON listings REFERENCING ${tables} FOR EACH STATEMENT EXECUTE FUNCTION ${name}()`,
    );
  }
  await runner.query(`
    CREATE FUNCTION after_endpoints_changed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      UPDATE listings SET is_live = NOT is_live FROM changed WHERE listings.id = changed.listing_id
        AND is_live <> EXISTS (SELECT FROM endpoints WHERE endpoints.listing_id = listings.id AND endpoints.status = 'active');
      RETURN NULL;
    END $$`);
  for (const event of ['INSERT', 'UPDATE'])
    await runner.query(
      `CREATE TRIGGER after_endpoints_${event.toLowerCase()} AFTER ${event} ON endpoints
       REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION after_endpoints_changed()`,
    );
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
