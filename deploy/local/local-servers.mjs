import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SERVICE_NAMES } from '@market/contracts';
import { keepPostgres } from '@market/embedded-postgres';
import { answersOn, findProgram, freePort } from '@market/testing';
import { ensureDatabase } from '../../apps/standalone/dist/ensure-database.js';

const run = promisify(execFile);
const GENERATE_KEYS = fileURLToPath(new URL('../nats/generate-keys.mjs', import.meta.url));

/** Ten connections for each process and four more for searches, plus some for migrations and other clients. */
const maxConnections = (processes) => String(60 + 15 * processes);

/** Starts the embedded PostgreSQL, as in standalone. @returns `{ url, stop, exited }` */
export async function startLocalPostgres(dataDir, processes, onEnd) {
  const postgres = await keepPostgres({ dataDir, settings: { max_connections: maxConnections(processes) } }, onEnd);
  return { url: await ensureDatabase(postgres, 'market'), stop: () => postgres.stop(), exited: postgres.exited };
}

/**
 * Starts a nats-server that authenticates each service by its nkey.
 * @returns `{ url, seeds, edgeKey, server }`, seeds by service.
 */
export async function startLocalNats(directory, supervise) {
  const program = find('nats-server', 'NATS_URL');
  const port = await freePort();
  const config = join(directory, 'nats.conf');
  const { stdout } = await run(program, ['--version']);
  await run(process.execPath, [
    GENERATE_KEYS,
    ...['--out', directory, '--host', '127.0.0.1', '--port', String(port), '--monitor-port', String(await freePort())],
    ...['--store-dir', join(directory, 'jetstream')],
    ...(isBefore210(stdout) ? ['--before-2.10'] : []),
  ]);
  // A killed nats-server may lose what it had not yet written.
  const log = join(directory, 'nats-server.log');
  const server = supervise({
    name: 'nats-server',
    file: program,
    args: ['-c', config, '-l', log],
    env: process.env,
    deathSignal: 'TERM',
  });
  await answersOn(port, watched(server, log), { greeting: /^INFO / });
  const seeds = await Promise.all(
    SERVICE_NAMES.map(async (service) => [
      service,
      (await readFile(join(directory, 'keys', `${service}.nk`), 'utf8')).trim(),
    ]),
  );
  const edgeKey = (await readFile(join(directory, 'edge.pub'), 'utf8')).trim();
  return { url: `nats://127.0.0.1:${port}`, seeds: Object.fromEntries(seeds), edgeKey, server };
}

/** Starts a redis-server without persistence, because the data in Redis may be lost. @returns `{ url, server }` */
export async function startLocalRedis(directory, supervise) {
  const program = find('redis-server', 'REDIS_URL');
  const port = await freePort();
  await mkdir(directory, { recursive: true });
  const log = join(directory, 'redis-server.log');
  const server = supervise({
    name: 'redis-server',
    file: program,
    args: [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      directory,
      '--logfile',
      log,
    ],
    env: process.env,
  });
  await answersOn(port, watched(server, log), { hello: 'PING\r\n', greeting: /^\+PONG/ });
  return { url: `redis://127.0.0.1:${port}`, server };
}

function find(program, variable) {
  try {
    return findProgram(program, program);
  } catch (error) {
    throw new Error(`${error.message}\nOr name one that runs in ${variable}. Without any of this: npm start.`, {
      cause: error,
    });
  }
}

/** The output of servers goes to a file; only errors are printed. */
const watched = (server, log) => ({ isRunning: () => server.isRunning(), output: () => `see ${log}` });

function isBefore210(version) {
  const [, major, minor] = /v(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) < 2 || (Number(major) === 2 && Number(minor) < 10);
}
