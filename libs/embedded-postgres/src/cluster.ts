import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, open, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
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

export const clusterIn = (dataDir: string): string => join(dataDir, 'cluster');

/**
 * Opens the cluster in `dataDir/cluster`, making it first when there is none. A new one is made in a sibling directory
 * and renamed when it is complete and on disk, so an interrupted attempt is never mistaken for a cluster.
 *
 * @throws Error when it was written by another major version, or its password is gone.
 */
export async function openCluster(dataDir: string, binaries: PlatformBinaries): Promise<Cluster> {
  const directory = clusterIn(dataDir);
  const passwordFile = join(dataDir, 'password');
  const owner = await ownerOf(directory);
  const { account, version } = await chooseAccount(binaries.postgres, dirname(dataDir), owner);

  if (owner) await assertSameMajor(directory, version);
  else await createCluster(dataDir, directory, passwordFile, account, binaries.initdb);

  return { directory, account, password: await readPassword(dataDir) };
}

async function createCluster(
  dataDir: string,
  directory: string,
  passwordFile: string,
  account: Account,
  initdb: string,
): Promise<void> {
  await removeAbandonedAttempts(dataDir);
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
  const staging = await mkdtemp(join(dataDir, STAGING_PREFIX));
  if (account.ids) {
    for (const path of [dataDir, passwordFile, staging]) await chown(path, account.ids.uid, account.ids.gid);
  }

  await runAs(account, initdb, [
    '--pgdata', staging,
    '--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256',
    '--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', `--locale=${SYSTEM_LOCALE}`,
    '--no-instructions',
  ]);
  await rename(staging, directory);
  await syncDirectory(dataDir);
}

async function removeAbandonedAttempts(dataDir: string): Promise<void> {
  const abandoned = (await readdir(dataDir)).filter((name) => name.startsWith(STAGING_PREFIX));
  // The initdb of an owner that was killed may still be writing for a moment.
  for (const name of abandoned) await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 });
}

async function assertSameMajor(directory: string, serverVersion: string): Promise<void> {
  const found = (await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => 'unknown')).trim();
  const expected = /\d+/.exec(serverVersion)?.[0];
  if (found !== expected)
    throw new Error(
      `${directory} was written by PostgreSQL ${found}, but the embedded server is ${expected}. ` +
        'Dump it with that version and restore it into a new directory, or choose another directory.',
    );
}

/** @throws Error when it is gone. */
export async function readPassword(dataDir: string): Promise<string> {
  const path = join(dataDir, 'password');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new Error(`The database's password is not readable in ${path}; restore that file from a backup.`, { cause });
  }
}

async function ownerOf(path: string): Promise<UserIds | undefined> {
  try {
    const { uid, gid } = await stat(path);
    return { uid, gid };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Without this a power cut could undo the rename and with it every transaction acknowledged since. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return; // directories can not be opened there, and NTFS logs renames itself
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
