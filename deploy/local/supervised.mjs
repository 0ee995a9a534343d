import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;
/** After a process has run this long, its restart delay is reset. */
const STEADY_AFTER_MS = 30_000;

/** With util-linux the kernel ends the child when this process dies, even if it is killed. */
const canFollowParent = spawnSync('setpriv', ['--pdeathsig', 'TERM', 'true']).status === 0;

/**
 * One process of the marketplace. Its lines are logged under its name. If it is kept alive, it is restarted whenever it
 * ends by itself, after an increasing delay.
 */
export class Supervised {
  #settings;
  #child;
  #keptAlive = false;
  #stopping = false;
  #delayMs = FIRST_DELAY_MS;
  #restart;

  /**
   * @param settings `name`, `file`, `args`, `env`; `log(name, line)`; `register(name, pid)` at its start and
   * `forget(name)` after its end; `deathSignal` for the case that this process is killed (KILL if TERM is not needed).
   */
  constructor(settings) {
    this.#settings = { deathSignal: 'KILL', ...settings };
    this.#start();
  }

  get name() {
    return this.#settings.name;
  }

  get pid() {
    return this.#child.pid;
  }

  isRunning() {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  keepAlive() {
    this.#keptAlive = true;
    if (!this.isRunning()) this.#startLater();
  }

  /** Sends TERM, kills the process if it does not end within `withinMs`, and never restarts it. */
  async stop(withinMs) {
    this.#stopping = true;
    clearTimeout(this.#restart);
    if (!this.isRunning()) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const lastResort = setTimeout(() => this.kill(), withinMs);
    await ended;
    clearTimeout(lastResort);
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  #start() {
    const { name, file, args, env, log, register, forget, deathSignal } = this.#settings;
    const [program, ...rest] = canFollowParent
      ? ['setpriv', '--pdeathsig', deathSignal, file, ...args]
      : [file, ...args];
    // The child gets its own process group: Ctrl-C in the terminal goes to the launcher, which stops everything in
    // order.
    const child = spawn(program, rest, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    const startedAt = Date.now();
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => log(name, line));
    child.once('error', (error) => log(name, error.message));
    if (child.pid !== undefined) register(name, child.pid);
    child.once('exit', (code, signal) => {
      forget(name);
      if (this.#stopping) return;
      log(name, `ended by itself (${signal ?? `exit code ${code}`})`);
      if (Date.now() - startedAt >= STEADY_AFTER_MS) this.#delayMs = FIRST_DELAY_MS;
      if (this.#keptAlive) this.#startLater();
    });
  }

  #startLater() {
    if (this.#stopping) return;
    this.#settings.log(this.name, `starts again in ${this.#delayMs / 1000} s`);
    this.#restart = setTimeout(() => this.#start(), this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_DELAY_MS);
  }
}
