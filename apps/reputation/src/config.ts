import { defineConfig, integer, variable, type ConfigOf } from '@market/runtime';

export const reputationConfig = defineConfig('reputation', {
  eventsKeptDays: variable(
    'REPUTATION_EVENTS_KEPT_DAYS',
    integer(1, 3_650, 30),
    'how long events of accounts are kept',
  ),
  pruneIntervalMs: variable(
    'REPUTATION_PRUNE_INTERVAL_MS',
    integer(50, 86_400_000, 60_000),
    'interval of the job that deletes old events',
  ),
  popularityIntervalMs: variable(
    'REPUTATION_POPULARITY_INTERVAL_MS',
    integer(50, 3_600_000, 1_000),
    'interval at which the popularity of listings is measured',
  ),
});

export type ReputationConfig = ConfigOf<typeof reputationConfig>;
