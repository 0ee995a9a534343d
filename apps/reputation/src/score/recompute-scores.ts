import { batchSql, Database, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { partiesFromFacts } from '../facts/kinship.js';
import { RefreshScores } from './refresh-scores.job.js';

const patiently = batchSql('SET LOCAL statement_timeout = 0');
/** In the order in which everyone else takes them. */
const holdStill = batchSql('LOCK TABLE accounts, trades, listing_totals, stale_accounts, parties, ties, stale_scores IN SHARE ROW EXCLUSIVE MODE');
const rebuild = [
  'DELETE FROM ties',
  'DELETE FROM parties',
  'DELETE FROM stale_accounts',
  'DELETE FROM stale_scores',
  'DELETE FROM trades',
  'INSERT INTO trades SELECT * FROM trades_from_facts',
  'DELETE FROM listing_totals',
  'INSERT INTO listing_totals SELECT * FROM listing_totals_from_facts',
  'DELETE FROM accounts',
  'INSERT INTO accounts SELECT account_id, account_id, spent_micros, earned_micros, first_purchase_at, last_purchase_at, last_active_at FROM accounts_from_facts',
  'DELETE FROM scores WHERE agent_id NOT IN (SELECT account_id FROM accounts)',
].map((text) => batchSql(text));
const nameParties = batchSql('UPDATE accounts SET party_id = named.party_id FROM unnest($1::uuid[], $2::uuid[]) AS named (account_id, party_id) WHERE accounts.account_id = named.account_id');
const markAll = batchSql("INSERT INTO stale_accounts (account_id, cause, since) SELECT account_id, 'facts', now() FROM accounts RETURNING 1");

/** Concludes everything again from the facts. New facts wait while they are added up; scores are served as they were until theirs is there. */
@Injectable()
export class RecomputeScores {
  constructor(
    private readonly database: Database,
    private readonly refreshScores: RefreshScores,
  ) {}

  /** @returns how many accounts were looked at. */
  async execute(): Promise<number> {
    const accounts = await this.database.transaction((tx) => this.rebuild(tx));
    while (!(await this.refreshScores.run()));
    return accounts;
  }

  private async rebuild(tx: Tx): Promise<number> {
    await tx.query(patiently);
    await tx.query(holdStill);
    for (const statement of rebuild) await tx.query(statement);
    const parties = await partiesFromFacts(tx);
    await tx.query(nameParties, [[...parties.keys()], [...parties.values()]]);
    return (await tx.query(markAll)).length;
  }
}
