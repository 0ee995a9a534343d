import { readFileSync, readdirSync } from 'node:fs';

const field = (file: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0) / 1024;

/** Peak resident memory of a process in MiB. */
export const peakOf = (pid: number): number => field(`/proc/${pid}/status`, 'VmHWM');

/** Resident memory of a process in MiB. */
export const residentOf = (pid: number): number => field(`/proc/${pid}/status`, 'VmRSS');

/** Proportional share of memory (shared pages counted once) of a process and all its descendants, in MiB. */
export function shareOfTree(pid: number): number {
  return [pid, ...descendantsOf(pid)].reduce((sum, each) => sum + shareOf(each), 0);
}

function shareOf(pid: number): number {
  try {
    return field(`/proc/${pid}/smaps_rollup`, 'Pss');
  } catch {
    return 0;
  }
}

/** The children of a process, their children, and so on. */
export function descendantsOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      parents.set(Number(entry), Number(readFileSync(`/proc/${entry}/stat`, 'utf8').split(') ')[1]!.split(' ')[1]));
    } catch {
      // The process ended meanwhile.
    }
  }
  const found: number[] = [];
  for (let generation = [pid]; generation.length > 0;) {
    generation = [...parents].filter(([, parent]) => generation.includes(parent)).map(([child]) => child);
    found.push(...generation);
  }
  return found;
}
