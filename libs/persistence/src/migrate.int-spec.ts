import type { MigrationInterface, QueryRunner } from 'typeorm';
import { randomBytes } from 'node:crypto';
import { createDatabase, freshDatabase, withClient } from './testing/index.js';
import { shop } from '../test/fixtures/shop.js';
import { migrate } from './migrate.js';
import { schemaState } from './schema-state.js';

class EndOtherConnections1763600000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  }

  async down(): Promise<void> {}
}

describe('migrate', () => {
  it('runs every migration once when four processes start at the same time', async () => {
    const url = await createDatabase();
    const ran = await Promise.all([1, 2, 3, 4].map(() => migrate(shop, url)));
    expect(ran.flat().sort()).toEqual(['CreateMessaging1763600000000', 'CreateShop1700000000000']);
  });

  it('changes nothing when it runs again', async () => {
    const { url, drop } = await freshDatabase(shop);
    expect(await migrate(shop, url)).toEqual([]);
    await drop();
  });

  it('brings up several databases of one server at the same time, although they share its roles', async () => {
    const unheardOf = { ...shop, schema: `shop_${Date.now().toString(36)}`, migrations: [] };
    const urls = await Promise.all([1, 2, 3, 4, 5, 6].map(() => createDatabase()));
    const ran = await Promise.all(urls.map((url) => migrate(unheardOf, url)));
    expect(ran).toEqual(urls.map(() => ['CreateMessaging1763600000000']));
  });

  it('outlives the connection that holds its lock', async () => {
    const url = await createDatabase();
    expect(await migrate({ schema: 'lonely', migrations: [EndOtherConnections1763600000001] }, url)).toEqual([
      'CreateMessaging1763600000000',
      'EndOtherConnections1763600000001',
    ]);
  });
});

describe('the state of a schema', () => {
  const problemOf = async (definition: typeof shop, url: string) => (await schemaState(definition, url)).problem;

  it('names what is missing: the schema, a migration, a table', async () => {
    const empty = await createDatabase();
    expect(await schemaState(shop, empty)).toEqual({ problem: 'the schema shop was never made', isMigrated: false });
    const { url, inspect, drop } = await freshDatabase(shop);
    expect(await schemaState(shop, url)).toEqual({ problem: null, isMigrated: true });
    await inspect("DELETE FROM shop.migrations WHERE name = 'CreateShop1700000000000'");
    expect(await schemaState(shop, url)).toEqual({
      problem: 'the schema shop lacks the migration CreateShop1700000000000',
      isMigrated: false,
    });
    await inspect("INSERT INTO shop.migrations (timestamp, name) VALUES (1700000000000, 'CreateShop1700000000000')");
    await inspect('DROP TABLE shop.counters');
    expect(await schemaState(shop, url)).toEqual({
      problem: 'the schema shop lacks the table counters, which a migration made',
      isMigrated: true,
    });
    expect(await migrate(shop, url)).toEqual([]);
    expect(await problemOf(shop, url)).toMatch(/lacks the table counters/);
    await drop();
  });

  it('is seen by the login of a service, which has its rights by its role alone', async () => {
    const { url, inspect, drop } = await freshDatabase(shop);
    const login = `login_${randomBytes(4).toString('hex')}`;
    await inspect(`CREATE ROLE ${login} LOGIN NOINHERIT PASSWORD 'p' IN ROLE market_shop`);
    const own = Object.assign(new URL(url), { username: login, password: 'p' }).href;
    expect(await schemaState(shop, own)).toEqual({ problem: null, isMigrated: true });
    await drop();
    await withClient(process.env.TEST_DATABASE_URL!, (client) => client.query(`DROP ROLE ${login}`));
  });

  it('leaves the comment of an operator alone', async () => {
    const { url, inspect, drop } = await freshDatabase(shop);
    await inspect("COMMENT ON SCHEMA shop IS 'our shop'");
    expect(await problemOf(shop, url)).toBeNull();
    await drop();
  });
});
