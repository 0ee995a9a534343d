import { newId } from '@market/kernel';
import { batchSql, sql, type Database } from '@market/persistence';
import { listingWords } from '../search/listing-words.js';

const listOf = (text: string): string[] => text.split(/\s+/);

/** English words for the subjects of services, most common first, so that search stems them. */
const SUBJECTS =
  listOf(`data search text image market price weather news report document company language video audio customer
  translation forecast payment code test security risk contract invoice map route travel flight hotel stock token wallet
  chain transaction address identity fraud domain email calendar meeting contact sales product review catalog inventory
  order shipping warehouse vehicle traffic energy water climate satellite crop soil forest ocean species protein molecule
  gene disease drug patient clinic insurance claim policy law court patent trademark tax audit ledger budget salary resume
  job school course exam book recipe food restaurant sport match player game music song podcast voice speech subtitle photo
  portrait logo font color layout website page link crawler sitemap keyword ranking advert campaign audience survey poll vote
  citizen city street building rent mortgage loan credit bond fund option future currency exchange`);
const QUALITIES =
  listOf(`fast real-time daily historical global local verified private open structured clean live precise simple
  automatic multilingual regional hourly bulk streaming certified independent compact deep semantic trusted curated raw`);
const VERBS =
  listOf(`translate summarize classify extract enrich convert compare verify detect monitor predict generate transcribe
  recognize index rank clean merge validate score annotate schedule archive deliver explain measure estimate track match`);
const ONSETS = listOf('b br c cl d dr f fl g gr h j k l m n p pr qu r s sk st t tr v w z');
const RHYMES = listOf('ab ack adi al amo an ara ato el emi en era eto il imo in ira ola om ona or ova ul umi un uro');
const SYLLABLES = ONSETS.flatMap((onset) => RHYMES.map((rhyme) => onset + rhyme));
const PRICING = ['per_call', 'free', 'monthly', 'usage_tiered', 'yearly'];
const DELIVERY = ['api', 'webhook', 'streaming', 'batch', 'file'];

const YEAR_MS = 365 * 86_400_000;
const LISTINGS_PER_SELLER = 100;
const BATCH_SIZE = 2_000;
/** Word frequencies follow the Zipf–Mandelbrot law; the shift makes the first few words about equally frequent. */
const SHIFT = 6;
/** From this rank on, words are rarer than the law says, and the vocabulary is unbounded. English has the same bend. */
const BEND = 8_000 + SHIFT;
const COMMON = Math.log(BEND / SHIFT);

/** Returns a random subject. The vocabulary grows with the square root of the text length (Heaps' law). */
function subject(): string {
  const at = Math.random() * (COMMON + 1);
  const rank = Math.floor((at < COMMON ? SHIFT * Math.exp(at) : BEND / (COMMON + 1 - at)) - SHIFT);
  return SUBJECTS[rank] ?? coined(rank);
}

/**
 * Returns a unique word of at least two syllables for a number. 31 and the number of syllables have no common factor.
 */
function coined(number: number): string {
  let word = '';
  for (let rest = number + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    word += SYLLABLES[(rest * 31) % SYLLABLES.length]!;
  }
  return word;
}

/** Chooses an item; the first items are common and the last ones rare. */
const skewed = <T>(items: readonly T[]): T => items[Math.floor(Math.random() ** 2 * items.length)]!;
const between = (min: number, max: number): number => min + Math.floor(Math.random() * (max - min + 1));
const many = (count: number): string[] => Array.from({ length: count }, subject);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const sentence = (): string =>
  `${capital(skewed(VERBS))} ${skewed(QUALITIES)} ${many(2).join(' ')} for ${many(between(2, 7)).join(', ')}.`;

function sampleListing(providerIds: readonly string[], categoryIds: readonly string[]): object {
  const createdAt = new Date(Date.now() - Math.random() * YEAR_MS);
  const id = newId(createdAt.getTime());
  const subjects = many(between(1, 3));
  const name = capital([skewed(['', skewed(QUALITIES)]), ...subjects].join(' ').trim()).slice(0, 100);
  const pricingModel = skewed(PRICING);
  const [least, most] = pricingModel === 'per_call' ? [0.001, 5] : [5, 5_000];
  // Prices are spread evenly over the orders of magnitude, and one in four is rounded to one digit.
  const dollars = (least * (most / least) ** Math.random()).toPrecision(Math.random() < 0.25 ? 1 : 3);
  const description = Array.from({ length: between(2, 5) }, sentence).join(' ');
  const tags = [...new Set(['sample', subjects[0]!, ...many(between(0, 3))])];
  const { words, places } = listingWords({ name, tags, description, docs: null, category: null, language: 'en' });
  const completedCalls = Math.floor(200_000 ** (Math.random() ** 3)) - 1;
  const endpointStatus = pricingModel === 'per_call' ? skewed(['active', 'active', 'unverified']) : null;
  return {
    id,
    words,
    places,
    provider_id: skewed(providerIds),
    slug: `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${id.slice(-8)}`,
    name,
    description,
    tags,
    category_id: Math.random() < 0.05 ? null : skewed(categoryIds),
    pricing_model: pricingModel,
    price_micros: pricingModel === 'free' ? 0 : Math.round(Number(dollars) * 1_000_000),
    delivery_type: skewed(DELIVERY),
    status: Math.random() < 0.96 ? 'active' : skewed(['draft', 'suspended']),
    created_at: createdAt,
    completed_calls: completedCalls,
    popularity: Math.round(1e9 * Math.min(Math.log1p(completedCalls) / 12, 1)),
    endpoint_status: endpointStatus,
    reliability: endpointStatus === 'active' ? 1_000_000 + Math.round(Math.random() * 999_999) : 0,
  };
}

