import { batchSql, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';

/** Two accounts that are the same party. */
export type Kinship = readonly [accountId: string, otherId: string];

const takeTurns = sql('parties.take-turns', `SELECT pg_advisory_xact_lock(hashtextextended('reputation parties', 0))`);
const introduce = sql(
  'accounts.introduce',
  'INSERT INTO accounts (account_id, party_id) SELECT id, id FROM unnest($1::uuid[]) AS new (id) GROUP BY id ORDER BY id ON CONFLICT DO NOTHING',
);
const partiesOf = sql(
  'accounts.parties-of',
  'SELECT account_id, party_id FROM accounts WHERE account_id = ANY($1::uuid[])',
);
const move = sql(
  'accounts.move',
  `UPDATE accounts SET party_id = $1 WHERE account_id IN (SELECT account_id FROM accounts WHERE party_id = ANY($2::uuid[]) ORDER BY account_id FOR UPDATE)`,
);

/** Every two accounts that a fact says are one: an agent and its human, and accounts that hold the same wallet. */
const findKinships = batchSql(`
  SELECT agent_id AS one, human_id AS other FROM claim_facts
  UNION ALL SELECT account_id, holder FROM (SELECT account_id, min(account_id::text) OVER (PARTITION BY address)::uuid AS holder FROM wallet_facts) held WHERE account_id <> holder`);

/**
 * Which accounts are one party: those that kinship connects, directly or through others. A party is named by its smallest
 * account id, so that it has the same name whatever became known first. Parties only grow.
 */
@Injectable()
export class Parties {
  /** Whoever decides on kinship does so one after the other, so that none misses what another is about to say. */
  async takeTurns(tx: Tx): Promise<void> {
    await tx.query(takeTurns);
  }

  /** Within a turn. Accounts that are not known yet are added. Queries: 1 and 1 a pair; 1 more where parties become one. */
  async unite(tx: Tx, kinships: Kinship[]): Promise<void> {
    await tx.query(introduce, [kinships.flat()]);
    for (const pair of kinships) await this.unitePair(tx, pair);
  }

  /** Whether two accounts are the same party as far as is known. Queries: 1. */
  async areOne(tx: Pick<Tx, 'query'>, pair: Kinship): Promise<boolean> {
    const rows = await tx.query<{ party_id: string }>(partiesOf, [pair]);
    return rows.length === 2 && rows[0]!.party_id === rows[1]!.party_id;
  }

  private async unitePair(tx: Tx, pair: Kinship): Promise<void> {
    const rows = await tx.query<{ party_id: string }>(partiesOf, [pair]);
    const [name, ...absorbed] = [...new Set(rows.map((row) => row.party_id))].sort();
    if (absorbed.length > 0) await tx.query(move, [name, absorbed]);
  }
}

/** The party of every account that is not alone, from the facts: the smallest account id among all that are connected. */
export async function partiesFromFacts(tx: Pick<Tx, 'query'>): Promise<Map<string, string>> {
  const parents = new Map<string, string>();
  const nameOf = (account: string): string => {
    let name = account;
    for (let parent = parents.get(name); parent !== undefined && parent !== name; parent = parents.get(name)) {
      parents.set(name, parents.get(parent) ?? parent);
      name = parent;
    }
    return name;
  };
  for (const { one, other } of await tx.query<{ one: string; other: string }>(findKinships)) {
    const [smaller, larger] = [nameOf(one), nameOf(other)].sort();
    parents.set(larger!, smaller!);
    parents.set(smaller!, smaller!);
  }
  return new Map([...parents.keys()].map((account) => [account, nameOf(account)]));
}
