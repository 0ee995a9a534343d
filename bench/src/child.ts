import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Child {
  url: string;
  stop(): Promise<void>;
}

/** What reads modules from their sources, in this package's folder: those that use a service's own parts, which no package exports. */
const FROM_SOURCES = ['--conditions=@market/source', '--import', '@swc-node/register/esm-register'];

/** Starts one of our modules in a process of its own, built or from its source; its first line of output is the URL it listens on. */
export async function startChild(module: string, env: Record<string, string> = {}): Promise<Child> {
  const child = spawn(process.execPath, [...(module.endsWith('.ts') ? FROM_SOURCES : []), new URL(module, import.meta.url).pathname], { cwd: new URL('..', import.meta.url), env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const url = await firstLine(child);
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        child.once('exit', () => resolve());
        child.stdin!.end();
      }),
  };
}

/** Runs one of our modules from its source, to its end. */
export async function runFromSource(module: string, args: string[]): Promise<void> {
  const child = spawn(process.execPath, [...FROM_SOURCES, new URL(module, import.meta.url).pathname, ...args], { cwd: new URL('..', import.meta.url), stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  process.exitCode = Number(code ?? 1);
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${child.spawnargs.at(-1)} exited with ${code}`)));
    createInterface({ input: child.stdout! }).once('line', resolve);
  });
}
