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
});
