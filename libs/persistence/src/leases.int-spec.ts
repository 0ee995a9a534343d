import { eventually } from '@market/test-servers';
import { newId } from '@market/kernel';
import { setTimeout as delay } from 'node:timers/promises';
import { shop } from '../test/fixtures/shop.js';
import { LEASE_END, Leases } from './leases.js';
import { sql } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const lease = sql('test.lease', `INSERT INTO leased VALUES ($1, $2, ${LEASE_END})`);
const renew = sql(
  'test.renew',
  `UPDATE leased l SET lease_until = ${LEASE_END} FROM unnest($1::uuid[], $2::int[]) AS held (id, fence)
   WHERE l.id = held.id AND l.fence = held.fence`,
);

describe('Leases', () => {
  let fresh: FreshDatabase;
  let leases: Leases;
  beforeAll(async () => {
    fresh = await freshDatabase(shop);
    await fresh.inspect(
      'CREATE TABLE shop.leased (id uuid PRIMARY KEY, fence int, lease_until timestamptz); GRANT ALL ON shop.leased TO market_shop',
    );
    leases = new Leases(fresh.database, renew);
  });
  afterAll(() => fresh.drop());

  const isHeld = async (id: string): Promise<boolean> => {
    const rows = await fresh.inspect<{ held: boolean }>(
      'SELECT lease_until > now() AS held FROM shop.leased WHERE id = $1',
      [id],
    );
    return rows[0]!.held;
  };
  /** Starts work that lasts until `end` is called. */
  const hold = (id: string, fence: number): { end: () => void; ended: Promise<void> } => {
    let end = (): void => undefined;
    const work = new Promise<void>((resolve) => (end = resolve));
    return { end, ended: leases.during(id, fence, () => work) };
  };

  it('lasts as long as the work, however long, and ends soon after it', async () => {
    const [one, other] = [newId(), newId()];
    for (const id of [one, other]) await fresh.database.query(lease, [id, 1]);
    const [first, second] = [hold(one, 1), hold(other, 1)];
    await delay(1_500);
    second.end();
    await eventually(async () => expect(await isHeld(other)).toBe(false), { withinMs: 4_000 });
    expect(await isHeld(one)).toBe(true);
    first.end();
    await eventually(async () => expect(await isHeld(one)).toBe(false), { withinMs: 4_000 });
  });

  it('is renewed for the fence that took it last, also when work with an older one ends', async () => {
    const id = newId();
    await fresh.database.query(lease, [id, 2]);
    const [old, current] = [hold(id, 1), hold(id, 2)];
    old.end();
    await old.ended;
    await delay(3_000);
    expect(await isHeld(id)).toBe(true);
    current.end();
    await current.ended;
  });
});
