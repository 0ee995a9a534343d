import type { InputOf, OutputOf } from '@market/contracts';
import { getAgent } from '@market/contracts/identity';
import { HandleRequest, refuse } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type Agent = OutputOf<typeof getAgent>;

const findAgent = sql(
  'agents.find-agent',
  `SELECT id, display_name, avatar_url, account_type, is_verified, bio, website, created_at
   FROM accounts WHERE id = $1 AND account_type = 'agent'`,
);

@Injectable()
export class GetAgent {
  constructor(private readonly database: Database) {}

  @HandleRequest(getAgent)
  async execute({ agentId }: InputOf<typeof getAgent>): Promise<Agent> {
    const [found] = await this.database.query<Omit<Agent, 'created_at'> & { created_at: Date }>(findAgent, [agentId]);
    if (!found) throw refuse(getAgent, 'agent_not_found', {});
    return { ...found, created_at: found.created_at.toISOString() };
  }
}
