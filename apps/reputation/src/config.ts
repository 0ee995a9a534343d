import { defineConfig, integer, variable, type ConfigOf } from '@market/runtime';

export const reputationConfig = defineConfig('reputation', {
  eventsKeptDays: variable(
    'REPUTATION_EVENTS_KEPT_DAYS',
    integer(1, 3_650, 30),
    'how long what an account was told of can be read again',
  ),
  pruneIntervalMs: variable(
    'REPUTATION_PRUNE_INTERVAL_MS',
    integer(50, 86_400_000, 60_000),
    'how often events that are kept no longer are looked for',
  ),
  popularityIntervalMs: variable(
    'REPUTATION_POPULARITY_INTERVAL_MS',
    integer(50, 3_600_000, 1_000),
    'how often the popularity of listings that were bought is measured',
  ),
});

export type ReputationConfig = ConfigOf<typeof reputationConfig>;
