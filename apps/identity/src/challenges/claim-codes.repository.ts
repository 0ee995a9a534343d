import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';

const replace = sql(
  'claim-codes.replace',
  `INSERT INTO claim_codes (agent_id, human_id, code, expires_at) VALUES ($1, $2, $3, now() + make_interval(secs => $4))
   ON CONFLICT (agent_id, human_id) DO UPDATE SET code = excluded.code, expires_at = excluded.expires_at`,
);
const consume = sql(
  'claim-codes.consume',
  `DELETE FROM claim_codes WHERE agent_id = $1 AND code = $2 AND expires_at > now() RETURNING human_id AS "humanId"`,
);
const deleteExpired = sql('claim-codes.delete-expired', 'DELETE FROM claim_codes WHERE expires_at < now()');

/** Without the letters and digits that people confuse; 32 of them, so that 5 bits are one. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ';

/** The codes with which humans name themselves to the agents that they claim. */
@Injectable()
export class ClaimCodesRepository {
  constructor(private readonly database: Database) {}

  /** Ends the human's earlier code for the agent. @returns the code as people write it, like `K7QF-9M2X`. */
  async make(agentId: string, humanId: string, ttlSeconds: number): Promise<string> {
    const code = Array.from(randomBytes(8), (byte) => ALPHABET[byte % 32]).join('');
    await this.database.query(replace, [agentId, humanId, code, ttlSeconds]);
    return `${code.slice(0, 4)}-${code.slice(4)}`;
  }

  /** Returns the human of an agent's code to exactly one caller, and undefined to all others. */
  async consume(agentId: string, written: string): Promise<string | undefined> {
    const code = written.toUpperCase().replace(/[^0-9A-Z]/g, '');
    const [consumed] = await this.database.query<{ humanId: string }>(consume, [agentId, code]);
    return consumed?.humanId;
  }

  async deleteExpired(): Promise<void> {
    await this.database.query(deleteExpired);
  }
}
