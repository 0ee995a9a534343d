import { on, once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, usePostgres, type EmbeddedPostgres } from '../src/index.js';
import { findPlatformBinaries } from '../src/platform-binaries.js';
import { query } from './database.js';
import { startOwner } from './owner-process.js';

const settings = { fsync: 'off' };
const LOCK_FILE = 'postmaster.pid';

describe('an embedded PostgreSQL', () => {
  let dataDir: string;

  beforeAll(async () => {
    dataDir = join(await mkdtemp(join(tmpdir(), 'embedded-postgres-')), 'deep', 'data');
    const first = await startPostgres({ dataDir, settings });
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
  });

  afterAll(() => rm(join(dataDir, '..', '..'), { recursive: true }));

  async function whileRunning<T>(work: (server: EmbeddedPostgres) => Promise<T>): Promise<T> {
    const server = await startPostgres({ dataDir, settings });
    try {
      return await work(server);
    } finally {
      await server.stop();
    }
  }

  it('keeps its data across a restart', async () => {
    expect(await whileRunning(({ url }) => query(url, 'SELECT answer FROM kept'))).toEqual([{ answer: 42 }]);
  });

  it('stores UTF-8 in code point order, knows letters beyond ASCII, and checks passwords', async () => {
    await whileRunning(async ({ url }) => {
      const [row] = await query(
        url,
        `SELECT current_setting('server_encoding') AS encoding, datcollate, datlocale, lower('ÉÖ') AS lowered, 'Z' < 'a' AS by_code_point,
                to_tsvector('simple', 'Überfall—jetzt')::text AS words FROM pg_database WHERE datname = current_database()`,
      );
      expect(row).toMatchObject({
        encoding: 'UTF8',
        datlocale: 'C.UTF-8',
        lowered: 'éö',
        by_code_point: true,
        words: "'jetzt':2 'überfall':1",
      });
      await expect(query(url.replace(/:[^:@]+@/, ':guess@'), 'SELECT 1')).rejects.toThrow(
        'password authentication failed',
      );
    });
  });

  it('keeps its password where only its owner reads it', async () => {
    const password = await readFile(join(dataDir, 'cluster', 'password'), 'utf8');
    expect(password).toMatch(/^[\w-]{32}$/);
    expect((await stat(join(dataDir, 'cluster', 'password'))).mode & 0o777).toBe(0o600);
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await whileRunning(async ({ url, port }) =>
      expect(url).toBe(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`),
    );
  });

  it('is durable and local by default, and takes settings from its caller', async () => {
    const server = await startPostgres({ dataDir, settings: { work_mem: '5MB', listen_addresses: '*' } });
    const names = [
      'fsync',
      'synchronous_commit',
      'max_connections',
      'jit',
      'work_mem',
      'listen_addresses',
      'unix_socket_directories',
    ];
    const rows = await query<{ name: string; setting: string }>(
      server.url,
      `SELECT name, current_setting(name) AS setting FROM pg_settings WHERE name IN (${names.map((name) => `'${name}'`).join()})`,
    );
    await server.stop();
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      max_connections: '100',
      jit: 'off',
      work_mem: '5MB',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
    });
  });

  it('gives the url of any of its databases', async () => {
    await whileRunning(async (server) => {
      await query(server.url, 'CREATE DATABASE "a b"');
      expect(await query(server.databaseUrl('a b'), 'SELECT current_database() AS name')).toEqual([{ name: 'a b' }]);
    });
  });

  it('passes on its log without statements or row contents', async () => {
    const lines: string[] = [];
    const server = await startPostgres({ dataDir, settings, onLog: (line) => lines.push(line) });
    await expect(
      query(server.url, "CREATE TABLE strict AS SELECT 'hush-1' AS s; ALTER TABLE strict ADD CHECK (s = 'hush-2')"),
    ).rejects.toThrow();
    await server.stop();
    expect(lines.join('\n')).toContain('check constraint');
    expect(lines.join('\n')).toContain('database system is shut down');
    expect(lines.join('\n')).not.toContain('hush');
  });

  it('runs on the port it is given, and says so when that port is taken', async () => {
    const occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    const { port } = occupant.address() as AddressInfo;
    await expect(startPostgres({ dataDir, settings, port })).rejects.toThrow(
      /on port \d+[\s\S]*Address already in use/,
    );
    occupant.close();
    await once(occupant, 'close');
    const server = await startPostgres({ dataDir, settings, port });
    await server.stop();
    expect(server.port).toBe(port);
  });

  it('tells when the server ends by itself, and starts again after that', async () => {
    const server = await startPostgres({ dataDir, settings });
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    await server.stop();
    expect(await whileRunning(({ url }) => query(url, 'SELECT answer FROM kept'))).toEqual([{ answer: 42 }]);
  });

  it('stops as often as it is asked to, and does not call that an exit', async () => {
    const server = await startPostgres({ dataDir, settings });
    let exited = false;
    void server.exited.then(() => (exited = true));
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(exited).toBe(false);
  });

  it('lets the process end by itself after stop', async () => {
    const owner = startOwner([dataDir]);
    await owner.ready;
    expect(await owner.finish()).toBe(0);
  });

  it('refuses the data of another major version, a cluster whose password is lost, and a platform without a build', async () => {
    const versionFile = join(dataDir, 'cluster', 'PG_VERSION');
    const version = await readFile(versionFile, 'utf8');
    await writeFile(versionFile, '15\n');
    await expect(startPostgres({ dataDir })).rejects.toThrow('database files are incompatible with server');
    await writeFile(versionFile, version);

    const passwordFile = join(dataDir, 'cluster', 'password');
    const password = await readFile(passwordFile, 'utf8');
    await rm(passwordFile);
    await expect(startPostgres({ dataDir })).rejects.toThrow('restore that file');
    await writeFile(passwordFile, password, { mode: 0o600 });
    await expect(findPlatformBinaries('sunos')).rejects.toThrow('No embedded PostgreSQL: @embedded-postgres/sunos');
  });

  describe('that is used for some work', () => {
    const readKept = () => usePostgres(dataDir, (urlOf) => query(urlOf('postgres'), 'SELECT answer FROM kept'));

    it('is started for it where nobody runs it, and stopped afterwards', async () => {
      expect(await readKept()).toEqual([{ answer: 42 }]);
      await whileRunning(async () => undefined);
    });

    it('is the server of the process that runs it, which may be starting it just now', async () => {
      const watcher = watch(join(dataDir, 'cluster'));
      const owner = startOwner([dataDir]);
      // Before its lock file is written, the test would own the cluster and the other process would be refused.
      for await (const [change, file] of on(watcher, 'change')) if (change === 'change' && file === LOCK_FILE) break;
      watcher.close();
      expect(await readKept()).toEqual([{ answer: 42 }]);
      await owner.ready;
      expect(await readKept()).toEqual([{ answer: 42 }]);
      expect(await owner.finish()).toBe(0);
    });

    it('is not made where there is none', async () => {
      await expect(usePostgres(join(dataDir, 'elsewhere'), async () => 'used')).rejects.toThrow('no PostgreSQL in');
    });
  });
});
