import { once } from 'node:events';
import { chmod, mkdir, realpath } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterIn, exists, openCluster, readPassword, removeAbandonedAttempts, urlsOf } from './cluster.js';
import { findPlatformBinaries } from './platform-binaries.js';
import { clearPostmasterFile, DirectoryInUseError, ownedBy, portOfReadyServer } from './postmaster-file.js';
import { runServer, type EmbeddedPostgres } from './server.js';

const START_BOUND_MS = 15_000;
const RETRY_INTERVAL_MS = 100;

/** Temporary errors: another process starts the same cluster, or backends of a killed server still hold its memory. */
const PASSING = /lock file|shared memory block/;
const PORT_TAKEN = 'could not create any TCP/IP sockets';

/** An eighth of the memory, from 64 MB to 4 GB, because the machine is shared. Unused pages take no memory. */
const SHARED_BUFFERS_MB = Math.min(Math.max(Math.floor(totalmem() / 8 / 2 ** 20), 64), 4_096);

/**
 * Settings for a small production deployment. The log contains no statements and no contents of rows, because they may
 * contain secrets.
 */
const DEFAULT_SETTINGS = {
  shared_buffers: `${SHARED_BUFFERS_MB}MB`,
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
};

export interface StartPostgresOptions {
  /** The directory of the cluster, which is created when it does not exist. */
  dataDir: string;
  /** The port to listen on; a free one by default. */
  port?: number;
  /** PostgreSQL settings (`-c name=value`), which add to the defaults or replace them. */
  settings?: Record<string, string>;
  /** Receives every line of the server's log. */
  onLog?(line: string): void;
}

/**
 * Starts PostgreSQL on 127.0.0.1 and creates its cluster first when `dataDir` is empty. A server that is still running
 * there after the process that started it died is stopped and replaced; no acknowledged commit is lost.
 *
 * @throws DirectoryInUseError when a live process runs the server there; Error when there is no build for this
 * platform, no user to run it as, or when the server ends (its last lines of log name a taken port, another major
 * version or another user's data).
 */
export async function startPostgres({
  dataDir,
  port,
  settings,
  onLog = () => {},
}: StartPostgresOptions): Promise<EmbeddedPostgres> {
  const binaries = await findPlatformBinaries();
  if (await mkdir(dataDir, { recursive: true })) await chmod(dataDir, 0o700);
  const directory = await realpath(dataDir);
  const cluster = await openCluster(directory, binaries);
  for (const deadline = Date.now() + START_BOUND_MS; ; await delay(RETRY_INTERVAL_MS)) {
    await clearPostmasterFile(cluster.directory);
    const ours = {
      port: String(port ?? (await freePort())),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      cluster_name: ownedBy(process.pid),
    };
    try {
      const server = await runServer(binaries.postgres, cluster, { ...DEFAULT_SETTINGS, ...settings, ...ours }, onLog);
      await removeAbandonedAttempts(directory);
      return server;
    } catch (error) {
      const { message } = error as Error;
      const passes = PASSING.test(message) || (port === undefined && message.includes(PORT_TAKEN));
      if (!passes || Date.now() >= deadline)
        throw new Error(
          `PostgreSQL did not start in ${cluster.directory} on port ${ours.port}. Its last words:\n${message}`,
          { cause: error },
        );
    }
  }
}

/**
 * Like `startPostgres`, and starts the server again on the same port whenever it ends without `stop()`, as after a
 * crash.
 *
 * @param onEnd is called each time the server has ended.
 * @returns a server whose `exited` resolves when it cannot be started again.
 */
export async function keepPostgres(options: StartPostgresOptions, onEnd: () => void): Promise<EmbeddedPostgres> {
  const server = await startPostgres(options);
  let current = Promise.resolve(server);
  const keep = async (): Promise<never> => {
    for (;;) {
      await (
        await current
      ).exited;
      onEnd();
      current = startPostgres({ ...options, port: server.port });
    }
  };
  return { ...server, stop: async () => (await current).stop(), exited: keep().catch(() => undefined) };
}

/**
 * Works with the cluster in `dataDir`: on the server that another process runs there, or else on one that is started
 * for the work and stopped after it.
 *
 * @param work gets a function that returns the URL of a database, for the superuser.
 * @throws Error when there is no cluster, or when its server is not running and cannot be started.
 */
export async function usePostgres<T>(
  dataDir: string,
  work: (databaseUrl: (name: string) => string) => Promise<T>,
): Promise<T> {
  const cluster = clusterIn(dataDir);
  if (!(await exists(cluster))) throw new Error(`There is no PostgreSQL in ${dataDir}.`);
  const server = await startPostgres({ dataDir }).catch((error: unknown) => {
    if (error instanceof DirectoryInUseError) return undefined;
    throw error;
  });
  if (server) return work(server.databaseUrl).finally(() => server.stop());
  // The process that owns the cluster may still be starting the server.
  for (const deadline = Date.now() + START_BOUND_MS; Date.now() < deadline; await delay(RETRY_INTERVAL_MS)) {
    const port = await portOfReadyServer(cluster);
    if (port !== undefined) return work(urlsOf(await readPassword(cluster), port));
  }
  throw new Error(`Another process owns ${dataDir}, but its PostgreSQL is not ready.`);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
