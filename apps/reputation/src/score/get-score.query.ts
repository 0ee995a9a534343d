import type { InputOf, OutputOf } from '@market/contracts';
import { getAgents } from '@market/contracts/identity';
import { getScore } from '@market/contracts/reputation';
import { MessageBus, refuse, type Call } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { asOf, scoreOf, type Score } from './score.js';

type AgentScore = OutputOf<typeof getScore>;

const find = sql('scores.find', 'SELECT score, scored_at, now() AS now FROM scores WHERE agent_id = $1');

const NOTHING_KNOWN = scoreOf({ listings: [], buyers: [], solveMs: [], lastActiveAt: null });

/**
 * The stored score as it is at this moment, by PostgreSQL's clock. Queries: 1. An agent whose registration has not arrived
 * here yet is asked for: 1 bus hop more.
 */
@Injectable()
export class GetScore {
  constructor(
    private readonly database: Database,
    private readonly bus: MessageBus,
  ) {}

  async execute({ agentId }: InputOf<typeof getScore>, call: Call): Promise<AgentScore> {
    const [row] = await this.database.query<{ score: Score; scored_at: Date; now: Date }>(find, [agentId]);
    if (row) return viewOf(agentId, row.score, row.now, row.scored_at);
    const { agents } = await this.bus.request(getAgents, { ids: [agentId] }, call);
    if (!agents.some(({ account_type }) => account_type === 'agent')) throw refuse(getScore, 'agent_not_found', {});
    return viewOf(agentId, NOTHING_KNOWN, new Date(), null);
  }
}

function viewOf(agentId: string, score: Score, now: Date, scoredAt: Date | null): AgentScore {
  const { status, market_score, score_tier, categories, freshness } = asOf(score, now);
  const { provisional, components, capability, total_events, total_transactions, last_active_at } = score;
  return {
    agent_id: agentId,
    status,
    market_score,
    score_tier,
    provisional,
    components,
    categories,
    capability,
    meta: { total_events, total_transactions, last_active_at, freshness, scored_at: score.is_scored ? (scoredAt?.toISOString() ?? null) : null },
  };
}
