import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { eventually, type OwnProcess, startOwnProcess } from '@market/test-servers';

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url));
/** A catalog of a million listings first reads its index. */
const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 40_000;

export interface AppProcessOptions {
  /** The folder in apps/. */
  app: string;
  env: Record<string, string>;
  internalPort: number;
}

/**
 * One process of the marketplace as operators run it: built, configured only by its environment, identified by its
 * ports.
 */
export class AppProcess {
  private current: OwnProcess | undefined;
  private readonly past: string[] = [];
  private readonly env: Record<string, string>;

  constructor(private readonly options: AppProcessOptions) {
    this.env = { ...options.env };
  }

  /**
   * Starts the process and waits until it reports that it is ready.
   * @param env variables that are added to its environment, for later starts too.
   * @throws Error with its output if it ends first.
   */
  async start(env: Record<string, string> = {}): Promise<void> {
    Object.assign(this.env, env);
    const entry = `${REPOSITORY}apps/${this.options.app}/dist/main.js`;
    await access(entry).catch(() => {
      throw new Error(`${entry} is missing; build it with: npm run build`);
    });
    // Only the variables that are needed to find programs are inherited, so that the caller's environment does not
    // influence a test.
    const { PATH, HOME, TMPDIR } = process.env;
    this.current = startOwnProcess(process.execPath, [entry], {
      env: { PATH, HOME, TMPDIR, ...this.env, INTERNAL_PORT: String(this.options.internalPort) },
    });
    await this.untilReady(this.current);
  }

  /** @returns its exit code; null if a signal ended it or no process was running. */
  async stop(signal?: NodeJS.Signals): Promise<number | null> {
    if (!this.current) return null;
    const code = await this.current.stop(signal, STOP_TIMEOUT_MS);
    this.past.push(this.current.output());
    this.current = undefined;
    return code;
  }

  logs(): string {
    return [...this.past, this.current?.output() ?? ''].join('');
  }

  get pid(): number | undefined {
    return this.current?.pid;
  }

  get internalUrl(): string {
    return `http://127.0.0.1:${this.options.internalPort}`;
  }

  private async untilReady(running: OwnProcess): Promise<void> {
    const ready = async (): Promise<void> => {
      if (!running.isRunning()) return;
      const response = await fetch(`${this.internalUrl}/healthz/ready`, {
        signal: AbortSignal.timeout(5_000),
      });
      if (!response.ok) throw new Error(`${this.options.app} is not ready: ${await response.text()}`);
    };
    await eventually(ready, { withinMs: START_TIMEOUT_MS, everyMs: 50 }).catch((cause: unknown) => {
      throw new Error(`${this.options.app} was not ready in time and wrote:\n${running.output()}`, { cause });
    });
    if (!running.isRunning())
      throw new Error(`${this.options.app} ended before it was ready and wrote:\n${running.output()}`);
  }
}
