import { randomUUID } from 'node:crypto';
import { link, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectProcess } from './process-info.js';

const LOCK_FILE = /^owner-(\d+)\.json$/;

interface Owner {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * Makes this process the one owner of the directory until the returned function is called or the process dies.
 *
 * Every owner leaves a file `owner-<n>.json`, and the highest n counts. Taking over means creating the next number,
 * which the file system grants to exactly one, so two processes that find the same dead owner can not both win. The
 * highest file is never deleted, only emptied: a slow rival could otherwise create a number that was passed long ago.
 *
 * @throws Error naming the pid when a live process owns the directory.
 */
export async function acquireOwnership(directory: string): Promise<() => Promise<void>> {
  const self = await inspectProcess(process.pid);
  const me: Owner = { pid: process.pid, startedAt: self?.startedAt ?? '' };
  for (;;) {
    const latest = await latestNumber(directory);
    await refuseIfAlive(directory, latest);

    const mine = latest + 1;
    if (!(await createWhole(directory, lockFile(directory, mine), me))) continue;
    if ((await latestNumber(directory)) !== mine) {
      await rm(lockFile(directory, mine), { force: true });
      continue;
    }
    await removeOlder(directory, mine);
    return () => truncate(lockFile(directory, mine));
  }
}

/** The pid of the process that owns the directory now; undefined when none does. */
export async function findOwner(directory: string): Promise<number | undefined> {
  return findLiveOwner(directory, await latestNumber(directory));
}

async function refuseIfAlive(directory: string, number: number): Promise<void> {
  const pid = await findLiveOwner(directory, number);
  if (pid !== undefined) {
    const who = pid === process.pid ? `this process (pid ${pid}) already` : `another process (pid ${pid})`;
    throw new Error(
      `${directory} is in use: ${who} runs the PostgreSQL in it. Stop that one first, or choose another directory.`,
    );
  }
}

async function findLiveOwner(directory: string, number: number): Promise<number | undefined> {
  const owner = await readOwner(lockFile(directory, number));
  return owner && (await inspectProcess(owner.pid))?.startedAt === owner.startedAt ? owner.pid : undefined;
}

/** Links a complete file into place, so that no reader ever sees half of it; false when the name is taken. */
async function createWhole(directory: string, path: string, owner: Owner): Promise<boolean> {
  const draft = join(directory, `owner.${randomUUID()}.draft`);
  await writeFile(draft, JSON.stringify(owner));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Undefined when it was given back (emptied), or has a successor already (gone). */
async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    const content = await readFile(path, 'utf8');
    return content === '' ? undefined : (JSON.parse(content) as Owner);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function latestNumber(directory: string): Promise<number> {
  return Math.max(0, ...(await lockNumbers(directory)));
}

async function removeOlder(directory: string, mine: number): Promise<void> {
  const older = (await lockNumbers(directory)).filter((number) => number < mine);
  await Promise.all(older.map((number) => rm(lockFile(directory, number), { force: true })));
}

async function lockNumbers(directory: string): Promise<number[]> {
  return (await readdir(directory)).flatMap((name) => LOCK_FILE.exec(name)?.[1] ?? []).map(Number);
}

function lockFile(directory: string, number: number): string {
  return join(directory, `owner-${number}.json`);
}
