import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectProcess, waitUntilGone } from './process-info.js';

const FAST_SHUTDOWN_BOUND_MS = 20_000;
const KILL_BOUND_MS = 5_000;

/** The parts of postmaster.pid that matter here. */
export interface PostmasterFile {
  readonly pid: number;
  readonly port: number;
  /** `starting`, `stopping`, `ready` or `standby`; empty while the file is being written. */
  readonly status: string;
}

/** What the server in this cluster says of itself; undefined when the file is missing or half written. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  return Number.isInteger(pid) && pid > 1 ? { pid, port: Number(lines[3]), status: lines[7]?.trim() ?? '' } : undefined;
}

/**
 * Stops a server that a dead owner left in this cluster, and removes what it left of itself. Only for the owner of the
 * data directory: it does not ask whose server that is.
 *
 * @throws Error when the server does not end even when killed.
 */
export async function stopOrphan(cluster: string): Promise<void> {
  const pid = (await readPostmasterFile(cluster))?.pid;
  const found = pid === undefined ? undefined : await inspectProcess(pid);
  // Any other command line means that the pid went to a stranger since.
  if (pid !== undefined && found && `${found.command} `.includes(` -D ${cluster} `)) {
    signal(pid, 'SIGINT');
    if (!(await waitUntilGone(pid, found.startedAt, FAST_SHUTDOWN_BOUND_MS))) {
      signal(pid, 'SIGKILL');
      if (!(await waitUntilGone(pid, found.startedAt, KILL_BOUND_MS)))
        throw new Error(`A PostgreSQL left over from an earlier run (pid ${pid}) in ${cluster} can not be stopped.`);
    }
  }
  await rm(join(cluster, 'postmaster.pid'), { force: true });
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
