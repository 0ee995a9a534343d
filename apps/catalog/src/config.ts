import { defineConfig, integer, variable, type ConfigOf } from '@market/runtime';

export const catalogConfig = defineConfig('catalog', {
  powDifficulty: variable(
    'LISTING_POW_DIFFICULTY',
    integer(0, 16, 4),
    'hex zeros the proof of work of a new listing starts with; each makes it 16 times harder',
  ),
  challengeTtlSeconds: variable(
    'CATALOG_CHALLENGE_TTL_SECONDS',
    integer(1, 86_400, 600),
    'how long a listing challenge may be solved',
  ),
  openChallengesMax: variable(
    'CATALOG_OPEN_CHALLENGES_MAX',
    integer(1, 10_000, 32),
    'unused listing challenges of one agent; a further one replaces the oldest',
  ),
  listingsPerPowStep: variable(
    'CATALOG_LISTINGS_PER_POW_STEP',
    integer(1, 100_000, 25),
    'listings an agent may create within an hour for each further hex zero of its next proofs of work',
  ),
  listingsPerSellerMax: variable(
    'CATALOG_LISTINGS_PER_SELLER_MAX',
    integer(1, 1_000_000, 1_000),
    'listings one agent may have, whatever their status',
  ),
  failingGraceSeconds: variable(
    'CATALOG_FAILING_GRACE_SECONDS',
    integer(1, 2_592_000, 86_400),
    'how long an endpoint may fail before its listing is suspended',
  ),
  sweepIntervalMs: variable(
    'CATALOG_SWEEP_INTERVAL_MS',
    integer(50, 3_600_000, 60_000),
    'how often expired challenges and failing endpoints are looked for',
  ),
});

export type CatalogConfig = ConfigOf<typeof catalogConfig>;
