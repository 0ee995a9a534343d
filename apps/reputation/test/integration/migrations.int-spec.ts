import { migrate } from '@market/persistence';
import { createDatabase, withClient } from '@market/testing';
import { DataSource } from 'typeorm';
import { reputationDatabase } from '../../src/database.js';

/** Each with one of its columns. */
const FACTS = { call_facts: 'buyer_id', subscription_facts: 'buyer_id', registration_facts: 'account_id', wallet_facts: 'account_id', claim_facts: 'human_id', work_facts: 'account_id', reviews: 'reviewer_id' };

const inspect = <Row extends object>(url: string, statement: string): Promise<Row[]> => withClient(url, async (client) => (await client.query<Row>(statement)).rows);
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
