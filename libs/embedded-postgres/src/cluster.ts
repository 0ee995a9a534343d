import { randomBytes } from 'node:crypto';
import { access, chown, mkdtemp, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chooseAccount, runAs, type Account, type UserIds } from './account.js';
import type { PlatformBinaries } from './platform-binaries.js';

const STAGING_PREFIX = 'cluster.init-';

/**
 * The locale of the system only classifies characters; order and upper or lower case come from the built-in C.UTF-8 of
 * PostgreSQL.
 */
const SYSTEM_LOCALE = { darwin: 'en_US.UTF-8', win32: 'C' }[process.platform as string] ?? 'C.UTF-8';

/** A database cluster on disk that a server can be started on. */
export interface Cluster {
  /** What PostgreSQL calls PGDATA. */
  readonly directory: string;
  readonly password: string;
  readonly account: Account;
}

/** URLs of the databases of a server on this machine, for the superuser. */
export const urlsOf =
  (password: string, port: string) =>
  (database: string): string =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;

export const clusterIn = (dataDir: string): string => join(dataDir, 'cluster');

/**
 * Opens the cluster in `dataDir/cluster` and creates it first when there is none. A new one is created in a sibling
 * directory, together with its password, and renamed when it is complete and on disk. So an interrupted attempt is
 * never mistaken for a cluster, and when two processes create one at the same time, the second uses that of the first.
 */
export async function openCluster(dataDir: string, { initdb, postgres }: PlatformBinaries): Promise<Cluster> {
  const directory = clusterIn(dataDir);
  const owner: UserIds | undefined = await stat(directory).catch(() => undefined);
  const account = await chooseAccount(postgres, dirname(dataDir), owner);
  if (!owner) {
    await createCluster(dataDir, account, initdb).catch(async (error: unknown) => {
      if (!(await exists(directory))) throw error;
    });
  }
  return { directory, account, password: await readPassword(directory) };
}

/**
 * Creates the cluster of `dataDir` from what `fill` writes. The cluster gets its final path only when it is complete
 * and on disk.
 *
 * @param fill creates the directory that it is given and writes the cluster there.
 * @throws Error when there is a cluster already.
 */
export async function placeCluster(dataDir: string, fill: (directory: string) => Promise<void>): Promise<void> {
  if (await exists(clusterIn(dataDir))) throw new Error(`${clusterIn(dataDir)} is there already.`);
  const staging = join(dataDir, `${STAGING_PREFIX}restore`);
  await rm(staging, { recursive: true, force: true });
  await fill(staging);
  await rename(staging, clusterIn(dataDir));
  await syncDirectory(dataDir);
}

async function createCluster(dataDir: string, account: Account, initdb: string): Promise<void> {
  const staging = await mkdtemp(join(dataDir, STAGING_PREFIX));
  const passwordFile = `${staging}.password`;
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  for (const path of account.ids ? [dataDir, passwordFile, staging] : [])
    await chown(path, account.ids!.uid, account.ids!.gid);
  await runAs(account, initdb, [
    ...[
      '--pgdata',
      staging,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--no-instructions',
    ],
    ...['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', `--locale=${SYSTEM_LOCALE}`],
  ]);
  await rename(passwordFile, join(staging, 'password'));
  await syncDirectory(staging);
  await rename(staging, clusterIn(dataDir));
  await syncDirectory(dataDir);
}

/**
 * Removes directories of interrupted attempts. Only the process that runs the server calls it, since no other cluster
 * is needed then.
 */
export async function removeAbandonedAttempts(dataDir: string): Promise<void> {
  const abandoned = (await readdir(dataDir)).filter((name) => name.startsWith(STAGING_PREFIX));
  // The initdb of a killed process may still be writing, so the removal is repeated.
  for (const name of abandoned) await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 });
}

/** @throws Error when the file cannot be read. */
export async function readPassword(directory: string): Promise<string> {
  const path = join(directory, 'password');
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new Error(`The database's password is not readable in ${path}; restore that file from a backup.`, { cause });
  });
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Without this a power failure could undo the rename, and with it every transaction that was acknowledged since. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return; // directories cannot be opened there, and NTFS logs renames itself
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}
