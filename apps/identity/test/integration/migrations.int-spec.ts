import { migrate } from '@market/persistence';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { identityDatabase } from '../../src/database.js';

describe('the schema of identity', () => {
  let db: FreshDatabase;
  beforeAll(async () => {
    db = await freshDatabase(identityDatabase);
  });
  afterAll(() => db.drop());

  it('is what the entities say, column by column, index by index', async () => {
    const pending = await db.database.dataSource.driver.createSchemaBuilder().log();
    expect(pending.upQueries.map(({ query }) => query)).toEqual([]);
  });

  it('is up to date after one run', async () => {
    expect(await migrate(identityDatabase, db.url)).toEqual([]);
  });

  it('goes when its migration is undone', async () => {
    const undone = await freshDatabase(identityDatabase);
    try {
      const runner = undone.database.dataSource.createQueryRunner();
      await runner.query('SET ROLE NONE');
      for (const Migration of [...identityDatabase.migrations].reverse()) await new Migration().down(runner);
      await runner.release();
      expect(await undone.inspect("SELECT table_name FROM information_schema.tables WHERE table_schema = 'identity' AND table_name IN ('accounts', 'wallets', 'api_keys', 'challenges')")).toEqual([]);
    } finally {
      await undone.drop();
    }
  });

  it('lets the service change no table, only rows', async () => {
    await expect(db.database.read((manager) => manager.query('DROP TABLE challenges'))).rejects.toThrow('must be owner');
  });
});
