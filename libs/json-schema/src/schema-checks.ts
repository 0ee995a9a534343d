import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';
import type { CheckedFor } from './check-budgets.js';
import type { Task, Verdict } from './check-worker.js';
import { FairChecks } from './fair-checks.js';

const IDLE_MS = 30_000;
const THREADS = Math.max(1, Math.min(4, availableParallelism() - 1));

let pool: Tinypool | undefined;

/** The threads of this process, all its services together. One that is idle keeps no process from ending. */
const threads = (): Tinypool =>
  (pool ??= new Tinypool({
    filename: createRequire(import.meta.url).resolve('@market/json-schema/check-worker'),
    runtime: 'worker_threads',
    minThreads: 0,
    maxThreads: THREADS,
    idleTimeout: IDLE_MS,
    execArgv: [],
  }));

const checks = new FairChecks(async (task) => (await threads().run(task)) as Verdict, THREADS);

/**
 * Runs a check in another thread, within the budgets of this process.
 * @throws ChecksBusy
 */
export const runCheck = (task: Task, account: CheckedFor): Promise<Verdict> => checks.run(task, account);
