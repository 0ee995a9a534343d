import type { InputOf } from '@market/contracts';
import { getAgents } from '@market/contracts/identity';
import { getScore } from '@market/contracts/reputation';
import { HandleRequest, MessageBus, refuse, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import { agentScoreOf, NO_EVIDENCE, type AgentScore } from './agent-score.js';
import { ScoreEvidence } from './score-evidence.js';

/**
 * Computes the score from the current sums, by PostgreSQL's clock. If an agent's registration event has not arrived
 * yet, it asks identity for the agent.
 */
@Injectable()
export class GetScore {
  constructor(
    private readonly evidence: ScoreEvidence,
    private readonly bus: MessageBus,
  ) {}

  @HandleRequest(getScore)
  async execute({ agentId }: InputOf<typeof getScore>, context: RequestContext): Promise<AgentScore> {
    const found = await this.evidence.of(agentId);
    if (found) return agentScoreOf(agentId, found.evidence, found.now);
    const { agents } = await this.bus.request(getAgents, { ids: [agentId] }, context);
    if (!agents.some(({ account_type }) => account_type === 'agent')) throw refuse(getScore, 'agent_not_found', {});
    return agentScoreOf(agentId, NO_EVIDENCE, new Date());
  }
}
