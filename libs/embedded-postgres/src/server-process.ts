import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { callAs } from './account.js';
import type { Cluster } from './cluster.js';
import { readPostmasterFile } from './orphan.js';

const POLL_INTERVAL_MS = 10;
/** Long enough to replay the write-ahead log of a busy day. */
const START_BOUND_MS = 300_000;
const FAST_SHUTDOWN_BOUND_MS = 20_000;
const LOG_TAIL_LINES = 20;

/** A postgres process of ours. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves when the process has ended, whatever the reason. */
  readonly ended: Promise<void>;
  /** Its last lines of log. */
  logTail(): string;
  /** Resolves with true when it accepts connections, with false when it ended instead. */
  becomesReady(): Promise<boolean>;
  /** Fast shutdown; killed after 20 s. Repeatable. */
  stop(): Promise<void>;
}

/** @throws Error when the program can not be started at all. */
export async function startServerProcess(
  binary: string,
  cluster: Cluster,
  settings: Record<string, string>,
  onLog: (line: string) => void,
): Promise<ServerProcess> {
  const assignments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const { file, args, options } = callAs(cluster.account, binary, ['-D', cluster.directory, ...assignments]);
  // Its own session: Ctrl-C in the terminal is for us, who still need the database while shutting down.
  const child = spawn(file, args, { ...options, cwd: cluster.directory, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  await once(child, 'spawn');

  let running = true;
  const ended = once(child, 'exit').then(() => void (running = false));
  const tail: string[] = [];
  const log = createInterface({ input: child.stderr }).on('line', (line) => {
    tail.push(line);
    if (tail.length > LOG_TAIL_LINES) tail.shift();
    onLog(line);
  });
  const drained = once(log, 'close');

  const server: ServerProcess = {
    pid: child.pid ?? 0,
    ended,
    logTail: () => tail.join('\n'),

    async becomesReady() {
      const deadline = Date.now() + START_BOUND_MS;
      while (running && Date.now() < deadline) {
        const said = await readPostmasterFile(cluster.directory);
        if (said?.pid === child.pid && said?.status === 'ready') return true;
        await Promise.race([delay(POLL_INTERVAL_MS), ended]);
      }
      if (running) await server.stop();
      await drained;
      return false;
    },

    async stop() {
      if (running) child.kill('SIGINT');
      const lastResort = setTimeout(() => child.kill('SIGKILL'), FAST_SHUTDOWN_BOUND_MS);
      await ended;
      clearTimeout(lastResort);
      // The backends of a killed server outlive it for a moment and would hold its log open.
      if (child.signalCode) child.stderr.destroy();
      else await drained;
    },
  };
  return server;
}
