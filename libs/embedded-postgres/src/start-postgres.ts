import { access, chmod, constants, mkdir, realpath, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { openCluster, type Cluster } from './cluster.js';
import { stopOrphan } from './orphan.js';
import { acquireOwnership } from './owner-lock.js';
import { findPlatformBinaries } from './platform-binaries.js';
import { startServerProcess, type ServerProcess } from './server-process.js';

const RETRY_BOUND_MS = 15_000;
const RETRY_INTERVAL_MS = 100;

/** A sixteenth of the memory, from 64 MB to 1 GB: the marketplace shares the machine, and a page that is not used takes none. */
function sharedBuffersMb(memoryBytes: number): number {
  return Math.min(Math.max(Math.floor(memoryBytes / 16 / 2 ** 20), 64), 1_024);
}

/** For a small production deployment. The log carries no statements or row contents, which may hold secrets. */
const DEFAULT_SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: `${sharedBuffersMb(totalmem())}MB`,
  max_connections: '100',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

export interface StartPostgresOptions {
  /** Holds the cluster, its password and the lock; made when absent. */
  dataDir: string;
  /** A free one when absent. */
  port?: number;
  /** PostgreSQL settings (`-c name=value`) beside or instead of the defaults. */
  settings?: Record<string, string>;
  /** Receives every line of the server's log. */
  onLog?(line: string): void;
}

export interface EmbeddedPostgres {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres`, a superuser. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The same for another database of this server. */
  databaseUrl(name: string): string;
  /** Fast shutdown, after which the directory is free for another owner. Repeatable. */
  stop(): Promise<void>;
  /** Resolves when the server ends by itself; never after `stop()` was called. */
  readonly exited: Promise<void>;
}

/**
 * Starts a real PostgreSQL on 127.0.0.1, making its cluster first when `dataDir` is empty. A server that an earlier,
 * dead owner left running there is stopped and replaced, with everything it acknowledged.
 *
 * @throws Error with the reason in its message: no build for this platform, another live owner, another major version,
 * no user to run as, a taken port, or a server that ended (with its last lines of log).
 */
export async function startPostgres(options: StartPostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = await findPlatformBinaries();
  const dataDir = await prepareDirectory(options.dataDir);
  const release = await acquireOwnership(dataDir);
  try {
    const cluster = await openCluster(dataDir, binaries);
    const { server, port } = await startServer(binaries.postgres, cluster, options);
    return handleOf(server, port, cluster.password, release);
  } catch (error) {
    await release();
    throw error;
  }
}

async function prepareDirectory(path: string): Promise<string> {
  if (await mkdir(path, { recursive: true })) await chmod(path, 0o700);
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { uid } = await stat(path);
    throw new Error(`${path} belongs to uid ${uid}, and this process (uid ${process.getuid?.()}) may not write there.`, { cause });
  }
  return realpath(path);
}

async function startServer(
  binary: string,
  cluster: Cluster,
  options: StartPostgresOptions,
): Promise<{ server: ServerProcess; port: number }> {
  const deadline = Date.now() + RETRY_BOUND_MS;
  for (;;) {
    await stopOrphan(cluster.directory);
    const port = options.port ?? (await freePort());
    const settings = {
      ...DEFAULT_SETTINGS,
      ...options.settings,
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
    };
    const server = await startServerProcess(binary, cluster, settings, (line) => options.onLog?.(line));
    if (await server.becomesReady()) {
      await assertAnswers(server, urlOf(cluster.password, port, 'postgres'));
      return { server, port };
    }
    const log = server.logTail();
    if (!passesByItself(log, options.port === undefined) || Date.now() >= deadline)
      throw new Error(`PostgreSQL did not start in ${cluster.directory} on port ${port}. Its last words:\n${log}`);
    await delay(RETRY_INTERVAL_MS);
  }
}

/** A killed predecessor's backends hold its memory a moment longer; a port that was free a moment ago may be lost. */
function passesByItself(log: string, anyPort: boolean): boolean {
  return /lock file|shared memory block/.test(log) || (anyPort && log.includes('could not create any TCP/IP sockets'));
}

async function assertAnswers(server: ServerProcess, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {}); // what breaks the connection fails the query too
  try {
    await client.connect();
    await client.query('SELECT 1');
  } catch (cause) {
    await server.stop();
    throw new Error(`PostgreSQL started, but does not let us in: ${(cause as Error).message}`, { cause });
  } finally {
    await client.end();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

function handleOf(server: ServerProcess, port: number, password: string, release: () => Promise<void>): EmbeddedPostgres {
  let stopped: Promise<void> | undefined;
  return {
    url: urlOf(password, port, 'postgres'),
    port,
    pid: server.pid,
    databaseUrl: (name) => urlOf(password, port, name),
    stop: () => (stopped ??= server.stop().then(release)),
    exited: new Promise((resolve) => {
      void server.ended.then(() => {
        if (!stopped) resolve();
      });
    }),
  };
}

/** As the superuser. */
export function urlOf(password: string, port: number, database: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
}
