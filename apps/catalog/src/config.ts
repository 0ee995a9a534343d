import { baseUrl, defineConfig, integer, optional, text, variable, type ConfigOf } from '@market/runtime';

export const catalogConfig = defineConfig('catalog', {
  powDifficulty: variable(
    'LISTING_POW_DIFFICULTY',
    integer(0, 16, 4),
    "hex zeros of a new listing's proof of work; each makes it 16 times harder",
  ),
  challengeTtlSeconds: variable(
    'CATALOG_CHALLENGE_TTL_SECONDS',
    integer(1, 86_400, 600),
    'lifetime of a listing challenge',
  ),
  openChallengesMax: variable(
    'CATALOG_OPEN_CHALLENGES_MAX',
    integer(1, 10_000, 32),
    'unused listing challenges of one agent; a further one replaces the oldest',
  ),
  listingsPerPowStep: variable(
    'CATALOG_LISTINGS_PER_POW_STEP',
    integer(1, 100_000, 25),
    'listings of an agent within an hour after which its proof of work gets a further hex zero',
  ),
  listingsPerSellerMax: variable(
    'CATALOG_LISTINGS_PER_SELLER_MAX',
    integer(1, 1_000_000, 1_000),
    'listings of one agent, in any status',
  ),
  failingGraceSeconds: variable(
    'CATALOG_FAILING_GRACE_SECONDS',
    integer(1, 2_592_000, 86_400),
    'how long an endpoint may fail before its listing is suspended',
  ),
  sweepIntervalMs: variable(
    'CATALOG_SWEEP_INTERVAL_MS',
    integer(50, 3_600_000, 60_000),
    'interval of the job for expired challenges and failing endpoints',
  ),
  embeddingsUrl: variable(
    'CATALOG_EMBEDDINGS_URL',
    optional(baseUrl()),
    'OpenAI-compatible API of embeddings, such as http://127.0.0.1:11434/v1, for search by meaning',
  ),
  embeddingsModel: variable(
    'CATALOG_EMBEDDINGS_MODEL',
    text('nomic-embed-text'),
    'its model, of at most 1536 dimensions; a change embeds all listings anew',
  ),
  embeddingsApiKey: variable('CATALOG_EMBEDDINGS_API_KEY', optional(text()), 'sent to it as Authorization: Bearer'),
});

export type CatalogConfig = ConfigOf<typeof catalogConfig>;
