import { batchSql, Database, recordOperatorAction, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { clustersFromFacts } from '../facts/account-clusters.js';

const withoutTimeout = batchSql('SET LOCAL statement_timeout = 0');
const oneSnapshot = batchSql('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
/** Locks in the same order as all other transactions. */
const lockSums = batchSql('LOCK TABLE accounts, trades, listing_totals IN SHARE ROW EXCLUSIVE MODE');

const ACCOUNT_SUMS = 'account_id, spent_micros, earned_micros, fees_micros, last_active_at';
/** The stored sums, and the views that compute them from the facts. */
const SUMS = {
  trades: ['SELECT * FROM trades', 'SELECT * FROM trades_from_facts'],
  listing_totals: ['SELECT * FROM listing_totals', 'SELECT * FROM listing_totals_from_facts'],
  accounts: [`SELECT ${ACCOUNT_SUMS} FROM accounts`, `SELECT ${ACCOUNT_SUMS} FROM accounts_from_facts`],
} as const;
const MAX_DIFFERENCES = 20;
const findAccounts = batchSql('SELECT account_id, party_id FROM accounts ORDER BY account_id');

const rebuild = [
  'DELETE FROM trades',
  'INSERT INTO trades SELECT * FROM trades_from_facts',
  'DELETE FROM listing_totals',
  'INSERT INTO listing_totals SELECT * FROM listing_totals_from_facts',
  'DELETE FROM accounts',
  `INSERT INTO accounts (party_id, ${ACCOUNT_SUMS}) SELECT account_id, ${ACCOUNT_SUMS} FROM accounts_from_facts`,
].map((text) => batchSql(text));
const setParties = batchSql(
  `UPDATE accounts SET party_id = known.party_id
   FROM unnest($1::uuid[], $2::uuid[]) AS known (account_id, party_id)
   WHERE accounts.account_id = known.account_id`,
);

/** Verifies and rebuilds the sums that scores are computed from. */
@Injectable()
export class ScoreSums {
  constructor(private readonly database: Database) {}

  /** Compares the stored sums with the facts, in one snapshot. It takes no locks and changes nothing. */
  verify(): Promise<{ accounts: number; differences: string[] }> {
    return this.database.transaction(async (tx) => {
      await tx.query(oneSnapshot);
      await tx.query(withoutTimeout);
      const accounts = await tx.query<{ account_id: string; party_id: string }>(findAccounts);
      return {
        accounts: accounts.length,
        differences: [...(await this.wrongSums(tx)), ...(await this.wrongClusters(tx, accounts))],
      };
    });
  }

  /**
   * Rebuilds the sums from the facts, for an operator. New facts wait for the commit; until then scores use the former
   * sums.
   * @returns the number of accounts.
   */
  recompute(operator: string): Promise<number> {
    return this.database.transaction(async (tx) => {
      await tx.query(withoutTimeout);
      await tx.query(lockSums);
      for (const statement of rebuild) await tx.query(statement);
      const parties = await clustersFromFacts(tx);
      await tx.query(setParties, [[...parties.keys()], [...parties.values()]]);
      await recordOperatorAction(tx, { operator, command: 'scores recompute', subject: 'all', reason: null });
      return (await tx.query(findAccounts)).length;
    });
  }

  private async wrongSums(tx: Tx): Promise<string[]> {
    const differences: string[] = [];
    for (const [table, [stored, right]] of Object.entries(SUMS)) {
      const rows = await tx.query<{ row: object }>(
        batchSql(
          `SELECT to_jsonb(wrong) AS row
           FROM ((${stored} EXCEPT ${right}) UNION ALL (${right} EXCEPT ${stored})) wrong LIMIT ${MAX_DIFFERENCES}`,
        ),
      );
      differences.push(
        ...rows.map(
          ({ row }) => `${table}: ${JSON.stringify(row)} is in only one of what is stored and what the facts say`,
        ),
      );
    }
    return differences;
  }

  private async wrongClusters(tx: Tx, accounts: { account_id: string; party_id: string }[]): Promise<string[]> {
    const right = await clustersFromFacts(tx);
    const wrong = accounts.filter(({ account_id, party_id }) => party_id !== (right.get(account_id) ?? account_id));
    return wrong.map(
      ({ account_id, party_id }) =>
        `account ${account_id} is stored as party ${party_id}, by the facts it is ${right.get(account_id) ?? account_id}`,
    );
  }
}
