/** The second half of check-image.mjs, in a network and a process namespace of its own: every port is free here. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@market/contracts';
import { startPostgres } from '@market/embedded-postgres';
import { answersOn, eventually, findProgram, startOwnProcess, withClient } from '@market/testing';
import { makeSecrets, PROJECT, readCompose } from './compose.mjs';
import { entering } from './dockerfile.mjs';

const image = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const work = mkdtempSync(join(tmpdir(), 'market-containers-'));
const running = [];
execFileSync('ip', ['link', 'set', 'lo', 'up']);
try {
  await standaloneRuns();
  await composeRuns();
} finally {
  for (const process of running.reverse()) await process.stop();
  rmSync(work, { recursive: true, force: true });
}

async function standaloneRuns() {
  const standalone = container(image.command, { ALLOW_PRIVATE_ENDPOINTS: 'true' });
  await isHealthy(standalone, 'http://127.0.0.1:3000/api/v1/health');
  makeCall();
  assert.equal(await standalone.stop('SIGTERM'), 0, 'standalone did not end in order');
  console.log('standalone: made a paid call and ended in order, on a root that cannot be written, as', image.user);
}

async function composeRuns() {
  const secrets = makeSecrets(join(work, 'secrets'));
  const { services } = readCompose(secrets, { ALLOW_PRIVATE_ENDPOINTS: 'true' });
  await startDatabase(services.postgres.environment);
  await startBroker(secrets);
  await startRedis(services.redis.command);

  const { command, environment } = services.migrate;
  for (const expected of [/identity +ran CreateMessaging/, /identity +is up to date/]) {
    const migrate = container(command, environment);
    assert.equal(await migrate.ended, 0, migrate.output());
    assert.match(migrate.output(), expected);
  }

  const containers = SERVICE_NAMES.map((name, index) => {
    // Containers have a network each and all listen on 9090; here they share one.
    const port = 9100 + index;
    return { url: `http://127.0.0.1:${port}/healthz/ready`, process: container(services[name].command, { ...services[name].environment, INTERNAL_PORT: String(port) }) };
  });
  await Promise.all(containers.map(({ process, url }) => isHealthy(process, url)));
  makeCall();
  await assertApart(services);
  for (const { process } of containers.reverse()) assert.equal(await process.stop('SIGTERM'), 0, process.output());
  console.log('compose: migrated, started six services as configured, made a paid call, kept the schemas apart, ended in order');
}

/** What the image's entry point does with its environment and its folder of scripts. */
async function startDatabase(environment) {
  const postgres = await startPostgres({ dataDir: join(work, 'postgres'), port: 5432, settings: { max_connections: '200' } });
  running.push(postgres);
  const { POSTGRES_USER: owner, POSTGRES_DB: database, POSTGRES_PASSWORD: password } = environment;
  await withClient(postgres.url, async (client) => {
    await client.query(`CREATE ROLE ${owner} SUPERUSER LOGIN PASSWORD '${password}'`);
    await client.query(`CREATE DATABASE ${database} OWNER ${owner}`);
  });
  const script = join(PROJECT, 'deploy/docker/postgres/10-logins.sql');
  const url = `postgres://${owner}:${password}@127.0.0.1:5432/${database}`;
  execFileSync(findProgram('psql', 'postgresql-client'), ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', `--file=${script}`, url], { env: { ...process.env, ...environment } });
}

/** With the keys and permissions of compose; its store is elsewhere here, and Debian's server knows no `sync_interval`. */
async function startBroker(secrets) {
  const script = join(PROJECT, 'deploy/nats/generate-keys.mjs');
  execFileSync(process.execPath, [script, '--out', join(secrets, 'nats'), '--store-dir', join(work, 'jetstream'), '--before-2.10']);
  const nats = startOwnProcess(findProgram('nats-server', 'nats-server'), ['--config', join(secrets, 'nats/nats.conf')]);
  running.push(nats);
  await answersOn(4222, nats, { greeting: /^INFO / });
}

async function startRedis([program, ...args]) {
  const redis = startOwnProcess(findProgram(program, program), args, { cwd: work });
  running.push(redis);
  await answersOn(6379, redis, { hello: 'PING\r\n', greeting: /^\+PONG/ });
}

/** The logins of compose reach their own schema and no other, also when they ask for another's role. */
async function assertApart(services) {
  const gateway = services.gateway.environment.DATABASE_URL.replace('@postgres:', '@127.0.0.1:');
  await withClient(gateway, async (client) => {
    await assert.rejects(client.query('SELECT * FROM identity.accounts'), /permission denied/);
    await assert.rejects(client.query('SET ROLE market_identity'), /permission denied/);
    await client.query('SET ROLE market_gateway');
    await client.query('SELECT count(*) FROM gateway.endpoints');
  });
}

function container(command, environment) {
  const [file, ...args] = entering(image, command);
  const started = startOwnProcess(file, args, { env: { PATH: process.env.PATH, ...image.env, ...environment } });
  running.push(started);
  return started;
}

async function isHealthy(container, url) {
  await eventually(
    async () => {
      if (container.isRunning()) assert.ok((await fetch(url)).ok);
    },
    { withinMs: 60_000, everyMs: 100 },
  ).catch((cause) => {
    throw new Error(`${url} did not become ready:\n${container.output()}`, { cause });
  });
  if (!container.isRunning()) throw new Error(`ended at once:\n${container.output()}`);
}

function makeCall() {
  execFileSync(process.execPath, [join(PROJECT, 'deploy/smoke-call.mjs')], { env: { ...process.env, BASE_URL: 'http://127.0.0.1:3000' } });
}
