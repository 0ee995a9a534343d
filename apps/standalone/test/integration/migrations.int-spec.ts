import { migrate } from '@market/persistence';
import { createDatabase, freshDatabase, withClient } from '@market/testing';
import { statefulServices } from '../../src/stateful-services.js';

const definitions = statefulServices.map(({ database }) => [database.schema, database] as const);

describe.each(definitions)('the schema of %s', (schema, definition) => {
  const tables = `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${schema}'`;
  const all = `${tables} UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = '${schema}' ORDER BY 1`;
  const migrations = definition.migrations.map(({ name }) => name);

  it('comes up once, also when many processes start together', async () => {
    const url = await createDatabase();
    const ran = await Promise.all(Array.from({ length: 4 }, () => migrate(definition, url)));
    expect(ran.flat().filter((name) => migrations.includes(name))).toEqual(migrations);
    expect(await migrate(definition, url)).toEqual([]);
  });

  it('goes when its migrations are undone, and comes up again', async () => {
    const url = await createDatabase();
    await migrate({ ...definition, migrations: [] }, url);
    const before = await withClient(url, async (client) => (await client.query(all)).rows);
    const db = await freshDatabase(definition);
    try {
      const runner = db.database.dataSource.createQueryRunner();
      await runner.query('SET ROLE NONE');
      for (const Migration of [...definition.migrations].reverse()) await new Migration().down(runner);
      await runner.query('DELETE FROM migrations WHERE name = ANY($1)', [migrations]);
      await runner.query('RESET ROLE');
      await runner.release();
      expect(await db.inspect(all)).toEqual(before);
      expect(await migrate(definition, db.url)).toEqual(migrations);
    } finally {
      await db.drop();
    }
  });

  it('lets the service change no table, only rows', async () => {
    const db = await freshDatabase(definition);
    try {
      for (const { name } of await db.inspect<{ name: string }>(`${tables} AND table_type = 'BASE TABLE'`)) {
        for (const change of [`DROP TABLE ${name}`, `ALTER TABLE ${name} DISABLE TRIGGER ALL`]) {
          await expect(db.database.query({ text: change })).rejects.toThrow('must be owner');
        }
      }
    } finally {
      await db.drop();
    }
  });
});
