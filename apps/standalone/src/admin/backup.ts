import { SERVICE_NAMES } from '@market/contracts';
import { backUpCluster, placeCluster, usePostgres } from '@market/embedded-postgres';
import { paymentsLedger } from '@market/payments-ledger';
import { CommandFailure, databaseUrlOf, runCommand, type Environment } from '@market/runtime';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { openDataDirectory } from '../data-directory.js';
import type { AdminCommand } from './admin-command.js';

/** The manifest is written last, so that a directory without it is an incomplete backup. */
interface Manifest {
  made_at: string;
  /** Below the data directory, parents first. */
  directories: string[];
  /** SHA-256 in hex, by path. */
  files: Record<string, string>;
}

const MANIFEST = 'manifest.json';
const CLUSTER = join('postgres', 'cluster');
/**
 * The files of the keys that decrypt the secrets in the database and sign its receipts. Absent if the keys are in the
 * environment.
 */
const KEYS = ['encryption-keys', 'signing-keys'];

const create: AdminCommand = {
  name: 'backup create',
  arguments: ['directory'],
  help:
    'copies the embedded PostgreSQL and the keys of DATA_DIR, which decrypt all secrets in it, to a directory ' +
    'that only you should read',
  worksOn: 'files',
  async run({ arguments: [target] }, env) {
    const [dataDir, directory] = [dataDirOf(env), resolve(target!)];
    await makeEmpty(directory);
    await mkdir(join(directory, 'postgres'), { mode: 0o700 });
    const files: Manifest['files'] = {};
    const copy = async (from: string, to: string): Promise<void> => {
      files[relative(directory, to)] = await copyFile(from, to);
    };
    await usePostgres(join(dataDir, 'postgres'), (urlOf) =>
      backUpCluster(urlOf('postgres'), join(dataDir, 'postgres'), join(directory, CLUSTER), copy),
    );
    const label = join(CLUSTER, 'backup_label');
    files[label] = sha256(await readFile(join(directory, label)));
    for (const key of KEYS) await copy(join(dataDir, key), join(directory, key)).catch(unlessAbsent);
    const manifest: Manifest = {
      made_at: new Date().toISOString(),
      directories: await directoriesIn(directory),
      files,
    };
    const unfinished = join(directory, `${MANIFEST}.new`);
    await writeFile(unfinished, JSON.stringify(manifest), { mode: 0o600, flush: true });
    await rename(unfinished, join(directory, MANIFEST));
    return `${Object.keys(files).length} files are in ${directory}`;
  },
};

const verify: AdminCommand = {
  name: 'backup verify',
  arguments: ['directory'],
  help:
    'compares every file of a backup with its digest, restores it beside, starts its PostgreSQL, reads all ' +
    'books, and removes it again',
  worksOn: 'files',
  async run(input, env) {
    refuseDatabaseUrl(env);
    const directory = resolve(input.arguments[0]!);
    const dataDir = await mkdtemp(`${directory}.verify-`);
    try {
      const { made_at } = await restoreTo(dataDir, directory);
      const books = paymentsLedger.commands!.find(({ name }) => name === 'books verify')!;
      const { secrets } = await openDataDirectory(dataDir);
      const found = await usePostgres(join(dataDir, 'postgres'), (urlOf) =>
        runCommand(
          paymentsLedger,
          books,
          { ...input, options: { full: 'full' } },
          { ...secrets, ...env, DATABASE_URL: urlOf('market') },
        ),
      );
      return `the backup of ${made_at} is whole, its PostgreSQL starts, and ${found}`;
    } finally {
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    }
  },
};

const restore: AdminCommand = {
  name: 'backup restore',
  arguments: ['directory'],
  help: 'restores a backup to DATA_DIR, which must be empty or absent',
  worksOn: 'files',
  async run({ arguments: [source] }, env) {
    const dataDir = dataDirOf(env);
    await makeEmpty(dataDir);
    const { made_at } = await restoreTo(dataDir, resolve(source!));
    return `${dataDir} is as it was at ${made_at}; read "After a restore" in docs/backup.md before agents reach it`;
  },
};

export const backupCommands: readonly AdminCommand[] = [create, verify, restore];

function dataDirOf(env: Environment): string {
  refuseDatabaseUrl(env);
  return resolve(env.DATA_DIR || '.data');
}

function refuseDatabaseUrl(env: Environment): void {
  if (SERVICE_NAMES.some((service) => databaseUrlOf(service, env)))
    throw new CommandFailure(
      'this is for the embedded PostgreSQL, and DATABASE_URL names another: use what your server brings, as docs/backup.md says',
    );
}

async function makeEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if ((await readdir(directory)).length > 0) throw new CommandFailure(`${directory} is not empty`);
}

/** Restores the cluster last, so that an incomplete restore leaves no usable marketplace. */
async function restoreTo(dataDir: string, directory: string): Promise<Manifest> {
  const text = await readFile(join(directory, MANIFEST), 'utf8').catch((cause: unknown) => {
    throw new CommandFailure(`${directory} holds no ${MANIFEST}: it is no backup, or one that was not finished`, {
      cause,
    });
  });
  const manifest = JSON.parse(text) as Manifest;
  const isInCluster = (path: string): boolean => path.startsWith(CLUSTER);
  const copy = async (path: string, to: string): Promise<void> => {
    const digest = await copyFile(join(directory, path), to);
    if (digest !== manifest.files[path]) throw new CommandFailure(`${path} is not what was backed up`);
  };
  const files = Object.keys(manifest.files);
  for (const path of files.filter((path) => !isInCluster(path))) await copy(path, join(dataDir, path));
  await mkdir(join(dataDir, 'postgres'), { mode: 0o700 });
  await placeCluster(join(dataDir, 'postgres'), async (staging) => {
    const into = (path: string): string => join(staging, relative(CLUSTER, path));
    for (const path of manifest.directories.filter(isInCluster)) await mkdir(into(path), { mode: 0o700 });
    for (const path of files.filter(isInCluster)) await copy(path, into(path));
  });
  return manifest;
}

/** @returns the digest of the file. */
async function copyFile(from: string, to: string): Promise<string> {
  const source = await open(from);
  const target = await open(to, 'wx', 0o600).catch(async (error: unknown) => {
    await source.close();
    throw error;
  });
  const hash = createHash('sha256');
  try {
    for await (const chunk of source.createReadStream({
      autoClose: false,
      highWaterMark: 1 << 20,
    }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      await target.writeFile(chunk);
    }
    await target.sync();
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
  return hash.digest('hex');
}

const directoriesIn = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => relative(directory, join(parentPath, name)))
    .sort();

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const unlessAbsent = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'ENOENT') throw error;
};
