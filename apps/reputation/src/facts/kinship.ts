import { batchSql, type Tx } from '@market/persistence';

/** Every two accounts that a fact says are one: an agent and its human, and accounts that hold the same wallet. */
const findKinships = batchSql(`
  SELECT agent_id AS one, human_id AS other FROM claim_facts
  UNION ALL SELECT account_id, holder FROM (SELECT account_id, min(account_id::text) OVER (PARTITION BY address)::uuid AS holder FROM wallet_facts) held WHERE account_id <> holder`);

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
