import { batchSql, Database, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { isDeepStrictEqual } from 'node:util';
import { partiesFromFacts } from '../facts/kinship.js';
import { ScoreEvidence } from './evidence.js';
import { RefreshScores } from './refresh-scores.job.js';
import { SCORE_VERSION, type Score } from './score.js';
import { Standings } from './standings.js';

const oneMoment = batchSql('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
const patiently = batchSql('SET LOCAL statement_timeout = 0');

/** What is kept, beside what the facts add up to. */
const SUMS = {
  trades: ['SELECT * FROM trades', 'SELECT * FROM trades_from_facts'],
  listing_totals: ['SELECT * FROM listing_totals', 'SELECT * FROM listing_totals_from_facts'],
  accounts: ['SELECT account_id, spent_micros, earned_micros, first_purchase_at, last_purchase_at, last_active_at FROM accounts', 'SELECT * FROM accounts_from_facts'],
} as const;
const SHOWN = 20;

const findAccounts = batchSql('SELECT account_id, party_id FROM accounts ORDER BY account_id');
const findStale = batchSql(`SELECT account_id AS id FROM stale_accounts UNION SELECT agent_id FROM stale_scores`);
const findScore = sql('scores.stored', 'SELECT version, score FROM scores WHERE agent_id = $1');

export interface Verification {
  accounts: number;
  scores: number;
  /** Left out, since new facts about them had come in meanwhile. */
  changing: number;
  /** What is not as the facts say, a line each. */
  differences: string[];
}

/**
 * Holds everything that was concluded against the facts, as of one moment: the sums, who is one party with whom, what
 * parties are to others, and every score. It changes nothing and holds up nobody.
 */
@Injectable()
export class VerifyScores {
  constructor(
    private readonly database: Database,
    private readonly refreshScores: RefreshScores,
    private readonly standings: Standings,
    private readonly evidence: ScoreEvidence,
  ) {}

  async execute(): Promise<Verification> {
    while (!(await this.refreshScores.run()));
    return this.database.transaction(async (tx) => {
      await tx.query(oneMoment);
      await tx.query(patiently);
      const accounts = await tx.query<{ account_id: string; party_id: string }>(findAccounts);
      const stale = new Set((await tx.query<{ id: string }>(findStale)).map(({ id }) => id));
      const settled = accounts.filter(({ account_id }) => !stale.has(account_id));
      const changingParties = new Set(accounts.filter(({ account_id }) => stale.has(account_id)).map(({ party_id }) => party_id));
      const parties = [...new Set(settled.map(({ party_id }) => party_id))].filter((party) => !changingParties.has(party));
      const scores = await this.wrongScores(tx, settled.map(({ account_id }) => account_id));
      const differences = [...(await this.wrongSums(tx)), ...(await this.wrongParties(tx, accounts)), ...(await this.wrongStandings(tx, parties)), ...scores.differences];
      return { accounts: accounts.length, scores: scores.compared, changing: stale.size, differences };
    });
  }

  private async wrongSums(tx: Tx): Promise<string[]> {
    const differences: string[] = [];
    for (const [table, [kept, right]] of Object.entries(SUMS)) {
      const rows = await tx.query<{ row: object }>(batchSql(`SELECT to_jsonb(wrong) AS row FROM ((${kept} EXCEPT ${right}) UNION ALL (${right} EXCEPT ${kept})) wrong LIMIT ${SHOWN}`));
      differences.push(...rows.map(({ row }) => `${table}: ${JSON.stringify(row)} is in only one of what is kept and what the facts say`));
    }
    return differences;
  }

  private async wrongParties(tx: Tx, accounts: { account_id: string; party_id: string }[]): Promise<string[]> {
    const right = await partiesFromFacts(tx);
    const wrong = accounts.filter(({ account_id, party_id }) => party_id !== (right.get(account_id) ?? account_id));
    return wrong.map(({ account_id, party_id }) => `account ${account_id} is kept as party ${party_id}, by the facts it is ${right.get(account_id) ?? account_id}`);
  }

  private async wrongStandings(tx: Tx, parties: string[]): Promise<string[]> {
    const differences: string[] = [];
    for (const party of parties) {
      if (!isDeepStrictEqual(await this.standings.kept(tx, party), await this.standings.current(tx, party))) differences.push(`party ${party} is to others what its trades do not say`);
    }
    return differences;
  }

  private async wrongScores(tx: Tx, accountIds: string[]): Promise<{ compared: number; differences: string[] }> {
    const differences: string[] = [];
    let compared = 0;
    for (const accountId of accountIds) {
      const right = await this.evidence.scoreOf(tx, accountId);
      const [kept] = await tx.query<{ version: number; score: Score }>(findScore, [accountId]);
      if (!right && !kept) continue;
      compared += 1;
      if (kept?.version === SCORE_VERSION && isDeepStrictEqual(kept.score, right)) continue;
      differences.push(`agent ${accountId}: ${kept ? `${kept.score.market_score} is served` : 'nothing is served'}, the facts say ${right ? right.market_score : 'that it is no agent'}`);
    }
    return { compared, differences };
  }
}
