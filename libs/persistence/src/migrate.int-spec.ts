import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createDatabase, freshDatabase } from './testing/index.js';
import { shop } from '../test/fixtures/shop.js';
import { migrate } from './migrate.js';

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
