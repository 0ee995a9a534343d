import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { callAs } from './account.js';
import { urlsOf, type Cluster } from './cluster.js';

const FAST_SHUTDOWN_BOUND_MS = 20_000;
const LOG_TAIL_LINES = 20;

export interface EmbeddedPostgres {
  /** `postgres://postgres:<password>@127.0.0.1:<port>/postgres`, for the superuser. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** The URL of another database of this server. */
  databaseUrl(name: string): string;
  /**
   * Shuts the server down, and kills it after 20 s. Another process may then use the directory. May be called again.
   */
  stop(): Promise<void>;
  /** Resolves when the server ends without `stop()`. */
  readonly exited: Promise<void>;
}

/**
 * Starts a server and resolves when it accepts connections.
 * @throws Error with the last lines that it wrote, when it ends before that or cannot be started.
 */
export async function runServer(
  binary: string,
  { account, directory, password }: Cluster,
  settings: Record<string, string> & { port: string },
  onLog: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const assignments = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const { file, args, options } = callAs(account, binary, ['-D', directory, ...assignments]);
  // The server gets a session of its own, so that Ctrl-C does not reach it: this process needs the database while it
  // shuts down.
  const child = spawn(file, args, { ...options, cwd: directory, detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
  await once(child, 'spawn');

  const ended = once(child, 'exit');
  const log = createInterface({ input: child.stderr });
  const drained = once(log, 'close');
  const tail: string[] = [];
  await new Promise<void>((resolve, reject) => {
    log.on('line', (line) => {
      tail.push(line);
      if (tail.length > LOG_TAIL_LINES) tail.shift();
      onLog(line);
      if (line.includes('database system is ready to accept connections')) resolve();
    });
    void drained.then(() => reject(new Error(tail.join('\n'))));
  });

  const stop = async (): Promise<void> => {
    child.kill('SIGINT');
    const lastResort = setTimeout(() => child.kill('SIGKILL'), FAST_SHUTDOWN_BOUND_MS);
    await ended;
    clearTimeout(lastResort);
    // The backends of a killed server live a moment longer and would keep its log open.
    if (child.signalCode) child.stderr.destroy();
    else await drained;
  };
  let stopped: Promise<void> | undefined;
  const databaseUrl = urlsOf(password, settings.port);
  return {
    url: databaseUrl('postgres'),
    port: Number(settings.port),
    pid: child.pid!,
    databaseUrl,
    stop: () => (stopped ??= stop()),
    exited: new Promise((resolve) => {
      void ended.then(() => {
        if (!stopped) resolve();
      });
    }),
  };
}
