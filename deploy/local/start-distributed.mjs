#!/usr/bin/env node
/**
 * Starts the distributed marketplace on this machine: a process per service, over NATS. Servers without a variable
 * (DATABASE_URL, NATS_URL, REDIS_URL) are started, too, with their data in DATA_DIR (.data/distributed). REPLICAS names
 * services with several processes: gateway=3,payments-ledger=2. Further edges listen on the ports after PORT.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SERVICE_NAMES } from '@market/contracts';
import { databaseUrlOf, settingsOf } from '@market/runtime';
import { freePort } from '@market/testing';
import { printBanner } from '../../apps/standalone/dist/banner.js';
import { openDataDirectory } from '../../apps/standalone/dist/data-directory.js';
import { settingsOnThisMachine } from '../../apps/standalone/dist/this-machine.js';
import { createLog } from './log.mjs';
import { startLocalNats, startLocalPostgres, startLocalRedis } from './local-servers.mjs';
import { RunDirectory } from './run-directory.mjs';
import { Supervised } from './supervised.mjs';

const START_TIMEOUT_MS = 120_000;
/** Longer than STOP_TIMEOUT_SECONDS. */
const SERVICE_STOPS_WITHIN_MS = 1_000 * (Number(process.env.STOP_TIMEOUT_SECONDS) || 170) + 5_000;
const SERVER_STOPS_WITHIN_MS = 15_000;

const startedAt = performance.now();
const env = readEnvironment();
const processNames = readProcessNames();
const log = createLog(['postgres', 'nats-server', 'redis-server', ...processNames]);
/** What must be stopped, in the order of its start. */
const running = [];
const processes = [];
let stopping;

// If the terminal is closed, the processes must still be stopped.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

await main().catch(async (error) => {
  if (stopping) return;
  process.stderr.write(`\n${error.message}\n`);
  await stop(1);
});

function readEnvironment() {
  try {
    return settingsOf(process.env);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}

/** `gateway`, and `gateway#2` and so on for further processes. */
function readProcessNames() {
  const counts = new Map(SERVICE_NAMES.map((service) => [service, 1]));
  for (const entry of (env.REPLICAS ?? '').split(',').filter((text) => text.trim() !== '')) {
    const [, service, count] = /^([a-z-]+)=([1-9]\d?)$/.exec(entry.trim()) ?? [];
    if (!counts.has(service)) {
      process.stderr.write(
        `REPLICAS: must be <service>=<1 to 99>, comma separated; services are ${SERVICE_NAMES.join(', ')}\n`,
      );
      process.exit(1);
    }
    counts.set(service, Number(count));
  }
  return [...counts].flatMap(([service, count]) =>
    Array.from({ length: count }, (_, index) => (index === 0 ? service : `${service}#${index + 1}`)),
  );
}

async function main() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop(0));
  const data = await openDataDirectory(env.DATA_DIR || '.data/distributed');
  const run = await RunDirectory.claim(join(data.path, 'run'));
  running.push({ stop: async () => run.release() });
  const supervise = (settings) => {
    if (stopping) throw new Error('stopped while starting');
    const supervised = new Supervised({
      ...settings,
      log,
      register: (name, pid) => void run.register(name, pid),
      forget: (name) => run.forget(name),
    });
    processes.push(supervised);
    running.push({
      stop: () =>
        supervised.stop(processNames.includes(settings.name) ? SERVICE_STOPS_WITHIN_MS : SERVER_STOPS_WITHIN_MS),
    });
    return supervised;
  };

  const servers = await startServers(data, supervise);
  const settings = {
    LOG_LEVEL: 'warn',
    PUBLIC_URL: `http://localhost:${env.PORT || '3000'}`,
    ...settingsOnThisMachine(env),
    ...data.secrets,
    ...env,
    ...servers.settings,
    NODE_NO_WARNINGS: env.NODE_NO_WARNINGS ?? '1',
  };
  const port = Number(env.PORT || '3000');
  const services = [];
  for (const name of processNames) {
    const [service, number = 1] = name.split('#');
    const internalPort = await freePort();
    const entry = fileURLToPath(new URL(`../../apps/${service}/dist/main.js`, import.meta.url));
    const publicPort = service === 'api-gateway' ? port + Number(number) - 1 : undefined;
    const own = {
      INTERNAL_PORT: String(internalPort),
      ...(publicPort && { PORT: String(publicPort) }),
      ...(servers.seeds && { NATS_NKEY_SEED: servers.seeds[service], NATS_EDGE_KEY: servers.edgeKey }),
    };
    const supervised = supervise({ name, file: process.execPath, args: [entry], env: { ...settings, ...own } });
    services.push({ supervised, internalPort, publicPort });
  }
  await Promise.all(
    services.map(({ supervised, internalPort }) =>
      untilReady(supervised, `http://127.0.0.1:${internalPort}/healthz/ready`),
    ),
  );
  for (const { supervised, publicPort } of services)
    if (publicPort) await untilReady(supervised, `http://${env.HOST || '127.0.0.1'}:${publicPort}/api/v1/health`);
  if (stopping) return;
  [...servers.supervised, ...services.map(({ supervised }) => supervised)].forEach((supervised) =>
    supervised.keepAlive(),
  );

  tell([
    ...servers.serverLines,
    ...services.map(({ supervised, internalPort, publicPort }) => [
      supervised.name,
      `pid ${supervised.pid}, http://127.0.0.1:${internalPort}/healthz/ready${publicPort ? `, port ${publicPort}` : ''}`,
    ]),
  ]);
  printBanner({
    settings,
    port,
    dataPath: data.path,
    embedded: servers.embedded,
    seconds: (performance.now() - startedAt) / 1000,
  });
}

