/**
 * `npm run dev`: the standalone marketplace, started again whenever a source is saved. Only what was saved is compiled and the embedded
 * PostgreSQL stays up meanwhile, so that a change answers within seconds.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '@market/embedded-postgres';
import { context } from 'esbuild';
import { ensureDatabase } from '../apps/standalone/dist/ensure-database.js';
import { bundleOf, isModule } from './build.mjs';

const { env } = process;
const postgres = env.DATABASE_URL
  ? undefined
  : await startPostgres({ dataDir: join(env.DATA_DIR || '.data', 'postgres') });
const settings = { ...env, DATABASE_URL: postgres ? await ensureDatabase(postgres, 'market') : env.DATABASE_URL };
const bundle = await context(bundleOf(['main.ts'], { from: 'apps/standalone/src', to: 'apps/standalone/dist' }));

const start = () =>
  spawn(process.execPath, ['apps/standalone/dist/main.js'], { env: settings, stdio: ['ignore', 'inherit', 'inherit'] });
let marketplace = start();

async function stopMarketplace() {
  if (marketplace.exitCode !== null || marketplace.signalCode !== null) return;
  const exit = once(marketplace, 'exit');
  marketplace.kill('SIGTERM');
  await exit;
}

async function startAgain() {
  try {
    await bundle.rebuild();
    await stopMarketplace();
    marketplace = start();
  } catch (error) {
    console.error(error.message.split('\nCaused by')[0]);
  }
}

let timer;
let work = Promise.resolve();
for (const directory of ['apps', 'libs'].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))) {
  watch(join(directory, 'src'), { recursive: true }, (_event, name) => {
    if (!isModule(name)) return;
    clearTimeout(timer);
    timer = setTimeout(() => (work = work.then(startAgain)), 20);
  });
}

async function stop() {
  await work;
  await stopMarketplace();
  await bundle.dispose();
  await postgres?.stop();
  process.exit();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void stop());
