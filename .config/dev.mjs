/**
 * `npm run dev`: the standalone marketplace, started again whenever a source is saved. Only the saved module is compiled and the embedded
 * PostgreSQL stays up meanwhile, so that a change answers within seconds.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { startPostgres } from '@market/embedded-postgres';
import { ensureDatabase } from '../apps/standalone/dist/ensure-database.js';
import { compile, isModule } from './build.mjs';

const { env } = process;
const postgres = env.DATABASE_URL
  ? undefined
  : await startPostgres({ dataDir: join(env.DATA_DIR || '.data', 'postgres') });
const settings = { ...env, DATABASE_URL: postgres ? await ensureDatabase(postgres, 'market') : env.DATABASE_URL };

const start = () =>
  spawn(process.execPath, ['apps/standalone/dist/main.js'], { env: settings, stdio: ['ignore', 'inherit', 'inherit'] });
let marketplace = start();

async function stopMarketplace() {
  if (marketplace.exitCode !== null || marketplace.signalCode !== null) return;
  const exit = once(marketplace, 'exit');
  marketplace.kill('SIGTERM');
  await exit;
}

/** The modules saved since the last start, as calls that compile them, by path. */
const saved = new Map();
async function startAgain() {
  const modules = [...saved.values()];
  saved.clear();
  try {
    await Promise.all(modules.map((compileAgain) => compileAgain()));
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
    saved.set(join(directory, name), () => compile(name, directory));
    clearTimeout(timer);
    timer = setTimeout(() => (work = work.then(startAgain)), 20);
  });
}

async function stop() {
  await work;
  await stopMarketplace();
  await postgres?.stop();
  process.exit();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void stop());