/** Starts the servers that no variable names. */
async function startServers(data, supervise) {
  const serverLines = [];
  const supervised = [];
  const settings = {};
  const ofItsOwn = (name, url) => serverLines.push([name, `${withoutPassword(url)}, started here`]);

  const embedded = SERVICE_NAMES.some((service) => service !== 'api-gateway' && !databaseUrlOf(service, env));
  if (embedded) {
    const postgres = await startLocalPostgres(data.postgresDir, processNames.length, () =>
      log('postgres', 'ended by itself; starts again'),
    );
    running.push(postgres);
    void postgres.exited.then(() => {
      log('postgres', 'cannot be started again; stopping');
      return stop(1);
    });
    settings.DATABASE_URL = postgres.url;
    ofItsOwn('PostgreSQL', postgres.url);
  } else serverLines.push(['PostgreSQL', 'as DATABASE_URL says']);

  let keys = {};
  if (env.NATS_URL) serverLines.push(['NATS', 'as NATS_URL says']);
  else {
    const nats = await startLocalNats(join(data.path, 'nats'), supervise);
    supervised.push(nats.server);
    settings.NATS_URL = nats.url;
    keys = { seeds: nats.seeds, edgeKey: nats.edgeKey };
    ofItsOwn('NATS', nats.url);
  }
  if (env.REDIS_URL) serverLines.push(['Redis', 'as REDIS_URL says']);
  else {
    const redis = await startLocalRedis(join(data.path, 'redis'), supervise);
    supervised.push(redis.server);
    settings.REDIS_URL = redis.url;
    ofItsOwn('Redis', redis.url);
  }
  return { settings, ...keys, supervised, serverLines, embedded };
}

async function untilReady(supervised, url) {
  for (const deadline = Date.now() + START_TIMEOUT_MS; Date.now() < deadline; await delay(100)) {
    if (stopping) return;
    if (!supervised.isRunning())
      throw new Error(`${supervised.name} ended before it was ready; its last words are above.`);
    const isReady = await fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (isReady) return;
  }
  throw new Error(`${supervised.name} was not ready within ${START_TIMEOUT_MS / 1000} s (${url}).`);
}

function tell(rows) {
  process.stdout.write(`\n${rows.map(([name, what]) => `  ${name.padEnd(16)} ${what}`).join('\n')}\n`);
}

function withoutPassword(url) {
  const shown = new URL(url);
  shown.password = '';
  return shown.href.replace(/\/$/, '');
}

/** Stops the services, the edge first, and then the servers. A second call kills the processes. */
async function stop(exitCode) {
  if (stopping) {
    processes.forEach((supervised) => supervised.kill());
    return stopping;
  }
  if (running.length > 0) process.stdout.write('\nstopping …\n');
  stopping = (async () => {
    while (running.length > 0) await running.pop().stop();
    process.exit(exitCode);
  })();
  return stopping;
}
