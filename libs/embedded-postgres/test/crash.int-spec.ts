import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startPostgres } from '../src/index.js';
import { inspectProcess } from '../src/process-info.js';
import { insertUntilBroken, query, type Inserts } from './database.js';
import { startOwner } from './owner-process.js';

describe('an owner of an embedded PostgreSQL', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'embedded-postgres-'));
  });

  afterAll(() => rm(dataDir, { recursive: true }));

  async function expectEveryAcknowledgedRow(inserts: Inserts): Promise<void> {
    const server = await startPostgres({ dataDir });
    await inserts.broken;
    const [tally] = await query<{ rows: number; highest: number }>(
      server.url,
      'SELECT count(*)::integer AS rows, max(n) AS highest FROM tally',
    );
    await server.stop();
    expect(tally?.rows).toBe(tally?.highest);
    expect(tally?.rows).toBeGreaterThanOrEqual(inserts.acknowledged());
  }

  it('that is killed while the cluster is being made leaves a half that is thrown away', async () => {
    const owner = startOwner('hold', [dataDir]);
    let half: string | undefined;
    while (!half || !(await readdir(join(dataDir, half))).includes('base')) {
      await delay(5);
      half = (await readdir(dataDir)).find((name) => name.startsWith('cluster.init-'));
    }
    await owner.kill();
    expect(await readdir(dataDir)).not.toContain('cluster');

    const server = await startPostgres({ dataDir });
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
    expect((await readdir(dataDir)).filter((name) => name.startsWith('cluster'))).toEqual(['cluster']);
  });

  it('that is killed amid commits leaves every acknowledged row, and nothing the next start stumbles over', async () => {
    const owner = startOwner('hold', [dataDir]);
    const { url, pid } = await owner.ready;
    const inserts = await insertUntilBroken(url);
    await inserts.underWay;
    await owner.kill();

    await expectEveryAcknowledgedRow(inserts);
    expect(await inspectProcess(pid)).toBeUndefined();
  });

  it('that is killed may leave a busy server behind: the next start replaces it and keeps what it acknowledged', async () => {
    const owner = startOwner('leave-orphan', [dataDir]);
    const { url, pid } = await owner.ready;
    const inserts = await insertUntilBroken(url);
    await inserts.underWay;
    await owner.kill();
    expect((await inspectProcess(pid))?.command).toContain(dataDir);

    await expectEveryAcknowledgedRow(inserts);
    expect(await inspectProcess(pid)).toBeUndefined();
  });

  it('that is killed together with its server is taken over at once', async () => {
    const owner = startOwner('hold', [dataDir]);
    const { url, pid } = await owner.ready;
    const inserts = await insertUntilBroken(url);
    await inserts.underWay;
    process.kill(pid, 'SIGKILL');
    await owner.kill();

    await expectEveryAcknowledgedRow(inserts);
  });

  it('that lives keeps its directory: others are refused with its pid', async () => {
    const server = await startPostgres({ dataDir });
    await expect(startOwner('hold', [dataDir]).ready).rejects.toThrow(`another process (pid ${process.pid})`);
    await expect(startPostgres({ dataDir })).rejects.toThrow(`this process (pid ${process.pid}) already`);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it('finds a pid file whose pid went to a stranger: starts, and leaves the stranger alone', async () => {
    const first = await startPostgres({ dataDir });
    const pidFile = join(dataDir, 'cluster', 'postmaster.pid');
    const left = await readFile(pidFile, 'utf8');
    await first.stop();
    const stranger = spawn('sleep', ['300']);
    await once(stranger, 'spawn');

    for (const content of [left.replace(/^\d+/, String(stranger.pid)), '']) {
      await writeFile(pidFile, content);
      const server = await startPostgres({ dataDir });
      await server.stop();
    }

    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    stranger.kill();
  });
});
