import { randomBytes } from 'node:crypto';
import { access, chown, mkdtemp, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chooseAccount, runAs, type Account, type UserIds } from './account.js';
import type { PlatformBinaries } from './platform-binaries.js';

const STAGING_PREFIX = 'cluster.init-';

/** Only classifies characters (what is a letter); order and upper/lower case come from PostgreSQL's own C.UTF-8. */
const SYSTEM_LOCALE = { darwin: 'en_US.UTF-8', win32: 'C' }[process.platform as string] ?? 'C.UTF-8';

/** A database cluster on disk, ready for a server. */
export interface Cluster {
  /** What PostgreSQL calls PGDATA. */
  readonly directory: string;
  readonly password: string;
  readonly account: Account;
}

/** Of the databases of a server on this machine, as the superuser. */
export const urlsOf =
  (password: string, port: string) =>
  (database: string): string =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;

export const clusterIn = (dataDir: string): string => join(dataDir, 'cluster');

/**
 * Opens the cluster in `dataDir/cluster`, making it first when there is none. A new one is made in a sibling directory,
 * with its password in it, and renamed when it is complete and on disk: an interrupted attempt is never mistaken for a
 * cluster, and of two processes that make one, the second takes that of the first.
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

/** Only for whoever runs the server: what others still make comes too late. */
export async function removeAbandonedAttempts(dataDir: string): Promise<void> {
  const abandoned = (await readdir(dataDir)).filter((name) => name.startsWith(STAGING_PREFIX));
  // The initdb of a process that was killed may still be writing for a moment.
  for (const name of abandoned) await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 });
}

/** @throws Error when it is gone. */
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

/** Without this a power cut could undo a rename and with it every transaction acknowledged since. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return; // directories cannot be opened there, and NTFS logs renames itself
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}