const categories = sql('samples.categories', 'SELECT id FROM categories ORDER BY sort_order');
const providers = batchSql(
  `INSERT INTO providers (id, display_name, account_type, is_verified) SELECT *, 'agent', false FROM unnest($1::uuid[], $2::text[])`,
);
const listings = batchSql(`
  WITH sample AS (
    SELECT * FROM jsonb_to_recordset($1) AS sample (id uuid, provider_id uuid, slug text, name text, description text,
      tags text[], words text[], places text[], category_id uuid, pricing_model text, price_micros bigint, delivery_type text, status text,
      created_at timestamptz, completed_calls bigint, endpoint_status text, reliability bigint, popularity bigint)
  ), listing AS (
    INSERT INTO listings (id, version, provider_id, slug, name, description, tags, category_id,
      pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type,
      auth_method, formats, example_outputs, status, suspended_by, published_at, created_at, updated_at, is_live, standing,
      found_language, search)
    SELECT id, 1, provider_id, slug, name, description, tags, category_id,
      pricing_model, price_micros, 'USD', 'USDC', delivery_type,
      'api_key', '{json}', '[]', status, CASE WHEN status = 'suspended' THEN 'owner' END,
      CASE WHEN status <> 'draft' THEN created_at END, created_at, created_at,
      coalesce(endpoint_status = 'active', false), standing_of(reliability, popularity),
      'en', search_words('en', words, places) FROM sample
  ), word AS (
    INSERT INTO listing_words SELECT DISTINCT word COLLATE "C" FROM sample, unnest(words) word ORDER BY 1 ON CONFLICT DO NOTHING
  ), slug AS (
    INSERT INTO listing_slugs (slug, listing_id) SELECT slug, id FROM sample
  ), endpoint AS (
    INSERT INTO endpoints (listing_id, version, status, limits)
    SELECT id, 1, endpoint_status,
      '{"max_request_bytes": 262144, "max_response_bytes": 1048576, "max_file_bytes": 33554432,
        "idle_timeout_ms": 30000, "stream_timeout_ms": 600000,
        "max_concurrency": 32, "requests_per_minute": null}'
    FROM sample WHERE endpoint_status IS NOT NULL
  )
  INSERT INTO listing_popularity (listing_id, completed_calls, popularity, is_active, reliability, known_standing)
  SELECT id, completed_calls, popularity, status = 'active', reliability, standing_of(reliability, popularity) FROM sample`);

const asOwner = sql('samples.as-owner', 'SET LOCAL ROLE NONE');
const analyze = sql('samples.analyze', 'ANALYZE listings, listing_slugs, listing_popularity, listing_words, providers');

/**
 * Writes listings of a large sample market, and their sellers, directly into the tables of the catalog. It emits no
 * events; the listings have no endpoints in the gateway, and identity does not know the sellers.
 * @param onWritten is called with the number of listings written so far.
 */
export async function writeSamples(
  database: Database,
  count: number,
  onWritten: (count: number) => void,
): Promise<void> {
  const categoryIds = (await database.query<{ id: string }>(categories)).map(({ id }) => id);
  const providerIds = Array.from({ length: Math.ceil(count / LISTINGS_PER_SELLER) }, () => newId());
  await database.query(providers, [providerIds, providerIds.map(() => many(2).map(capital).join(' '))]);
  let [begun, written] = [0, 0];
  const lane = async (): Promise<void> => {
    while (begun < count) {
      const size = Math.min(BATCH_SIZE, count - begun);
      begun += size;
      const batch = Array.from({ length: size }, () => sampleListing(providerIds, categoryIds));
      await database.query(listings, [JSON.stringify(batch)]);
      onWritten((written += size));
    }
  };
  // Two loops run concurrently, so that one generates a batch while the database writes another.
  await Promise.all([lane(), lane()]);
  // The statistics of a few listings lead to bad plans for many, and the next autovacuum may be a minute away.
  await database.transaction(async (tx) => {
    await tx.query(asOwner);
    await tx.query(analyze);
  });
}
