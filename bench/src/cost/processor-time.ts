import { readdirSync, readFileSync } from 'node:fs';
import { descendantsOf } from '../memory.js';

/** The processor time of processes since their start, in milliseconds, by pid. */
export class ProcessorTime {
  private constructor(
    private readonly own: ReadonlyMap<number, number>,
    private readonly postgres: ReadonlyMap<number, number>,
  ) {}

  /** Includes the PostgreSQL that these processes or this one started. */
  static of(pids: number[]): ProcessorTime {
    return new ProcessorTime(timesOf(pids), timesOf(serversNamed('postgres')));
  }

  /** A process that ended meanwhile is not counted. */
  since(before: ProcessorTime): { own: number; postgres: number } {
    return { own: usedSince(before.own, this.own), postgres: usedSince(before.postgres, this.postgres) };
  }
}

/** The processes of a program that this process or its children started. */
export const serversNamed = (program: string): number[] =>
  descendantsOf(process.pid).filter((pid) => nameOf(pid) === program);

export const usedSince = (before: ReadonlyMap<number, number>, now: ReadonlyMap<number, number>): number =>
  [...now].reduce((sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0), 0);

export const timesOf = (pids: number[]): Map<number, number> => new Map(pids.map((pid) => [pid, timeOf(pid)]));

/** The sum over all threads; the first number of schedstat is nanoseconds on a processor. */
function timeOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce(
      (sum, thread) => sum + Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
      0,
    );
  } catch {
    return 0;
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
