import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withClient } from '@market/persistence/testing';
import { eventually, freePort, temporaryDirectory } from '@market/test-servers';
import { AppProcess } from './app-process.js';
import type { RunningMarketplace } from './running-marketplace.js';

export async function startStandalone(env: Record<string, string>): Promise<RunningMarketplace> {
  const dataDir = env.DATA_DIR ?? (await temporaryDirectory('standalone'));
  const [port, internalPort] = [await freePort(), await freePort()];
  const standalone = new AppProcess({
    app: 'standalone',
    internalPort,
    env: { ...env, DATA_DIR: dataDir, PORT: String(port) },
  });
  let databaseUrl = '';
  const start = async (changes?: Record<string, string>): Promise<void> => {
    await standalone.start(changes);
    databaseUrl = env.DATABASE_URL ?? (await embeddedUrl(dataDir));
  };
  const stop = async (): Promise<void> => {
    await standalone.stop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    mode: 'standalone',
    baseUrl: `http://127.0.0.1:${port}`,
    edgeUrls: [`http://127.0.0.1:${port}`],
    get databaseUrl() {
      return databaseUrl;
    },
    processes: ['standalone'],
    async kill(name, signal = 'SIGKILL') {
      if (name !== 'postgres') return standalone.stop(signal);
      process.kill(Number((await postmasterFile(dataDir))[0]), signal);
      return null;
    },
    async restart(name, changes) {
      // The process that owns this PostgreSQL starts it again.
      if (name === 'postgres')
        return eventually(() => withClient(databaseUrl, async () => undefined), { withinMs: 20_000 });
      await standalone.stop();
      await start(changes);
    },
    logs: () => standalone.logs(),
    pid: () => standalone.pid,
    internalUrl: () => standalone.internalUrl,
    stop,
  };
}

/** The embedded PostgreSQL uses another port at each start of its owner. Its own files contain the port. */
async function embeddedUrl(dataDir: string): Promise<string> {
  const password = (await readFile(join(dataDir, 'postgres', 'cluster', 'password'), 'utf8')).trim();
  return `postgres://postgres:${password}@127.0.0.1:${(await postmasterFile(dataDir))[3]}/market`;
}

/** The lines of PostgreSQL's own file: the first is its pid, the fourth its port. */
const postmasterFile = async (dataDir: string): Promise<string[]> =>
  (await readFile(join(dataDir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8')).split('\n');
