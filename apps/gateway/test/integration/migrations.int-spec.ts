import { migrate } from '@market/persistence';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { gatewayDatabase } from '../../src/database.js';

describe('the schema of gateway', () => {
  let db: FreshDatabase;
  beforeAll(async () => {
    db = await freshDatabase(gatewayDatabase);
  });
  afterAll(() => db.drop());

  it('has the columns that the entities say', async () => {
    const pending = await db.database.dataSource.driver.createSchemaBuilder().log();
    expect(pending.upQueries.map(({ query }) => query).filter((query) => /COLUMN|CREATE TABLE|DROP TABLE/.test(query))).toEqual([]);
  });

  it('is up to date after one run', async () => {
    expect(await migrate(gatewayDatabase, db.url)).toEqual([]);
  });

  it('lets the service change no table, only rows', async () => {
    await expect(db.database.read((manager) => manager.query('DROP TABLE endpoints'))).rejects.toThrow('must be owner');
  });

  it('goes when its migrations are undone', async () => {
    const runner = db.database.dataSource.createQueryRunner();
    await runner.query('SET ROLE NONE');
    for (const Migration of [...gatewayDatabase.migrations].reverse()) await new Migration().down(runner);
    await runner.query('RESET ROLE');
    await runner.release();
    const left = await db.inspect<{ name: string }>("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'gateway' UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = 'gateway' ORDER BY 1");
    expect(left.map(({ name }) => name)).toEqual(['dead_letters', 'idempotency_keys', 'inbox', 'migrations', 'outbox', 'parked_events', 'payments_mode']);
  });
});
