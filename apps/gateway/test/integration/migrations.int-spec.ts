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
    expect(
      pending.upQueries.map(({ query }) => query).filter((query) => /COLUMN|CREATE TABLE|DROP TABLE/.test(query)),
    ).toEqual([]);
  });
});
