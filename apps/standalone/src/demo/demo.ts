import 'reflect-metadata';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { startMarketplace } from '../marketplace.js';
import { runScenario } from './scenario.js';
import { shortenSecrets, Transcript } from './transcript.js';

/**
 * Runs a paid call between a buyer and a seller, with what comes before and after it, and checks every answer.
 * `BASE_URL` names a running marketplace to use instead of a new one. It must be in sandbox mode and may call private
 * addresses.
 */
async function main(): Promise<void> {
  const cancel = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(name, () => cancel.abort(new Error(`Stopped by ${name}.`)));
  }
  const transcript = new Transcript(process.stdout);
  if (process.env['BASE_URL']) return runScenario(process.env['BASE_URL'], transcript, cancel.signal);
  const directory = await mkdtemp(join(tmpdir(), 'market-demo-'));
  try {
    // The embedded database may run as another user, which must be able to enter this directory.
    await chmod(directory, 0o711);
    const port = await freePort();
    // The caller's environment is not passed on, because its DATABASE_URL may name a database with real data.
    const marketplace = await startMarketplace({
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: join(directory, 'data'),
      LOG_LEVEL: 'error',
    });
    await runScenario(`http://127.0.0.1:${port}`, transcript, cancel.signal).finally(() => marketplace.stop());
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  return port;
}

await main().catch((error: unknown) => {
  process.stderr.write(`\n ✗ ${shortenSecrets(inspect(error, { depth: null }))}\n\n`);
  process.exitCode = 1;
});
