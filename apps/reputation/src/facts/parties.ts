import { batchSql, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Trades } from './trades.js';

/** Two accounts that are the same party. */
export type Kinship = readonly [accountId: string, otherId: string];

const takeTurns = sql('parties.take-turns', `SELECT pg_advisory_xact_lock(hashtextextended('reputation parties', 0))`);
const introduce = sql('accounts.introduce', 'INSERT INTO accounts (account_id, party_id) SELECT id, id FROM unnest($1::uuid[]) AS new (id) GROUP BY id ORDER BY id ON CONFLICT DO NOTHING RETURNING account_id');
const partiesOf = sql('accounts.parties-of', 'SELECT account_id, party_id FROM accounts WHERE account_id = ANY($1::uuid[])');
const move = sql(
  'accounts.move',
  `UPDATE accounts SET party_id = $1 WHERE account_id IN (SELECT account_id FROM accounts WHERE party_id = ANY($2::uuid[]) ORDER BY account_id FOR UPDATE) RETURNING account_id`,
);
const forget = sql('parties.forget', 'DELETE FROM parties WHERE party_id = ANY($1::uuid[])');
const forgetTies = sql('ties.forget', 'DELETE FROM ties WHERE buyer_party = ANY($1::uuid[]) OR seller_party = ANY($1::uuid[])');
const partners = batchSql(`
  SELECT seller_id AS account_id FROM trades WHERE buyer_id = ANY($1::uuid[])
  UNION SELECT buyer_id FROM trades WHERE seller_id = ANY($1::uuid[])`);

/**
 * Which accounts are one party: those that kinship connects, directly or through others. A party is named by its smallest
 * account id, so that it has the same name whatever became known first. Parties only grow.
 */
@Injectable()
export class Parties {
  constructor(private readonly trades: Trades) {}

  /** Whoever decides on kinship does so one after the other, so that none misses what another is about to say. */
  async takeTurns(tx: Tx): Promise<void> {
    await tx.query(takeTurns);
  }

  /** Within a turn. Accounts that are not known yet are from now on. Queries: 2 and 1 a pair; 6 more when parties become one. */
  async unite(tx: Tx, kinships: Kinship[]): Promise<void> {
    const introduced = await tx.query<{ account_id: string }>(introduce, [kinships.flat()]);
    await this.trades.markStale(tx, introduced.map((row) => row.account_id));
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
    if (absorbed.length === 0) return;
    const moved = (await tx.query<{ account_id: string }>(move, [name, absorbed])).map((row) => row.account_id);
    await tx.query(forget, [absorbed]);
    await tx.query(forgetTies, [absorbed]);
    const around = await tx.query<{ account_id: string }>(partners, [moved]);
    await this.trades.markStale(tx, [...moved, ...around.map((row) => row.account_id)]);
  }
}
