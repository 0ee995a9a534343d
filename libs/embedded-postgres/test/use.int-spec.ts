import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, usePostgres } from '../src/index.js';
import { query } from './database.js';
import { startOwner } from './owner-process.js';

describe('using a cluster', () => {
  let dataDir: string;
  const readKept = () => usePostgres(dataDir, (urlOf) => query<{ answer: number }>(urlOf('postgres'), 'SELECT answer FROM kept'));

  beforeAll(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'embedded-postgres-')), 'data');
    const first = await startPostgres({ dataDir, settings: { fsync: 'off' } });
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
  });

  afterAll(() => rm(join(dataDir, '..'), { recursive: true }));

  it('that nobody runs starts a server, and stops it afterwards', async () => {
    expect(await readKept()).toEqual([{ answer: 42 }]);
    await (await startPostgres({ dataDir })).stop();
  });

  it('that another process runs takes part in its server', async () => {
    const owner = startOwner('hold', [dataDir]);
    await expect(owner.ready).resolves.toMatchObject({ url: expect.any(String) });
    expect(await readKept()).toEqual([{ answer: 42 }]);
    expect(await owner.finish()).toBe(0);
  });

  it('that a dead process left starts it anew', async () => {
    const owner = startOwner('hold', [dataDir]);
    await owner.ready;
    await owner.kill();
    expect(await readKept()).toEqual([{ answer: 42 }]);
  });

  it('where there is none makes none', async () => {
    await expect(usePostgres(join(dataDir, 'elsewhere'), async () => 'used')).rejects.toThrow('no PostgreSQL in');
  });
});
