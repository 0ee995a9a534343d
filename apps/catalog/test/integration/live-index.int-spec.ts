import { type Database, type Statement } from '@market/persistence';
import { type Jobs } from '@market/runtime';
import { freshDatabase, type FreshDatabase } from '@market/testing';
import { catalogDatabase } from '../../src/database.js';
import { LiveIndex } from '../../src/search/live-index.js';

describe('the live index', () => {
  let fresh: FreshDatabase;
  beforeAll(async () => {
    fresh = await freshDatabase(catalogDatabase);
  });
  afterAll(() => fresh.drop());

  it('reads all listings once, however many search before it has', async () => {
    const asked: (string | undefined)[] = [];
    const database = Object.assign(Object.create(fresh.database) as Database, {
      query: <Row>(statement: Statement, values?: unknown[]) => {
        asked.push(statement.name);
        return fresh.database.query<Row>(statement, values);
      },
    });
    const starting: (() => Promise<void>)[] = [];
    const live = new LiveIndex(database, { beforeReady: (start: () => Promise<void>) => starting.push(start), every: () => undefined } as unknown as Jobs);
    live.onModuleInit();
    const early = live.fresh();
    const [, ...found] = await Promise.all([...starting.map((start) => start()), early, live.fresh()]);
    expect(new Set(found).size).toBe(1);
    expect(asked.filter((name) => name === 'listing-search.snapshot')).toHaveLength(1);
  });
});
