import { readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inspectProcess, waitUntilGone } from './process-info.js';

/** PostgreSQL kills what does not end within five seconds of an immediate shutdown. */
const SHUTDOWN_BOUND_MS = 20_000;
/** How long a file that a server has just created may be empty, with much to spare. */
const WRITE_TIMEOUT_MS = 20;

const fileIn = (cluster: string): string => join(cluster, 'postmaster.pid');

/** A live process runs the PostgreSQL in this directory. */
export class DirectoryInUseError extends Error {
  constructor(cluster: string, pid: number) {
    const who = pid === process.pid ? `this process (pid ${pid}) already` : `another process (pid ${pid})`;
    super(`${cluster} is in use: ${who} runs the PostgreSQL in it. Stop that one first, or choose another directory.`);
  }
}

/** Tells whoever finds the server in the list of processes who started it: as long as that one lives, it is the server's parent. */
export const ownedBy = (pid: number): string => `owned-by-${pid}`;

/** The port of the server that runs in this cluster; undefined while none is ready. */
export async function portOfReadyServer(cluster: string): Promise<string | undefined> {
  const lines = (await readFile(fileIn(cluster), 'utf8').catch(() => '')).split('\n');
  return lines[7]?.trim() === 'ready' ? lines[3] : undefined;
}

/**
 * Makes way for a server where PostgreSQL's own lock does not: it stops one whose owner is dead, and removes a lock whose
 * pid went to another process, or whose server was not reaped. Whatever else is there, PostgreSQL decides about.
 *
 * @throws DirectoryInUseError; Error when an orphan cannot be stopped.
 */
export async function clearPostmasterFile(cluster: string): Promise<void> {
  if (process.platform === 'win32') return; // does not show who a process is
  const read = (): string | undefined => {
    try {
      return readFileSync(fileIn(cluster), 'utf8');
    } catch {
      return undefined;
    }
  };
  const found = read();
  if (found === undefined) return;
  const pid = Number.parseInt(found, 10) || 0;
  const server = await inspectProcess(pid);
  const command = ` ${server?.command} `;
  if (server && command.includes(` -D ${cluster} `)) {
    if (command.includes(`=${ownedBy(server.parent)} `)) throw new DirectoryInUseError(cluster, server.parent);
    process.kill(pid, 'SIGQUIT');
    if (await waitUntilGone(pid, server.startedAt, SHUTDOWN_BOUND_MS)) return;
    throw new Error(`A PostgreSQL left over from an earlier run (pid ${pid}) in ${cluster} cannot be stopped.`);
  }
  await delay(WRITE_TIMEOUT_MS);
  if (read() === found) rmSync(fileIn(cluster), { force: true });
}
