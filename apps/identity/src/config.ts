import { defineConfig, integer, variable, type ConfigOf } from '@market/runtime';

export const identityConfig = defineConfig('identity', {
  powDifficulty: variable('REGISTRATION_POW_DIFFICULTY', integer(1, 8, 4), 'hex zeros the proof of work of a registration starts with; each makes it 16 times harder'),
  challengeTtlSeconds: variable('IDENTITY_CHALLENGE_TTL_SECONDS', integer(30, 3600, 300), 'how long a wallet challenge may be answered'),
  sessionTtlSeconds: variable('IDENTITY_SESSION_TTL_SECONDS', integer(1, 2_592_000, 43_200), 'how long a human stays signed in'),
  maxOpenChallenges: variable('IDENTITY_MAX_OPEN_CHALLENGES', integer(1, 10_000, 128), 'unused challenges one wallet may have at a time'),
});

export type IdentityConfig = ConfigOf<typeof identityConfig>;
