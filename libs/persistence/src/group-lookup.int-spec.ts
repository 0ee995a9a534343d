import { shop } from '../test/fixtures/shop.js';
import { GroupLookup, lookupSql } from './group-lookup.js';
import { sql, type Statement } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const insert = sql('test.lookup-insert', 'INSERT INTO counters (name, value) VALUES ($1, $2)');
const raise = sql('test.lookup-raise', 'UPDATE counters SET value = value + 1 WHERE name = $1');
const byName = sql(
  'test.lookup-by-name',
  lookupSql('SELECT name, value FROM counters WHERE name = asked.key OR name = asked.key || $$-twin$$ ORDER BY name'),
);

describe('GroupLookup', () => {
  let fresh: FreshDatabase;
  /** The number of keys in each statement. */
  const sizes: number[] = [];
  let lookup: GroupLookup<{ name: string; value: number }>;

  beforeAll(async () => {
    fresh = await freshDatabase(shop);
    for (let n = 0; n < 40; n += 1) await fresh.database.query(insert, [`key ${n}`, n]);
    await fresh.database.query(insert, ['key 7-twin', 70]);
    lookup = new GroupLookup(
      {
        query: <Row>(statement: Statement, values: unknown[] = []) => {
          sizes.push((values[0] as string[]).length);
          return fresh.database.query<Row>(statement, values);
        },
      },
      byName,
    );
  });
  afterAll(() => fresh.drop());

  it('gives each of many at once its own rows in their order, and none where there are none', async () => {
    const keys = [...Array.from({ length: 40 }, (_, n) => `key ${n}`), 'key 7', 'nobody', "'; DROP TABLE counters"];
    const found = await Promise.all(keys.map((key) => lookup.find(key)));
    expect(found.map((rows) => rows.map(({ value }) => value))).toEqual([
      ...Array.from({ length: 40 }, (_, n) => (n === 7 ? [7, 70] : [n])),
      [7, 70],
      [],
      [],
    ]);
    // One statement for all keys, with each key only once.
    expect(sizes).toEqual([42]);
  });

  it('finds what was committed before it was asked, also while others are being read', async () => {
    for (let n = 0; n < 20; n += 1) {
      const others = Array.from({ length: 5 }, () => lookup.find('key 1'));
      await fresh.database.query(raise, ['key 3']);
      expect(await lookup.find('key 3')).toMatchObject([{ value: 3 + n + 1 }]);
      await Promise.all(others);
    }
  });
});
