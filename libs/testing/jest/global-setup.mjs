import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGE_ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Gives every integration test one PostgreSQL server in TEST_DATABASE_URL; one that is set already wins. It runs in a
 * process of its own, because jest loads this file without the export conditions and transforms the sources need, and
 * which ends when its standard input closes: no server outlives jest, however jest ends.
 */
export default async function globalSetup() {
  if (process.env.TEST_DATABASE_URL) return;
  const server = spawn(process.execPath, ['--conditions=@market/source', '--import', '@swc-node/register/esm-register', 'src/jest/postgres-process.ts'], {
    cwd: PACKAGE_ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  process.env.TEST_DATABASE_URL = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once('line', resolve);
    server.once('error', reject);
    server.once('exit', (code) => reject(new Error(`the PostgreSQL of the integration tests did not start (exit ${code}); its reason is above`)));
  });
  globalThis.stopTestPostgres = async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.stdin.end();
    await ended;
  };
}
