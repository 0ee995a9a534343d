import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const POLL_INTERVAL_MS = 20;

export interface ProcessInfo {
  /** Tells two processes with the same pid apart, across reboots too. Empty where the system does not say (Windows). */
  readonly startedAt: string;
  /** The command line with its arguments, separated by spaces. Empty where the system does not say (Windows). */
  readonly command: string;
}

/** What runs under this pid now; undefined when nothing does. A zombie is nothing: it holds no file and runs no code. */
export function inspectProcess(pid: number): Promise<ProcessInfo | undefined> {
  if (process.platform === 'linux') return inspectThroughProc(pid);
  if (process.platform === 'win32') return Promise.resolve(exists(pid) ? { startedAt: '', command: '' } : undefined);
  return inspectThroughPs(pid);
}

/** Waits until the process has ended, at most `boundMs`; says whether it has. */
export async function waitUntilGone(pid: number, startedAt: string, boundMs: number): Promise<boolean> {
  const deadline = Date.now() + boundMs;
  while ((await inspectProcess(pid))?.startedAt === startedAt) {
    if (Date.now() >= deadline) return false;
    await delay(POLL_INTERVAL_MS);
  }
  return true;
}

/** Linux without procps has no `ps`, so it is asked through /proc. */
async function inspectThroughProc(pid: number): Promise<ProcessInfo | undefined> {
  try {
    const [stat, commandLine, bootId] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    ]);
    // The second field is the name in parentheses and may hold spaces; the state follows it, the start time is 19 further on.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    return { startedAt: `${bootId.trim()}/${fields[19]}`, command: commandLine.replaceAll('\0', ' ').trim() };
  } catch {
    return undefined;
  }
}

export async function inspectThroughPs(pid: number): Promise<ProcessInfo | undefined> {
  const format = ['-o', 'stat=', '-o', 'lstart=', '-o', 'command='];
  try {
    const { stdout } = await promisify(execFile)('ps', [...format, '-p', String(pid)], { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } });
    const [, state, startedAt, command] = /^\s*(\S+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/m.exec(stdout) ?? [];
    return state && startedAt && !state.startsWith('Z') ? { startedAt, command: command ?? '' } : undefined;
  } catch {
    return undefined;
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
