import { createListing } from '@market/contracts/catalog';
import { solvesProofOfWork } from '@market/kernel';
import { refuse } from '@market/messaging';
import { Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

// Time is PostgreSQL's alone: processes whose clocks differ agree on what has expired.
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
  /** From handing it out to now, by PostgreSQL's clock. */
  solveMs: number;
}

/** Open challenges are rows; a used one is gone. */
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

  /** Uses the challenge up with the rest of the transaction; of all who try, one succeeds. @throws Refusal `challenge_invalid`. */
  async consume(tx: Tx, agentId: string, challenge: string): Promise<void> {
    const consumed = await tx.query(consume, [challenge, agentId]);
    if (consumed.length === 0) throw refuse(createListing, 'challenge_invalid', {});
  }
}
