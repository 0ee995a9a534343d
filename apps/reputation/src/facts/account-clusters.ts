import { batchSql, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** Two accounts that belong to the same party. */
export type AccountLink = readonly [accountId: string, otherId: string];

const lock = sql(
  'account-clusters.lock',
  `SELECT pg_advisory_xact_lock(hashtextextended('reputation account clusters', 0))`,
);
const insertAccounts = sql(
  'accounts.insert',
  `INSERT INTO accounts (account_id, party_id)
   SELECT id, id FROM unnest($1::uuid[]) AS new (id) GROUP BY id ORDER BY id
   ON CONFLICT DO NOTHING`,
);
const clustersOf = sql(
  'accounts.clusters-of',
  'SELECT account_id, party_id FROM accounts WHERE account_id = ANY($1::uuid[])',
);
const move = sql(
  'accounts.move',
  `UPDATE accounts SET party_id = $1
   WHERE account_id IN (SELECT account_id FROM accounts WHERE party_id = ANY($2::uuid[]) ORDER BY account_id FOR UPDATE)`,
);

/** All pairs of accounts that the facts link: an agent and its human, and accounts that hold the same wallet. */
const findLinks = batchSql(`
  SELECT agent_id AS one, human_id AS other FROM claim_facts
  UNION ALL SELECT account_id, holder
  FROM (SELECT account_id, min(account_id::text) OVER (PARTITION BY address)::uuid AS holder FROM wallet_facts) held
  WHERE account_id <> holder`);

/**
 * Groups accounts into parties: accounts that are linked, directly or through others, belong to one party. The id of a party is
 * its smallest account id, so that it does not depend on the order of events. Parties only grow.
 */
@Injectable()
export class AccountClusters {
  /** Serializes transactions that add links, so that each sees the links of the others. */
  async lock(tx: Tx): Promise<void> {
    await tx.query(lock);
  }

  /** Merges the parties of linked accounts and adds unknown accounts. The caller must hold the lock. */
  async merge(tx: Tx, links: AccountLink[]): Promise<void> {
    await tx.query(insertAccounts, [links.flat()]);
    for (const pair of links) await this.mergePair(tx, pair);
  }

  /** Whether two accounts are known to belong to the same party. */
  async isSameCluster(tx: Pick<Tx, 'query'>, pair: AccountLink): Promise<boolean> {
    const rows = await tx.query<{ party_id: string }>(clustersOf, [pair]);
    return rows.length === 2 && rows[0]!.party_id === rows[1]!.party_id;
  }

  private async mergePair(tx: Tx, pair: AccountLink): Promise<void> {
    const rows = await tx.query<{ party_id: string }>(clustersOf, [pair]);
    const [name, ...merged] = [...new Set(rows.map((row) => row.party_id))].sort();
    if (merged.length > 0) await tx.query(move, [name, merged]);
  }
}

/** Computes from the facts the party of every account that is linked to another: the smallest account id among them. */
export async function clustersFromFacts(tx: Pick<Tx, 'query'>): Promise<Map<string, string>> {
  const parents = new Map<string, string>();
  const nameOf = (account: string): string => {
    let name = account;
    for (let parent = parents.get(name); parent !== undefined && parent !== name; parent = parents.get(name)) {
      parents.set(name, parents.get(parent) ?? parent);
      name = parent;
    }
    return name;
  };
  for (const { one, other } of await tx.query<{ one: string; other: string }>(findLinks)) {
    const [smaller, larger] = [nameOf(one), nameOf(other)].sort();
    parents.set(larger!, smaller!);
    parents.set(smaller!, smaller!);
  }
  return new Map([...parents.keys()].map((account) => [account, nameOf(account)]));
}
