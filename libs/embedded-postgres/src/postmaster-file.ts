import { readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inspectProcess, waitUntilGone } from './process-info.js';

/** In an immediate shutdown PostgreSQL kills its processes after five seconds. */
const SHUTDOWN_BOUND_MS = 20_000;
/** A server that has just created the file fills it in much less than this time. */
const WRITE_TIMEOUT_MS = 20;

const fileIn = (cluster: string): string => join(cluster, 'postmaster.pid');

/** A live process runs the PostgreSQL in this directory. */
export class DirectoryInUseError extends Error {
  constructor(cluster: string, pid: number) {
    const who = pid === process.pid ? `this process (pid ${pid}) already` : `another process (pid ${pid})`;
    super(`${cluster} is in use: ${who} runs the PostgreSQL in it. Stop that one first, or choose another directory.`);
  }
}

/** Marks the server's command line with the process that started it, which is its parent for as long as it lives. */
export const ownedBy = (pid: number): string => `owned-by-${pid}`;

/** The port of the server that runs in this cluster; undefined while none is ready. */
export async function portOfReadyServer(cluster: string): Promise<string | undefined> {
  const lines = (await readFile(fileIn(cluster), 'utf8').catch(() => '')).split('\n');
  return lines[7]?.trim() === 'ready' ? lines[3] : undefined;
}

/**
 * Clears a lock file that PostgreSQL itself would respect although its owner is not alive. It stops a server whose
 * owner is dead, and removes a file whose pid now belongs to another process or to a zombie. All other cases are left
 * to PostgreSQL.
 *
 * @throws DirectoryInUseError; Error when a server whose owner is dead cannot be stopped.
 */
export async function clearPostmasterFile(cluster: string): Promise<void> {
  if (process.platform === 'win32') return; // Windows does not show who a process is
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
