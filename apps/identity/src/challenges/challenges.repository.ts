import type { ChallengePurpose } from '@market/contracts/identity';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { WalletAddress } from '../wallets/wallet-address.js';
import type { Challenge } from './challenge.js';

// All times are PostgreSQL's, so that processes with different clocks agree on what has expired.
const insert = sql(
  'challenges.insert',
  `INSERT INTO challenges (nonce, purpose, chain_type, address, chain_id, agent_id, human_id, pow_challenge, pow_difficulty, expires_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10))
   RETURNING issued_at AS "issuedAt", expires_at AS "expiresAt"`,
);
// Selects the columns in the form of `Challenge`.
const CHALLENGE = `nonce, purpose, json_build_object('chainType', chain_type, 'address', address) AS wallet,
  chain_id AS "chainId", agent_id AS "agentId", human_id AS "humanId",
  json_build_object('challenge', pow_challenge, 'difficulty', pow_difficulty) AS pow, issued_at AS "issuedAt", expires_at AS "expiresAt"`;
const findOpen = sql(
  'challenges.find-open',
  `SELECT ${CHALLENGE} FROM challenges WHERE nonce = $1 AND purpose = $2 AND address = $3 AND consumed_at IS NULL AND expires_at > now()`,
);
const findClaim = sql(
  'challenges.find-claim',
  `SELECT ${CHALLENGE} FROM challenges WHERE nonce = $1 AND purpose = 'claim' AND consumed_at IS NULL AND expires_at > now()`,
);
const consume = sql(
  'challenges.consume',
  `UPDATE challenges SET consumed_at = now()
   WHERE nonce = $1 AND purpose = $2 AND address = $3 AND consumed_at IS NULL AND expires_at > now()
   RETURNING consumed_at AS "solvedAt", floor(extract(epoch FROM consumed_at - issued_at) * 1000)::int AS "solveMs"`,
);
const deleteExpired = sql(
  'challenges.delete-expired',
  `DELETE FROM challenges
   WHERE nonce IN (SELECT nonce FROM challenges WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED)
   RETURNING nonce`,
);
const deleteBeyond = sql(
  'challenges.delete-beyond',
  `DELETE FROM challenges WHERE nonce IN (SELECT nonce FROM challenges ORDER BY expires_at DESC OFFSET $1 LIMIT $2) RETURNING nonce`,
);

export interface Consumed {
  solvedAt: Date;
  solveMs: number;
}

@Injectable()
export class ChallengesRepository {
  constructor(private readonly database: Database) {}

  /** Replaces no other challenge of the wallet: anyone may ask for one, and must not take the owner's away. */
  async insert(
    challenge: Omit<Challenge, 'issuedAt' | 'expiresAt'>,
    ttlSeconds: number,
  ): Promise<Pick<Challenge, 'issuedAt' | 'expiresAt'>> {
    const { wallet, purpose, chainId, agentId, humanId, nonce, pow } = challenge;
    const values = [
      nonce,
      purpose,
      wallet.chainType,
      wallet.address,
      chainId,
      agentId,
      humanId,
      pow.challenge,
      pow.difficulty,
      ttlSeconds,
    ];
    const [times] = await this.database.query<Pick<Challenge, 'issuedAt' | 'expiresAt'>>(insert, values);
    return times!;
  }

  /** The unused, unexpired challenge with this nonce, if it is for this wallet and purpose. */
  async findOpen(nonce: string, wallet: WalletAddress, purpose: ChallengePurpose): Promise<Challenge | null> {
    const [challenge] = await this.database.query<Challenge>(findOpen, [nonce, purpose, wallet.address]);
    return challenge ?? null;
  }

  /** Like `findOpen`, for a claim, whose challenge names the wallet. */
  async findOpenClaim(nonce: string): Promise<Challenge | null> {
    const [challenge] = await this.database.query<Challenge>(findClaim, [nonce]);
    return challenge ?? null;
  }

  /** Returns the time of the answer and its duration to exactly one caller, and null to all others. */
  async consume({ nonce, purpose, wallet }: Challenge): Promise<Consumed | null> {
    const [consumed] = await this.database.query<Consumed>(consume, [nonce, purpose, wallet.address]);
    return consumed ?? null;
  }

  /** Deletes all but the `count` challenges that expire last. @returns how many were deleted, at most `limit`. */
  async deleteBeyond(count: number, limit: number): Promise<number> {
    return (await this.database.query(deleteBeyond, [count, limit])).length;
  }

  /** @returns how many were deleted, at most `limit`. */
  async deleteExpired(limit: number): Promise<number> {
    return (await this.database.query(deleteExpired, [limit])).length;
  }
}
