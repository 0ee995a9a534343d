import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Marketplace } from '@market/sdk';

export interface RunningMarketplace {
  baseUrl: string;
  /** What the reader should know about where it runs. */
  description: string;
  stop(): Promise<void>;
}

const ENTRY = fileURLToPath(new URL('../main.js', import.meta.url));
const START_BOUND_MS = 90_000;
const STOP_BOUND_MS = 20_000;
const TOLD_OUTPUT_CHARACTERS = 4_000;

/** A marketplace of one's own in a temporary directory, which is gone when it stops. */
export async function startMarketplace(signal: AbortSignal): Promise<RunningMarketplace> {
  await access(ENTRY).catch(() => {
    throw new Error(`${ENTRY} is missing; build it with: npm run build`);
  });
  const directory = await mkdtemp(join(tmpdir(), 'market-demo-'));
  // The embedded database may run as another user, who must be able to pass through.
  await chmod(directory, 0o711);
  const port = await freePort();
  const child = spawn(process.execPath, [ENTRY], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own, so that Ctrl-C reaches it through `stop` alone, after the demo let go of it.
    detached: true,
    // Nothing else of the caller's environment: a DATABASE_URL in it must not be played with.
    env: {
      PATH: process.env['PATH'],
      TMPDIR: process.env['TMPDIR'],
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: join(directory, 'data'),
      ALLOW_PRIVATE_ENDPOINTS: 'true',
    },
  });
  const output = tailOf(child);
  const stop = async (): Promise<void> => {
    await stopProcess(child);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };

  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    await untilHealthy(baseUrl, child, signal);
  } catch (error) {
    await stop();
    signal.throwIfAborted();
    throw new Error(`${(error as Error).message} Its last words:\n${output()}`, { cause: error });
  }
  return { baseUrl, description: `a marketplace of its own, data in ${directory}`, stop };
}

async function untilHealthy(baseUrl: string, child: ChildProcess, signal: AbortSignal): Promise<void> {
  const market = new Marketplace({ baseUrl, timeoutMs: 2_000 });
  for (const deadline = Date.now() + START_BOUND_MS; Date.now() < deadline; ) {
    signal.throwIfAborted();
    if (hasEnded(child)) throw new Error('The marketplace ended before it was ready.');
    const isHealthy = await market.health().then(
      () => true,
      () => false,
    );
    if (isHealthy) return;
    await delay(100);
  }
  throw new Error(`The marketplace was not ready within ${START_BOUND_MS / 1000} seconds.`);
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const lastResort = setTimeout(() => child.kill('SIGKILL'), STOP_BOUND_MS);
  await ended;
  clearTimeout(lastResort);
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function tailOf(child: ChildProcess): () => string {
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString('utf8')).slice(-TOLD_OUTPUT_CHARACTERS)));
  }
  return () => tail.trim() || '(nothing)';
}

async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
