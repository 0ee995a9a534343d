import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A process that a test started and that ends at the latest with the test. */
export interface OwnProcess {
  readonly pid: number;
  /** Everything that it wrote to both of its output streams. */
  output(): string;
  /** Resolves with its exit code, or null if a signal ended it. */
  readonly ended: Promise<number | null>;
  isRunning(): boolean;
  /** Sends a signal (SIGTERM by default) and waits for the end. Sends SIGKILL after `withinMs`. */
  stop(signal?: NodeJS.Signals, withinMs?: number): Promise<number | null>;
}

export interface OwnProcessOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
}

const STOP_TIMEOUT_MS = 20_000;
/** Directories in which Debian installs servers and which are not in a normal user's PATH. */
const SERVER_DIRECTORIES = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

const running = new Set<number>();
process.on('exit', () => running.forEach((pid) => sendSignal(pid, 'SIGKILL')));

/**
 * The kernel kills the child when this process dies, even if this process is killed. Without util-linux, only an
 * orderly exit ends the child.
 */
const parentDeathSignal =
  spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0 ? ['setpriv', '--pdeathsig', 'KILL'] : [];

export function startOwnProcess(
  program: string,
  args: readonly string[],
  { env = process.env, cwd }: OwnProcessOptions = {},
): OwnProcess {
  const [file = program, ...rest] = [...parentDeathSignal, program, ...args];
  const child = spawn(file, rest, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${file} could not be started`);
  running.add(pid);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  let isRunning = true;
  child.once('exit', () => {
    isRunning = false;
    running.delete(pid);
  });
  // `close` comes after `exit`, when all output has been read.
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return {
    pid,
    output: () => Buffer.concat(chunks).toString(),
    ended,
    isRunning: () => isRunning,
    async stop(signal = 'SIGTERM', withinMs = STOP_TIMEOUT_MS) {
      if (isRunning) child.kill(signal);
      const lastResort = setTimeout(() => child.kill('SIGKILL'), withinMs);
      const code = await ended;
      clearTimeout(lastResort);
      return code;
    },
  };
}

/** @throws Error that says how to install the program if this machine does not have it. */
export function findProgram(name: string, debianPackage: string): string {
  const directories = [...(process.env.PATH ?? '').split(delimiter), ...SERVER_DIRECTORIES];
  const found = directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
  if (!found) throw new Error(`${name} is needed here and is not in PATH. On Debian: apt-get install ${debianPackage}`);
  return found;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
