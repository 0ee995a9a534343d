/**
 * `npm run dev`: the standalone marketplace, started again whenever a saved source was built. The embedded PostgreSQL stays up meanwhile,
 * so that a change answers within seconds.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { startPostgres } from '@market/embedded-postgres';
import { ensureDatabase } from '../apps/standalone/dist/ensure-database.js';

const { env } = process;
const postgres = env.DATABASE_URL
  ? undefined
  : await startPostgres({ dataDir: join(env.DATA_DIR || '.data', 'postgres') });
const settings = {
  ...env,
  TURBO_TELEMETRY_DISABLED: '1',
  DATABASE_URL: postgres ? await ensureDatabase(postgres, 'market') : env.DATABASE_URL,
};
const start = (file, args, stdio = 'inherit') => spawn(file, args, { env: settings, stdio });
const processes = [
  start('npx', ['turbo', 'watch', 'build', '--output-logs=errors-only'], ['ignore', 'ignore', 'inherit']),
  start(process.execPath, ['--watch', '--watch-preserve-output', 'apps/standalone/dist/main.js']),
];

let stopping = false;
async function stop() {
  if (stopping) return;
  stopping = true;
  for (const child of processes) child.kill('SIGTERM');
  await Promise.all(
    processes.map(
      (child) => child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.once('exit', resolve)),
    ),
  );
  await postgres?.stop();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop());
for (const child of processes) child.once('exit', () => void stop());
