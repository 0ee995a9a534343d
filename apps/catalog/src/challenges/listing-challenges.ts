import { createListing } from '@market/contracts/catalog';
import { solvesProofOfWork } from '@market/kernel';
import { refuse } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

// All times are PostgreSQL's, so that processes with different clocks agree on what has expired.
const findOpen = sql(
  'listing-challenges.find-open',
  `SELECT challenge, difficulty, (extract(epoch FROM clock_timestamp() - created_at) * 1000)::int AS "solveMs" FROM listing_challenges
   WHERE agent_id = $1 AND expires_at > now() AND ($2::text IS NULL OR challenge = $2)
   ORDER BY created_at DESC, challenge LIMIT 1`,
);
const consume = sql(
  'listing-challenges.consume',
  'DELETE FROM listing_challenges WHERE challenge = $1 AND agent_id = $2 AND expires_at > now() RETURNING challenge',
);

export interface SolvedChallenge {
  challenge: string;
  difficulty: number;
  /** The time since the challenge was issued, by PostgreSQL's clock. */
  solveMs: number;
}

/** Stores open challenges. A used challenge is deleted. */
@Injectable()
export class ListingChallenges {
  constructor(private readonly database: Database) {}

  /**
   * The agent's open challenge that the nonce solves: the named one, or else the latest.
   * @throws Refusal `challenge_invalid`, `proof_of_work_invalid`.
   */
  async solved(agentId: string, nonce: string, named: string | undefined): Promise<SolvedChallenge> {
    const known = named === undefined || /^[0-9a-f]{64}$/.test(named);
    const [open] = known ? await this.database.query<SolvedChallenge>(findOpen, [agentId, named ?? null]) : [];
    if (!open) throw refuse(createListing, 'challenge_invalid', {});
    if (!solvesProofOfWork(open.challenge, nonce, open.difficulty))
      throw refuse(createListing, 'proof_of_work_invalid', { difficulty: open.difficulty });
    return open;
  }

  /**
   * Consumes the challenge in the caller's transaction. One of several concurrent attempts succeeds.
   * @throws Refusal `challenge_invalid`.
   */
  async consume(tx: Tx, agentId: string, challenge: string): Promise<void> {
    const consumed = await tx.query(consume, [challenge, agentId]);
    if (consumed.length === 0) throw refuse(createListing, 'challenge_invalid', {});
  }
}
