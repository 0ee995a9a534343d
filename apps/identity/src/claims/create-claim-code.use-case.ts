import type { InputOf, OutputOf } from '@market/contracts';
import { createClaimCode } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { ClaimCodesRepository } from '../challenges/claim-codes.repository.js';
import { identityConfig, type IdentityConfig } from '../config.js';

const find = sql(
  'claims.find-claimable',
  `SELECT display_name AS "displayName", EXISTS (SELECT 1 FROM claims c WHERE c.agent_id = a.id) AS claimed
   FROM accounts a WHERE a.id = $1 AND a.account_type = 'agent'`,
);

/** Begins a claim that the agent finishes where its wallet is. */
@Injectable()
export class CreateClaimCode {
  constructor(
    private readonly database: Database,
    private readonly codes: ClaimCodesRepository,
    @Inject(identityConfig.token) private readonly config: IdentityConfig,
  ) {}

  @HandleRequest(createClaimCode)
  async execute(
    { agent_id: id }: InputOf<typeof createClaimCode>,
    context: RequestContext,
  ): Promise<OutputOf<typeof createClaimCode>> {
    const [agent] = await this.database.query<{ displayName: string | null; claimed: boolean }>(find, [id]);
    if (!agent) throw refuse(createClaimCode, 'agent_not_found', {});
    if (agent.claimed) throw refuse(createClaimCode, 'agent_already_claimed', {});
    const { challengeTtlSeconds } = this.config;
    const code = await this.codes.make(id, principalOf(context).accountId, challengeTtlSeconds);
    return { code, expires_in: challengeTtlSeconds, agent: { id, display_name: agent.displayName } };
  }
}
