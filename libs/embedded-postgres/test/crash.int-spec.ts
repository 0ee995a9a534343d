import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../src/index.js';
import { inspectProcess, waitUntilGone } from '../src/process-info.js';
import { insertUntilBroken, query } from './database.js';
import { startOwner, type OwnerProcess } from './owner-process.js';

describe('an owner of an embedded PostgreSQL', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'embedded-postgres-'));
  });

  afterAll(() => rm(dataDir, { recursive: true }));

  const clusters = async (): Promise<string[]> => (await readdir(dataDir)).filter((name) => name.startsWith('cluster'));

  /** Kills an owner amid commits; what they were acknowledged for is there on the next start. */
  async function crashLosesNothing(owner: OwnerProcess, crash: (serverPid: number) => Promise<void>): Promise<void> {
    const { url, pid } = await owner.ready;
    const inserts = await insertUntilBroken(url);
    await inserts.begun;
    await crash(pid);

    const server = await startPostgres({ dataDir });
    await inserts.broken;
    const [tally] = await query<{ rows: number; highest: number }>(
      server.url,
      'SELECT count(*)::integer AS rows, max(n) AS highest FROM tally',
    );
    await server.stop();
    expect(tally?.rows).toBe(tally?.highest);
    expect(tally?.rows).toBeGreaterThanOrEqual(inserts.acknowledged());
    expect(await inspectProcess(pid)).toBeUndefined();
  }

  async function exactlyOneWins(): Promise<void> {
    const rivals = Array.from({ length: 4 }, () => startOwner([dataDir]));
    const outcomes = await Promise.allSettled(rivals.map(({ ready }) => ready));
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
    expect(refusals).toEqual([1, 2, 3].map(() => expect.stringContaining('is in use: another process')));
    await Promise.all(rivals.map((rival) => rival.finish()));
  }

  it('that is killed while the cluster is being made leaves a half that is thrown away', async () => {
    const owner = startOwner([dataDir]);
    let half: string | undefined;
    while (!half || !(await readdir(join(dataDir, half))).includes('base')) {
      await delay(5);
      half = (await readdir(dataDir)).find((name) => /^cluster\.init-\w+$/.test(name));
    }
    await owner.kill();
    expect(await readdir(dataDir)).not.toContain('cluster');

    await (await startPostgres({ dataDir })).stop();
    expect(await clusters()).toEqual(['cluster']);
  });

  it('is one of many that start at once, whether there is a cluster yet, or one that a dead owner left', async () => {
    await rm(join(dataDir, 'cluster'), { recursive: true });
    await exactlyOneWins();
    expect(await clusters()).toEqual(['cluster']);
    const owner = startOwner([dataDir, 'unnoticed']);
    await owner.ready;
    await owner.kill();
    await exactlyOneWins();
  });

  it('that is killed amid commits leaves every acknowledged row, and nothing the next start stumbles over', async () => {
    const owner = startOwner([dataDir]);
    await crashLosesNothing(owner, () => owner.kill());
  });

  it('that is killed may leave a busy server behind: the next start replaces it and keeps what it acknowledged', async () => {
    const owner = startOwner([dataDir, 'unnoticed']);
    await crashLosesNothing(owner, async (pid) => {
      await owner.kill();
      expect((await inspectProcess(pid))?.command).toContain(dataDir);
    });
  });

  it('that is killed together with its server is taken over at once', async () => {
    const owner = startOwner([dataDir]);
    await crashLosesNothing(owner, (pid) => {
      process.kill(pid, 'SIGKILL');
      return owner.kill();
    });
  });

  if (spawnSync('setpriv', ['--pdeathsig', 'INT', 'true']).status === 0) {
    it('that is killed takes its server along where the system can arrange it', async () => {
      const owner = startOwner([dataDir]);
      const { pid } = await owner.ready;
      const server = await inspectProcess(pid);
      await owner.kill();
      expect(await waitUntilGone(pid, server?.startedAt ?? '', 5_000)).toBe(true);
    });
  }

  it('waits for the last backend of a killed server before it starts another on the same files', async () => {
    const first = await startPostgres({ dataDir });
    const client = new pg.Client(first.url);
    client.on('error', () => {}); // the connection is meant to break
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const backend = rows[0]?.pid ?? 0;
    process.kill(backend, 'SIGSTOP');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    await first.stop();

    const refusals: string[] = [];
    const second = await startPostgres({
      dataDir,
      onLog(line) {
        if (!line.includes('FATAL')) return;
        refusals.push(line);
        process.kill(backend, 'SIGCONT');
      },
    });
    expect(refusals[0]).toContain('pre-existing shared memory block');
    await second.stop();
    await client.end();
  });

  it('that lives keeps its directory: others are refused with its pid', async () => {
    const server = await startPostgres({ dataDir });
    await expect(startOwner([dataDir]).ready).rejects.toThrow(`another process (pid ${process.pid})`);
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
      await (await startPostgres({ dataDir })).stop();
    }

    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    stranger.kill();
  });
});
