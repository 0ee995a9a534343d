#!/usr/bin/env node
/**
 * Upgrades every process of a distributed marketplace from the previous release to this build and back while paid calls
 * run: no request fails, and every call is charged once. Before that, the new migrations run beside the old processes
 * (expand), and released migrations must be unchanged. The previous release is the newest tag `v*` before this commit.
 * Without such a tag it is this commit, built from git, and instead of new migrations every table gets another column.
 * Needs `npm ci && npm run build` before, nats-server and redis-server.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SERVICE_NAMES } from '@market/contracts';
import { startPostgres } from '@market/embedded-postgres';
import { edgePublicKey, natsPublicKeys, natsServerConfig } from '@market/messaging';
import { evmWallet, Marketplace } from '@market/sdk';
import { sellerServer } from '@market/sdk/seller';
import {
  eventually,
  freePort,
  startNatsServer,
  startOwnProcess,
  startRedisServer,
  temporaryDirectory,
  withClient,
} from '@market/testing';
import { createUser } from '@nats-io/nkeys';

const NEW = fileURLToPath(new URL('..', import.meta.url));
const BUYERS = 4;
/** The pause between two processes, so that calls are made with each combination of versions. */
const PAUSE_MS = 500;
const work = await temporaryDirectory('upgrade');
const OLD = join(work, 'previous');
const run = (program, args, options) =>
  execFileSync(program, args, { cwd: NEW, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], ...options }).trim();
const git = (...args) => run('git', args);
const tags = git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n');
const previous = tags[0] || 'HEAD';
const cleanup = [() => rmSync(work, { recursive: true, force: true, maxRetries: 5 })];

try {
  const changed = git(
    'diff',
    '--name-status',
    previous,
    '--',
    'apps/*/src/migrations',
    'libs/persistence/src/migrations',
  );
  assert.doesNotMatch(changed, /^[^A]/m, 'a migration that was released is changed by a further one, never in place');
  buildPrevious();

  const seeds = Object.fromEntries(
    SERVICE_NAMES.map((service) => [service, new TextDecoder().decode(createUser().getSeed())]),
  );
  const keys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service])]));
  const postgres = await startPostgres({ dataDir: join(work, 'postgres'), settings: { max_connections: '300' } });
  cleanup.push(() => postgres.stop());
  // The broker gets the new subjects first.
  const nats = await startNatsServer({ config: (place) => natsServerConfig(keys, place) });
  cleanup.push(() => nats.stop());
  const redis = await startRedisServer();
  cleanup.push(() => redis.stop());
  await withClient(postgres.url, (client) => client.query('CREATE DATABASE market'));
  const environment = {
    PATH: process.env.PATH,
    DATABASE_URL: postgres.databaseUrl('market'),
    NATS_URL: nats.url,
    NATS_EDGE_KEY: edgePublicKey(seeds['api-gateway']),
    REDIS_URL: redis.url,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
    MIGRATE_ON_START: 'false',
    ALLOW_PRIVATE_ENDPOINTS: 'true',
    REGISTRATION_POW_DIFFICULTY: '1',
    RATE_LIMITS: 'registrations=1000/1,writes=1000000/1,retries=1000000/60,calls=1000000/60',
    LOG_LEVEL: 'warn',
  };
  const migrate = (release) =>
    run(process.execPath, [join(release, 'apps/standalone/bin/market-admin.mjs'), 'migrate'], { env: environment });
  const start = async (release, service) => {
    const [port, internalPort] = [await freePort(), await freePort()];
    const running = startOwnProcess(process.execPath, [join(release, `apps/${service}/dist/main.js`)], {
      env: {
        ...environment,
        PORT: String(port),
        INTERNAL_PORT: String(internalPort),
        NATS_NKEY_SEED: seeds[service],
      },
    });
    cleanup.push(() => running.stop('SIGKILL'));
    await eventually(
      async () => {
        assert.ok(running.isRunning(), running.output());
        assert.ok((await fetch(`http://127.0.0.1:${internalPort}/healthz/ready`)).ok);
      },
      { withinMs: 120_000, everyMs: 100 },
    );
    return { ...running, url: `http://127.0.0.1:${port}` };
  };

  migrate(OLD);
  const processes = {};
  for (const service of SERVICE_NAMES) processes[service] = await start(OLD, service);
  const load = await sellAndBuy(() => processes['api-gateway'].url);
  cleanup.push(() => load.stop());
  await eventually(() => assert.ok(load.calls > BUYERS * 5), { withinMs: 60_000 });

  migrate(NEW);
  if (previous === 'HEAD') await addColumns(environment.DATABASE_URL);
  console.log(`expanded beside ${previous} (${git('rev-parse', '--short', previous)}): ${load.calls} calls`);
  for (const [release, name] of [
    [NEW, 'this build'],
    [OLD, previous],
  ]) {
    for (const service of SERVICE_NAMES) {
      const before = load.calls;
      // The new process is tested beside the old one; the load goes to the edge that is named here.
      const old = processes[service];
      processes[service] = await start(release, service);
      assert.equal(await old.stop('SIGTERM', 40_000), 0, `${service} did not end in order: ${old.output()}`);
      await delay(PAUSE_MS);
      await eventually(() => assert.ok(load.calls > before), { withinMs: 20_000 });
    }
    console.log(`every process is of ${name}: ${load.calls} calls, ${load.failures.length} failed`);
  }
  await load.stop();
  assert.deepEqual(load.failures, []);
  await isChargedOnce(load, environment);
} finally {
  for (const step of cleanup.reverse()) await step();
}

