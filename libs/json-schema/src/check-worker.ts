import { LRUCache } from 'lru-cache';
import { BodyCheck, type Misfit } from './body-check.js';
import { LinearRegExp } from './linear-reg-exp.js';
import { problemOfSchema } from './problem-of-schema.js';
import { TimeExceeded, withinMs } from './within-ms.js';

/** Much longer than a well-meant schema needs for a well-meant body. */
const CHECK_MS = 250;
/** The maximum size of cached schemas as text; a parsed schema takes about ten times as much. */
const MAX_KEPT_BYTES = 4_194_304;

/** Texts, because a thread parses them faster than it receives a copy of the values. */
export type Task = { kind: 'body'; schema: string; body: string } | { kind: 'schema'; schema: string };
/** What a check found, and how long it took. Neither is set if nothing is wrong. */
export interface Verdict {
  misfit?: Misfit;
  problem?: string;
  /** The check was given up. */
  isExceeded?: true;
  ms: number;
}

// The validator constructs the patterns of schemas by this name. Nothing else in this thread minds.
globalThis.RegExp = LinearRegExp;

const checks = new LRUCache<string, BodyCheck>({
  maxSize: MAX_KEPT_BYTES,
  sizeCalculation: (_check, schema) => schema.length,
});

/** Runs in a thread of its own, so that a check that blocks blocks nothing else. */
export default function run(task: Task): Verdict {
  const startedAt = performance.now();
  const verdict = task.kind === 'schema' ? { problem: problemOfSchema(JSON.parse(task.schema) as object) } : fit(task);
  return { ...verdict, ms: performance.now() - startedAt };
}

function fit({ schema, body }: Task & { kind: 'body' }): Omit<Verdict, 'ms'> {
  let check = checks.get(schema);
  if (!check) checks.set(schema, (check = new BodyCheck(schema)));
  const value: unknown = JSON.parse(body);
  let misfit: Misfit | undefined;
  try {
    withinMs(CHECK_MS, () => {
      misfit = check.firstMisfitOf(value);
      misfit &&= check.withOthers(misfit, value);
    });
  } catch (error) {
    if (!(error instanceof TimeExceeded || error instanceof RangeError)) throw error;
    // The body is refused for the first error as well as for all.
    if (misfit === undefined) return { isExceeded: true };
  }
  return { misfit };
}
