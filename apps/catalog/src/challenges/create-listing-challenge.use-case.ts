import type { InputOf, OutputOf } from '@market/contracts';
import { createListingChallenge } from '@market/contracts/catalog';
import { newProofOfWorkChallenge } from '@market/kernel';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { catalogConfig, type CatalogConfig } from '../config.js';
import { isSeller } from '../providers/is-seller.js';
import { listingDifficulty } from './listing-difficulty.js';

const lockAgent = sql(
  'listing-challenges.lock-agent',
  `SELECT pg_advisory_xact_lock(hashtextextended('listing-challenges|' || $1, 0))`,
);
const standing = sql(
  'listing-challenges.standing',
  `SELECT (SELECT count(*)::int FROM listings WHERE provider_id = $1) AS listings,
     (SELECT count(*)::int FROM listings WHERE provider_id = $1 AND created_at > now() - interval '1 hour') AS recent,
     (SELECT count(*)::int FROM listing_challenges WHERE agent_id = $1 AND expires_at > now()) AS open`,
);
const deleteBeyond = sql(
  'listing-challenges.delete-beyond',
  `DELETE FROM listing_challenges
   WHERE challenge IN
     (SELECT challenge FROM listing_challenges WHERE agent_id = $1 ORDER BY created_at DESC, challenge OFFSET $2)`,
);
const insert = sql(
  'listing-challenges.insert',
  `INSERT INTO listing_challenges (challenge, agent_id, difficulty, created_at, expires_at)
   VALUES ($1, $2, $3, clock_timestamp(), now() + make_interval(secs => $4))`,
);

interface Standing {
  listings: number;
  recent: number;
  open: number;
}

/**
 * Creates a challenge. Beyond the limit it replaces the agent's oldest unused challenge, so that forgotten challenges
 * do not block the agent. Open challenges count as listings for the difficulty, so that collecting easy ones saves no
 * work. A lock serializes the agent's concurrent requests.
 */
@Injectable()
export class CreateListingChallenge {
  constructor(
    private readonly database: Database,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {}

  @HandleRequest(createListingChallenge)
  async execute(
    _input: InputOf<typeof createListingChallenge>,
    context: RequestContext,
  ): Promise<OutputOf<typeof createListingChallenge>> {
    const agent = principalOf(context);
    if (!isSeller(agent)) throw refuse(createListingChallenge, 'seller_role_required', {});
    const {
      powDifficulty: base,
      listingsPerPowStep: step,
      challengeTtlSeconds,
      openChallengesMax,
      listingsPerSellerMax: limit,
    } = this.config;
    const challenge = newProofOfWorkChallenge();
    const difficulty = await this.database.transaction(async (tx) => {
      await tx.query(lockAgent, [agent.accountId]);
      const [{ listings, recent, open }] = (await tx.query<Standing>(standing, [agent.accountId])) as [Standing];
      if (listings >= limit) throw refuse(createListingChallenge, 'listing_limit_reached', { limit });
      if (open >= openChallengesMax) await tx.query(deleteBeyond, [agent.accountId, openChallengesMax - 1]);
      const priced = listingDifficulty({ base, step, recent: recent + Math.min(open, openChallengesMax - 1) });
      await tx.query(insert, [challenge, agent.accountId, priced, challengeTtlSeconds]);
      return priced;
    });
    return {
      challenge,
      difficulty,
      algorithm: 'sha256',
      hint:
        'Find a nonce of 1 to 64 letters and digits such that SHA-256(challenge + nonce) in hex starts with ' +
        `${difficulty} zeros, and send it as pow_nonce with POST /listings within ${challengeTtlSeconds} seconds.`,
    };
  }
}
