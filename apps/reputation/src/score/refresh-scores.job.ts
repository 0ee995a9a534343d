import { Database, sql, type Tx } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { reputationConfig, type ReputationConfig } from '../config.js';
import { ScoreEvidence } from './evidence.js';
import { SCORE_VERSION } from './score.js';
import { Standings } from './standings.js';

const BATCH = 32;
/** A run ends in sight of a shutdown, however much there is to do; the next one goes on. */
const BATCHES_A_RUN = 64;

const markOutdated = sql(
  'stale-scores.mark-outdated',
  'INSERT INTO stale_scores (agent_id, since) SELECT agent_id, now() FROM scores WHERE version < $1 LIMIT 1000 ON CONFLICT DO NOTHING',
);
const takeAccounts = sql(
  'stale-accounts.take',
  `DELETE FROM stale_accounts WHERE (account_id, cause) IN (SELECT account_id, cause FROM stale_accounts ORDER BY since LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) RETURNING account_id`,
);
const findParties = sql('accounts.find-parties', 'SELECT DISTINCT party_id FROM accounts WHERE account_id = ANY($1::uuid[]) ORDER BY party_id');
/** A step in the revenue of a seller that everyone buys of concerns nearly everyone. */
const patiently = sql('standings.patiently', "SET LOCAL statement_timeout = '5min'");
const takeTurns = sql('standings.take-turns', `SELECT pg_advisory_xact_lock(hashtextextended('reputation standings', 0))`);
const markScores = sql(
  'stale-scores.mark-taken',
  'INSERT INTO stale_scores (agent_id, since) SELECT agent_id, now() FROM unnest($1::uuid[]) AS marked (agent_id) ORDER BY agent_id ON CONFLICT (agent_id) DO UPDATE SET since = excluded.since',
);
const takeScores = sql(
  'stale-scores.take',
  `DELETE FROM stale_scores WHERE agent_id IN (SELECT agent_id FROM stale_scores ORDER BY since LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) RETURNING agent_id`,
);
const keepScore = sql(
  'scores.keep',
  `INSERT INTO scores AS known (agent_id, version, score, scored_at) VALUES ($1, $2, $3::jsonb, now())
   ON CONFLICT (agent_id) DO UPDATE SET version = excluded.version, score = excluded.score, scored_at = excluded.scored_at
   WHERE known.version <> excluded.version OR known.score <> excluded.score`,
);

const dropScore = sql('scores.drop', 'DELETE FROM scores WHERE agent_id = $1');

/**
 * Computes anew what facts have made stale: first what parties are to others, then scores. A mark is taken in the
 * transaction that answers it, and set again by whoever adds a fact meanwhile, so that none is ever lost.
 */
@Injectable()
export class RefreshScores implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly standings: Standings,
    private readonly evidence: ScoreEvidence,
    private readonly jobs: Jobs,
    @Inject(reputationConfig.token) private readonly config: ReputationConfig,
  ) {}

  onModuleInit(): void {
    this.jobs.every('refresh scores', this.config.refreshIntervalMs, async () => void (await this.run()));
  }

  /** @returns whether nothing is stale any more. */
  async run(): Promise<boolean> {
    await this.database.query(markOutdated, [SCORE_VERSION]);
    for (let batch = 0; batch < BATCHES_A_RUN; batch += 1) {
      if ((await this.refreshStandings()) > 0) continue;
      if ((await this.refreshScores()) === 0) return true;
    }
    return false;
  }

  /** Of all processes one at a time: what one sees of a party is what the next builds on. */
  private refreshStandings(): Promise<number> {
    return this.database.transaction(async (tx) => {
      await tx.query(patiently);
      await tx.query(takeTurns);
      const taken = [...new Set((await tx.query<{ account_id: string }>(takeAccounts)).map((row) => row.account_id))];
      if (taken.length === 0) return 0;
      const parties = await tx.query<{ party_id: string }>(findParties, [taken]);
      await this.standings.refresh(tx, parties.map((row) => row.party_id));
      await tx.query(markScores, [taken]);
      return taken.length;
    });
  }

  private refreshScores(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const taken = await tx.query<{ agent_id: string }>(takeScores);
      for (const { agent_id } of taken) await this.refreshScore(tx, agent_id);
      return taken.length;
    });
  }

  private async refreshScore(tx: Tx, agentId: string): Promise<void> {
    const score = await this.evidence.scoreOf(tx, agentId);
    if (score) await tx.query(keepScore, [agentId, SCORE_VERSION, JSON.stringify(score)]);
    else await tx.query(dropScore, [agentId]);
  }
}
