import type { ChallengePurpose } from '@market/contracts/identity';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { WalletAddress } from '../../wallets/wallet-address.js';
import type { Challenge } from '../challenge.js';
import type { ChallengeEntity } from './challenge.entity.js';

// Time is PostgreSQL's alone: processes whose clocks differ agree on what has expired.
const insertWithin = sql(
  'challenges.insert-within',
  `INSERT INTO challenges (nonce, purpose, chain_type, address, chain_id, agent_id, pow_challenge, pow_difficulty, expires_at)
   SELECT $1, $2, $3, $4::text, $5::bigint, $6::uuid, $7, $8::smallint, now() + make_interval(secs => $9)
   WHERE (SELECT count(*) FROM challenges WHERE address = $4 AND consumed_at IS NULL AND expires_at > now()) < $10
   RETURNING issued_at AS "issuedAt", expires_at AS "expiresAt"`,
);
const nextExpiry = sql(
  'challenges.next-expiry',
  `SELECT ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds
   FROM challenges WHERE address = $1 AND consumed_at IS NULL AND expires_at > now()`,
);
const findOpen = sql(
  'challenges.find-open',
  `SELECT chain_id AS "chainId", agent_id AS "agentId", pow_challenge AS "powChallenge", pow_difficulty AS "powDifficulty", issued_at AS "issuedAt", expires_at AS "expiresAt"
   FROM challenges WHERE nonce = $1 AND purpose = $2 AND address = $3 AND consumed_at IS NULL AND expires_at > now()`,
);
const consume = sql(
  'challenges.consume',
  `UPDATE challenges SET consumed_at = now() WHERE nonce = $1 AND purpose = $2 AND address = $3 AND consumed_at IS NULL AND expires_at > now()
   RETURNING consumed_at AS "solvedAt", floor(extract(epoch FROM consumed_at - issued_at) * 1000)::int AS "solveMs"`,
);
const deleteExpired = sql(
  'challenges.delete-expired',
  `DELETE FROM challenges WHERE nonce IN (SELECT nonce FROM challenges WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED) RETURNING nonce`,
);

export interface Consumed {
  solvedAt: Date;
  solveMs: number;
}

type OpenRow = Pick<ChallengeEntity, 'chainId' | 'agentId' | 'powChallenge' | 'powDifficulty' | 'issuedAt' | 'expiresAt'>;

@Injectable()
export class ChallengesRepository {
  constructor(private readonly database: Database) {}

  /** Null when the wallet has `limit` unused challenges already. */
  async insertWithin(limit: number, challenge: Omit<Challenge, 'issuedAt' | 'expiresAt'>, ttlSeconds: number): Promise<Pick<Challenge, 'issuedAt' | 'expiresAt'> | null> {
    const { wallet, purpose, chainId, agentId, nonce, pow } = challenge;
    const values = [nonce, purpose, wallet.chainType, wallet.address, chainId, agentId, pow.challenge, pow.difficulty, ttlSeconds, limit];
    const [times] = await this.database.query<Pick<Challenge, 'issuedAt' | 'expiresAt'>>(insertWithin, values);
    return times ?? null;
  }

  async secondsUntilNextExpiry(address: string): Promise<number> {
    const [next] = await this.database.query<{ seconds: number | null }>(nextExpiry, [address]);
    return Math.max(1, next?.seconds ?? 1);
  }

  /** The unused, unexpired challenge with this nonce, if it is for this wallet and purpose. */
  async findOpen(nonce: string, wallet: WalletAddress, purpose: ChallengePurpose): Promise<Challenge | null> {
    const [row] = await this.database.query<OpenRow>(findOpen, [nonce, purpose, wallet.address]);
    if (!row) return null;
    const { powChallenge, powDifficulty, ...rest } = row;
    return { ...rest, nonce, wallet, purpose, pow: { challenge: powChallenge, difficulty: powDifficulty } };
  }

  /** When it was answered and how long that took, to exactly one of all who ever try; null to the others. */
  async consume({ nonce, purpose, wallet }: Challenge): Promise<Consumed | null> {
    const [consumed] = await this.database.query<Consumed>(consume, [nonce, purpose, wallet.address]);
    return consumed ?? null;
  }

  /** @returns how many went, at most `limit`. */
  async deleteExpired(limit: number): Promise<number> {
    return (await this.database.query(deleteExpired, [limit])).length;
  }
}
