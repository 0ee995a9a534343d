import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A Node process of its own that runs the fixture. */
export interface OwnerProcess {
  /** What it announces once PostgreSQL runs. Rejects with what it wrote to stderr when it ends before that. */
  readonly ready: Promise<{ url: string; pid: number }>;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Lets it end by itself; gives the exit code. */
  finish(): Promise<number | null>;
}

/** @param wrapper commands to run it through, such as `setpriv …`; each must keep the pid. */
export function startOwner(args: string[], wrapper: string[] = []): OwnerProcess {
  const script = fileURLToPath(new URL('./fixtures/hold.ts', import.meta.url));
  const node = [process.execPath, '--conditions=@market/source', '--import', '../../.config/typescript.mjs', script];
  const [file = '', ...rest] = [...wrapper, ...node, ...args];
  const child = spawn(file, rest, { cwd: PACKAGE_ROOT, stdio: ['pipe', 'pipe', 'pipe'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));

  const announced = once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>;
  const ready = Promise.race([
    announced.then(([line]) => JSON.parse(line) as { url: string; pid: number }),
    closed.then(() => Promise.reject(new Error(complaint))),
  ]);
  ready.catch(() => {}); // a test that kills it early does not ask

  return {
    ready,
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
    async finish() {
      child.stdin.end();
      return (await closed)[0];
    },
  };
}
