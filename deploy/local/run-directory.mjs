import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectProcess, waitUntilGone } from '@market/embedded-postgres';

const LAUNCHER = 'launcher';
const END_WITHIN_MS = 10_000;

/**
 * Records the processes of a data directory: a file `<name>.json` per process, with data that distinguish it from a
 * later process with the same pid. Only one launcher at a time owns the directory. It ends the processes that a killed
 * launcher left running.
 */
export class RunDirectory {
  #path;

  /** @throws Error that names the pid of a running launcher. */
  static async claim(path) {
    await mkdir(path, { recursive: true });
    const directory = new RunDirectory();
    directory.#path = path;
    const launcher = directory.#read(LAUNCHER);
    if (launcher && (await isAlive(launcher)))
      throw new Error(
        `${path} is in use: a launcher (pid ${launcher.pid}) runs. Stop it first, or choose another DATA_DIR.`,
      );
    await directory.#endLeftovers();
    await directory.register(LAUNCHER, process.pid);
    return directory;
  }

  /** Resolves when the process is recorded; a process that has already ended is not recorded. */
  async register(name, pid) {
    const found = await inspectProcess(pid);
    if (found) writeFileSync(this.#file(name), JSON.stringify({ pid, startedAt: found.startedAt }));
  }

  forget(name) {
    rmSync(this.#file(name), { force: true });
  }

  release() {
    this.forget(LAUNCHER);
  }

  async #endLeftovers() {
    const names = (await readdir(this.#path))
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length));
    await Promise.all(names.map((name) => this.#endLeftover(name)));
  }

  async #endLeftover(name) {
    const leftover = this.#read(name);
    if (leftover && (await isAlive(leftover))) {
      process.stdout.write(`ending ${name} (pid ${leftover.pid}), left by an earlier run\n`);
      process.kill(leftover.pid, 'SIGTERM');
      if (!(await waitUntilGone(leftover.pid, leftover.startedAt, END_WITHIN_MS)))
        process.kill(leftover.pid, 'SIGKILL');
    }
    this.forget(name);
  }

  #read(name) {
    try {
      return JSON.parse(readFileSync(this.#file(name), 'utf8'));
    } catch {
      return undefined;
    }
  }

  #file(name) {
    return join(this.#path, `${name}.json`);
  }
}

const isAlive = async ({ pid, startedAt }) => (await inspectProcess(pid))?.startedAt === startedAt;
