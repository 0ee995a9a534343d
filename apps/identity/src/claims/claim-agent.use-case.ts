import type { InputOf, OutputOf, RequestContract } from '@market/contracts';
import { agentClaimed, agreeToClaim, claimAgent } from '@market/contracts/identity';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, Outbox, sql } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import type { z } from 'zod';
import type { Challenge } from '../challenges/challenge.js';
import { WalletProofs } from '../challenges/wallet-proofs.js';

/** Returns one row if the agent exists. */
const findAgent = sql(
  'claims.find-agent',
  `SELECT EXISTS (SELECT 1 FROM claims c WHERE c.agent_id = a.id) AS claimed,
          array(SELECT w.address FROM wallets w
            WHERE w.account_id = a.id AND w.status = 'active' AND 'login' = ANY (w.capabilities)) AS wallets
   FROM accounts a WHERE a.id = $1 AND a.account_type = 'agent'`,
);
const insert = sql(
  'claims.insert',
  'INSERT INTO claims (agent_id, human_id) VALUES ($1, $2) ON CONFLICT (agent_id) DO NOTHING RETURNING claimed_at',
);

type Claim = OutputOf<typeof claimAgent>;
type ClaimContract = RequestContract<z.ZodType, z.ZodType, typeof agreeToClaim.refusals>;

/** Records that a human has claimed an agent whose wallet signed the claim. */
@Injectable()
export class ClaimAgent {
  private readonly logger = new Logger('ClaimAgent');

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly proofs: WalletProofs,
  ) {}

  /** The human of the challenge sends the signature. */
  @HandleRequest(claimAgent)
  async execute(
    { agent_id: agentId, nonce, signature }: InputOf<typeof claimAgent>,
    context: RequestContext,
  ): Promise<Claim> {
    const humanId = principalOf(context).accountId;
    const agent = await this.find(agentId);
    if (!agent) throw refuse(claimAgent, 'agent_not_found', {});
    if (agent.claimed) throw refuse(claimAgent, 'agent_already_claimed', {});
    const challenge = await this.proofs.findClaim(claimAgent, nonce);
    if (challenge.agentId !== agentId) throw refuse(claimAgent, 'claim_of_another_agent', {});
    if (challenge.humanId !== humanId) throw refuse(claimAgent, 'claim_of_another_human', {});
    return this.claim(claimAgent, { agentId, humanId, agent, challenge, signature }, context);
  }

  /** The agent of the challenge sends the signature. */
  @HandleRequest(agreeToClaim)
  async agree({ nonce, signature }: InputOf<typeof agreeToClaim>, context: RequestContext): Promise<Claim> {
    const agentId = principalOf(context).accountId;
    const agent = (await this.find(agentId))!;
    if (agent.claimed) throw refuse(agreeToClaim, 'agent_already_claimed', {});
    const challenge = await this.proofs.findClaim(agreeToClaim, nonce);
    if (challenge.agentId !== agentId) throw refuse(agreeToClaim, 'claim_of_another_agent', {});
    return this.claim(agreeToClaim, { agentId, humanId: challenge.humanId!, agent, challenge, signature }, context);
  }

  private async find(agentId: string): Promise<Claimable | undefined> {
    return (await this.database.query<Claimable>(findAgent, [agentId]))[0];
  }

  private async claim(
    contract: ClaimContract,
    { agentId, humanId, agent, challenge, signature }: Signed,
    context: RequestContext,
  ): Promise<Claim> {
    if (!agent.wallets.includes(challenge.wallet.address)) throw refuse(contract, 'wallet_not_of_agent', {});
    await this.proofs.consumeAndVerify(contract, challenge, signature);
    return this.database.transaction(async (tx) => {
      const [claim] = await tx.query<{ claimed_at: Date }>(insert, [agentId, humanId]);
      if (!claim) throw refuse(contract, 'agent_already_claimed', {});
      this.outbox.add(tx, agentClaimed, { agentId, humanId, claimedAt: claim.claimed_at.toISOString() }, context);
      tx.afterCommit(() =>
        this.logger.log(`agent ${agentId} claimed by ${humanId} through wallet ${challenge.wallet.address}`),
      );
      return { agent_id: agentId, claimed_by: humanId, status: 'claimed' as const };
    });
  }
}

interface Claimable {
  claimed: boolean;
  /** The addresses that may agree to a claim. */
  wallets: string[];
}

interface Signed {
  agentId: string;
  humanId: string;
  agent: Claimable;
  challenge: Challenge;
  signature: string;
}
