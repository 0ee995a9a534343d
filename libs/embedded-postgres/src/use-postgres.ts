import { access } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterIn, readPassword } from './cluster.js';
import { readPostmasterFile } from './orphan.js';
import { findOwner } from './owner-lock.js';
import { startPostgres, urlOf } from './start-postgres.js';

const READY_BOUND_MS = 15_000;
const LOOK_INTERVAL_MS = 50;

/**
 * Does some work with the cluster that is in `dataDir`: on the server of the process that runs it, or where none does,
 * on one that ends with the work.
 *
 * @param work gets the URL of each database, as the superuser.
 * @throws Error when there is no cluster, or its server neither runs nor can be started.
 */
export async function usePostgres<T>(dataDir: string, work: (databaseUrl: (name: string) => string) => Promise<T>): Promise<T> {
  await access(clusterIn(dataDir)).catch(() => {
    throw new Error(`There is no PostgreSQL in ${dataDir}.`);
  });
  if ((await findOwner(dataDir)) === undefined) {
    const server = await startPostgres({ dataDir });
    return work((name) => server.databaseUrl(name)).finally(() => server.stop());
  }
  const [port, password] = [await portOfRunning(dataDir), await readPassword(dataDir)];
  return work((name) => urlOf(password, port, name));
}

/** Its owner may be starting it just now. */
async function portOfRunning(dataDir: string): Promise<number> {
  for (const deadline = Date.now() + READY_BOUND_MS; ; await delay(LOOK_INTERVAL_MS)) {
    const file = await readPostmasterFile(clusterIn(dataDir));
    if (file?.status === 'ready') return file.port;
    if (Date.now() >= deadline) throw new Error(`Process ${await findOwner(dataDir)} owns ${dataDir}, but its PostgreSQL is not ready.`);
  }
}
