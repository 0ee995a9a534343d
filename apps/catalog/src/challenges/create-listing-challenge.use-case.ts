import type { OutputOf } from '@market/contracts';
import { createListingChallenge } from '@market/contracts/catalog';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { isSeller } from '../providers/is-seller.js';

const lockAgent = sql('listing-challenges.lock-agent', `SELECT pg_advisory_xact_lock(hashtextextended('listing-challenges|' || $1, 0))`);
const openOnes = sql(
  'listing-challenges.open-ones',
  'SELECT count(*)::int AS open, ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds FROM listing_challenges WHERE agent_id = $1 AND expires_at > now()',
);
const insert = sql('listing-challenges.insert', 'INSERT INTO listing_challenges (challenge, agent_id, difficulty, expires_at) VALUES ($1, $2, $3, now() + make_interval(secs => $4))');

/** Queries: 3 in one transaction. The lock makes the agent's parallel requests count each other. */
@Injectable()
export class CreateListingChallenge {
  constructor(
    private readonly database: Database,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  async execute(call: Call): Promise<OutputOf<typeof createListingChallenge>> {
    const agent = principalOf(call);
    if (!isSeller(agent)) throw refuse(createListingChallenge, 'seller_role_required', {});
    const { powDifficulty: difficulty, challengeTtlSeconds, openChallengesMax } = this.config;
    const challenge = randomBytes(32).toString('hex');
    await this.database.transaction(async (tx) => {
      await tx.query(lockAgent, [agent.accountId]);
      const [{ open, seconds }] = (await tx.query<{ open: number; seconds: number }>(openOnes, [agent.accountId])) as [{ open: number; seconds: number }];
      if (open >= openChallengesMax) throw refuse(createListingChallenge, 'too_many_challenges', { retry_after_seconds: Math.max(1, seconds) });
      await tx.query(insert, [challenge, agent.accountId, difficulty, challengeTtlSeconds]);
    });
    return {
      challenge,
      difficulty,
      algorithm: 'sha256',
      hint: `Find a nonce of 1 to 64 letters and digits such that SHA-256(challenge + nonce) in hex starts with ${difficulty} zeros, and send it as pow_nonce with POST /listings within ${challengeTtlSeconds} seconds.`,
    };
  }
}
