import type { InputOf, OutputOf } from '@market/contracts';
import { getOwnedAgent } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';

type Output = OutputOf<typeof getOwnedAgent>;

const find = sql(
  'claims.find-owned-agent',
  `SELECT a.id AS "accountId", a.account_type AS "accountType", a.role, a.display_name AS "displayName",
     a.suspended_at IS NOT NULL AS "isSuspended"
   FROM claims c JOIN accounts a ON a.id = c.agent_id WHERE c.agent_id = $1 AND c.human_id = $2`,
);

@Injectable()
export class GetOwnedAgent {
  constructor(private readonly database: Database) {}

  @HandleRequest(getOwnedAgent)
  async execute({ agentId }: InputOf<typeof getOwnedAgent>, context: RequestContext): Promise<Output> {
    const [agent] = await this.database.query<Output>(find, [agentId, principalOf(context).accountId]);
    if (!agent) throw refuse(getOwnedAgent, 'agent_not_found', {});
    return agent;
  }
}
