import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const POLL_INTERVAL_MS = 20;

export interface ProcessInfo {
  /** The pid of its parent. */
  readonly parent: number;
  /** Tells two processes with the same pid apart, across reboots too. */
  readonly startedAt: string;
  /** The command line with its arguments, separated by spaces. */
  readonly command: string;
}

/**
 * The process that has this pid now; undefined when there is none, and always on Windows, which does not provide the
 * information. A zombie counts as none, because it holds no file and runs no code. On Linux /proc is read, since `ps`
 * is missing where procps is not installed.
 */
export function inspectProcess(pid: number): Promise<ProcessInfo | undefined> {
  return (process.platform === 'linux' ? inspectThroughProc(pid) : inspectThroughPs(pid)).catch(() => undefined);
}

/** Waits until the process has ended, at most `boundMs`. @returns whether it has. */
export async function waitUntilGone(pid: number, startedAt: string, boundMs: number): Promise<boolean> {
  const deadline = Date.now() + boundMs;
  while ((await inspectProcess(pid))?.startedAt === startedAt) {
    if (Date.now() >= deadline) return false;
    await delay(POLL_INTERVAL_MS);
  }
  return true;
}

async function inspectThroughProc(pid: number): Promise<ProcessInfo | undefined> {
  const [stat, command, bootId] = await Promise.all(
    [`/proc/${pid}/stat`, `/proc/${pid}/cmdline`, '/proc/sys/kernel/random/boot_id'].map((path) =>
      readFile(path, 'utf8'),
    ),
  );
  // The second field is the name in parentheses, which may contain spaces. State and parent follow; the start time is
  // 19 after the state.
  const fields = stat!.slice(stat!.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
  return {
    parent: Number(fields[1]),
    startedAt: `${bootId!.trim()}/${fields[19]}`,
    command: command!.replaceAll('\0', ' ').trim(),
  };
}

export async function inspectThroughPs(pid: number): Promise<ProcessInfo | undefined> {
  const format = ['stat', 'ppid', 'lstart', 'command'].flatMap((column) => ['-o', `${column}=`]);
  const { stdout } = await promisify(execFile)('ps', [...format, '-p', String(pid)], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  });
  const [, state, parent, startedAt, command] = /^\s*(\S+)\s+(\d+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/m.exec(stdout) ?? [];
  return state && startedAt && !state.startsWith('Z')
    ? { parent: Number(parent), startedAt, command: command ?? '' }
    : undefined;
}
