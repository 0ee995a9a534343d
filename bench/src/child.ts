import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Child {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a module in a process of its own. Its first line of output is the URL that it listens on. */
export async function startChild(module: string, env: Record<string, string> = {}): Promise<Child> {
  const child = spawn(process.execPath, [new URL(module, import.meta.url).pathname], {
    cwd: new URL('..', import.meta.url),
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const url = await firstLine(child);
  return {
    url,
    pid: child.pid!,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.stdin!.end();
      }),
  };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${child.spawnargs.at(-1)} exited with ${code}`)));
    createInterface({ input: child.stdout! }).once('line', resolve);
  });
}
