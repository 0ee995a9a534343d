import { newId } from '@market/kernel';
import { migrate } from '@market/persistence';
import { runCommand } from '@market/runtime';
import { createDatabase, withClient } from '@market/testing';
import { DataSource } from 'typeorm';
import { reputationDatabase } from '../../src/database.js';
import { reputation } from '../../src/service.js';

/** Each with one of its columns. */
const FACTS = { call_facts: 'buyer_id', subscription_facts: 'buyer_id', registration_facts: 'account_id', wallet_facts: 'account_id', claim_facts: 'human_id', work_facts: 'account_id', reviews: 'reviewer_id' };

const inspect = <Row extends object>(url: string, statement: string, values?: unknown[]): Promise<Row[]> => withClient(url, async (client) => (await client.query<Row>(statement, values)).rows);
const tablesOf = async (url: string): Promise<string[]> => (await inspect<{ name: string }>(url, `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'reputation' ORDER BY 1`)).map(({ name }) => name);

describe('the schema of reputation', () => {
  it('goes down to nothing and up again', async () => {
    const url = await createDatabase();
    await migrate({ ...reputationDatabase, migrations: [] }, url);
    const before = await tablesOf(url);
    await migrate(reputationDatabase, url);
    const dataSource = await new DataSource({ type: 'postgres', url, schema: 'reputation', migrations: reputationDatabase.migrations, migrationsTableName: 'migrations', extra: { options: '-c search_path=reputation,public' } }).initialize();
    for (let count = 0; count < reputationDatabase.migrations.length; count += 1) await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await tablesOf(url)).toEqual(before);
    expect(await migrate(reputationDatabase, url)).toHaveLength(reputationDatabase.migrations.length);
  });

  it('adds up the facts that were there before', async () => {
    const url = await createDatabase();
    await migrate({ ...reputationDatabase, migrations: reputationDatabase.migrations.slice(0, 1) }, url);
    const [listing, seller, buyer] = [newId(), newId(), newId()];
    for (const [outcome, micros, reason] of [['delivered', 70_000, null], ['delivered', 30_000, null], ['failed', 0, 'timeout']] as const) {
      await inspect(url, `INSERT INTO reputation.call_facts VALUES ($1, $2, $1, $3, $4, $5, $6, 200, 10, $7, now())`, [newId(), outcome, listing, seller, buyer, micros, reason]);
    }
    const settings = { DATABASE_URL: url, LOG_LEVEL: 'fatal' };
    const verify = reputation.commands!.find(({ name }) => name === 'scores verify')!;
    expect(await runCommand(reputation, verify, { operator: 'test', arguments: [], options: {} }, settings)).toBe('2 accounts and 2 scores are as the facts say');
    expect(await inspect(url, 'SELECT delivered, failed, paid_micros FROM reputation.trades')).toEqual([{ delivered: 2, failed: 1, paid_micros: '100000' }]);
    expect(await inspect(url, `SELECT score->>'total_transactions' AS sold FROM reputation.scores WHERE agent_id = $1`, [seller])).toEqual([{ sold: '2' }]);
  });

  it('lets the service add facts and neither change nor remove one', async () => {
    const url = await createDatabase();
    await migrate(reputationDatabase, url);
    for (const [table, column] of Object.entries(FACTS)) {
      for (const change of [`UPDATE reputation.${table} SET ${column} = gen_random_uuid()`, `DELETE FROM reputation.${table}`, `TRUNCATE reputation.${table}`]) {
        const attempt = withClient(url, async (client) => {
          await client.query('SET ROLE market_reputation');
          await client.query(change);
        });
        await expect(attempt).rejects.toThrow('permission denied');
      }
    }
  });
});
