import { defineConfig, integer, variable, type ConfigOf } from '@market/runtime';

export const reputationConfig = defineConfig('reputation', {
  refreshIntervalMs: variable('REPUTATION_REFRESH_INTERVAL_MS', integer(20, 3_600_000, 1_000), 'how often scores that new facts concern are computed anew, in milliseconds'),
});

export type ReputationConfig = ConfigOf<typeof reputationConfig>;