/** Builds the previous release from git, with the packages of this checkout if they are the same. */
function buildPrevious() {
  git('worktree', 'add', '--detach', OLD, previous);
  cleanup.push(() => git('worktree', 'remove', '--force', OLD));
  if (git('diff', '--name-only', previous, '--', 'package-lock.json') === '') {
    run('cp', ['-al', 'node_modules', OLD]);
    // The cache is not shared, because a build may write into its files.
    run('rm', ['-rf', join(OLD, 'node_modules/.cache')]);
    for (const nested of run('find', ['apps', 'libs', '-maxdepth', '2', '-name', 'node_modules'])
      .split('\n')
      .filter(Boolean))
      run('cp', ['-al', nested, join(OLD, nested)]);
  } else run('npm', ['ci', '--no-progress'], { cwd: OLD });
  run('npm', ['run', '-s', 'build'], { cwd: OLD });
}

/** Does what the smallest additive migration of every service would do. */
async function addColumns(url) {
  await withClient(url, async (client) => {
    const { rows } = await client.query(
      `SELECT format('ALTER TABLE %s ADD COLUMN of_next_release text DEFAULT ''new''', oid::regclass) AS statement FROM pg_class
       WHERE relnamespace::regnamespace::text IN ('identity', 'catalog', 'payments_ledger', 'gateway', 'reputation')
         AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'`,
    );
    for (const { statement } of rows) await client.query(statement);
  });
}

/** Starts a seller, and buyers who quote, pay and call in sequence without retries. */
async function sellAndBuy(edgeUrl) {
  const visitor = new Marketplace({ baseUrl: edgeUrl() });
  const { marketplace: seller } = await visitor.register(evmWallet());
  let secret = [];
  const delivered = [];
  const server = await sellerServer(
    ({ body, call }) => {
      if (call.event === 'gateway.call') delivered.push(call.requestId);
      return body;
    },
    { secret: () => secret },
  );
  const listing = await seller.listings.create({
    name: 'Echo',
    description: 'Says again what it was told.',
    pricing_model: 'per_call',
    pricing_amount: 0.25,
    private_endpoint_url: server.url,
  });
  secret = listing.gateway_signing_secret;
  const failures = [];
  const load = { calls: 0, failures, delivered, listing };
  let isOver = false;
  const buyers = Array.from({ length: BUYERS }, async (_, buyer) => {
    const { registration } = await visitor.register(evmWallet());
    const post = async (expected, path, body, headers = {}) => {
      const response = await fetch(`${edgeUrl()}/api/v1/${path}`, {
        method: 'POST',
        headers: { authorization: registration.authorization_header, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (response.status !== expected) throw new Error(`${path}: ${response.status} ${text}`);
      return JSON.parse(text).data;
    };
    for (let n = 0; !isOver; n += 1) {
      try {
        const body = { buyer, n };
        const { payment } = await post(402, `gateway/${listing.id}`, body);
        const id = payment.relay_request_id;
        await post(200, `sandbox/payments/${id}/pay`, {});
        const answer = await post(200, `gateway/${listing.id}`, body, { 'X-Market-Relay-Request-Id': id });
        assert.deepEqual([answer.billable, answer.seller_response], [true, body]);
        load.calls += 1;
      } catch (error) {
        failures.push(`${error.message} ${error.cause ?? ''}`);
      }
    }
  });
  load.stop = async () => {
    isOver = true;
    await Promise.all(buyers);
    await server.close();
    load.stop = () => undefined;
  };
  return load;
}

async function isChargedOnce({ calls, delivered, listing }, env) {
  const { rows } = await withClient(env.DATABASE_URL, (client) =>
    client.query(
      "SELECT gateway_request_id AS id FROM payments_ledger.payments WHERE listing_id = $1 AND state = 'completed'",
      [listing.id],
    ),
  );
  assert.deepEqual(rows.map(({ id }) => id).sort(), delivered.toSorted());
  assert.equal(rows.length, calls);
  const books = run(process.execPath, [join(NEW, 'apps/standalone/bin/market-admin.mjs'), 'books', 'verify'], { env });
  assert.equal(books, 'the books add up');
  console.log(`${calls} calls were delivered and charged once each, and ${books}`);
}
