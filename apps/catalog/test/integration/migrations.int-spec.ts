import { createDatabase, freshDatabase, type FreshDatabase } from '@market/testing';
import { migrate } from '@market/persistence';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { catalogDatabase } from '../../src/database.js';

async function tablesOf(url: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(`SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'catalog' ORDER BY 1`);
  await client.end();
  return rows.map(({ name }) => name);
}

describe('the schema of the catalog', () => {
  let fresh: FreshDatabase;
  beforeAll(async () => {
    fresh = await freshDatabase(catalogDatabase);
  });
  afterAll(() => fresh.drop());

  it('comes up on an empty server once, also when many processes start together', async () => {
    const url = await createDatabase();
    const ran = await Promise.all(Array.from({ length: 4 }, () => migrate(catalogDatabase, url)));
    expect(ran.flat().filter((name) => name.startsWith('CreateCatalog'))).toHaveLength(1);
    expect(await migrate(catalogDatabase, url)).toEqual([]);
  });

  it('goes down to nothing and up again', async () => {
    const url = await createDatabase();
    await migrate({ ...catalogDatabase, migrations: [] }, url);
    const before = await tablesOf(url);
    await migrate(catalogDatabase, url);
    const dataSource = await new DataSource({ type: 'postgres', url, schema: 'catalog', migrations: catalogDatabase.migrations, migrationsTableName: 'migrations', extra: { options: '-c search_path=catalog,public' } }).initialize();
    for (let count = 0; count < catalogDatabase.migrations.length; count += 1) await dataSource.undoLastMigration();
    await dataSource.destroy();
    expect(await tablesOf(url)).toEqual(before);
    expect(await migrate(catalogDatabase, url)).toHaveLength(catalogDatabase.migrations.length);
  });

  it('has every column an entity names, with its nullability, and none that is left out', async () => {
    for (const entity of fresh.database.dataSource.entityMetadatas) {
      const columns = await fresh.inspect<{ name: string; nullable: boolean }>(
        `SELECT column_name AS name, is_nullable = 'YES' AS nullable FROM information_schema.columns WHERE table_schema = 'catalog' AND table_name = $1 AND is_generated = 'NEVER' ORDER BY 1`,
        [entity.tableName],
      );
      const declared = entity.columns.map((column) => ({ name: column.databaseName, nullable: column.isNullable }));
      expect(columns).toEqual(declared.sort((a, b) => (a.name < b.name ? -1 : 1)));
    }
  });

  it('seeds categories with fixed ids that the service cannot change', async () => {
    const categories = await fresh.inspect<{ id: string; slug: string; sort_order: number }>('SELECT id, slug, sort_order FROM catalog.categories ORDER BY sort_order');
    expect(categories.length).toBeGreaterThanOrEqual(12);
    expect(categories[0]).toEqual({ id: '01995bad-5c00-7000-8000-000000000001', slug: 'data-research', sort_order: 10 });
    expect(new Set(categories.map(({ id }) => id)).size).toBe(categories.length);
    await expect(fresh.database.query({ name: 'categories.change', text: 'DELETE FROM categories' })).rejects.toThrow('permission denied');
  });

  it.each([
    ['a negative price', `price_micros = -1`],
    ['a price on a free listing', `pricing_model = 'free', price_micros = 1`],
    ['a suspension by nobody', `status = 'suspended'`],
    ['a suspender of an active listing', `suspended_by = 'owner'`],
    ['an operator who holds it as nothing', `status = 'suspended', suspended_by = 'operator'`],
    ['a held state without an operator', `held_as = 'active'`],
    ['an active listing that was never published', `published_at = NULL`],
    ['an unknown status', `status = 'deleted'`],
  ])('refuses %s by itself', async (_what, change) => {
    await fresh.inspect(`INSERT INTO catalog.providers VALUES ('00000000-0000-7000-8000-000000000001', 'P', NULL, 'agent', false) ON CONFLICT DO NOTHING`);
    await fresh.inspect(
      `INSERT INTO catalog.listings (id, version, provider_id, slug, name, description, pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type, auth_method,
         formats, example_outputs, tags, status, published_at, created_at, updated_at)
       VALUES ('00000000-0000-7000-8000-000000000002', 1, '00000000-0000-7000-8000-000000000001', 's', 'n', 'd', 'monthly', 1, 'USD', 'USDC', 'api', 'none', '{}', '[]', '{}', 'active', now(), now(), now())
       ON CONFLICT DO NOTHING`,
    );
    await expect(fresh.inspect(`UPDATE catalog.listings SET ${change}`)).rejects.toThrow('violates check constraint');
  });
});
