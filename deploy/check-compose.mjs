#!/usr/bin/env node
/**
 * Checks docker-compose.yml without running it: each container is restricted, only the edge is published, and each
 * service gets only its own secrets and accepts its configuration. With an embedded PostgreSQL it checks that the
 * logins can migrate and access only their own schema. Needs `npm run build` before.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { SERVICE_NAMES } from '@market/contracts';
import { startPostgres } from '@market/embedded-postgres';
import { databaseUrlOf, natsConfig, platformConfig } from '@market/runtime';
import { temporaryDirectory, withClient } from '@market/testing';
import { makeLogins } from './compose-logins.mjs';
import { readCompose } from './local/read-compose.mjs';
import { services as definitions } from '../apps/standalone/dist/services.js';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const read = (path) => readFileSync(join(PROJECT, path), 'utf8');
const work = await temporaryDirectory('compose');
const secrets = join(work, 'secrets');
execFileSync(process.execPath, [join(PROJECT, 'deploy/local/make-env.mjs'), '--out', secrets]);

const { services, networks } = readCompose(read('docker-compose.yml'));
const environmentOf = (name) => ({
  ...parseEnv(readFileSync(join(secrets, name, 'env'), 'utf8')),
  ...services[name].environment,
});

try {
  holdsTight();
  for (const definition of definitions) acceptsItsConfiguration(definition);
  await keepsSchemasApart();
  console.log(`docker-compose.yml holds what it promises: ${Object.keys(services).length} services`);
} finally {
  rmSync(work, { recursive: true });
}

function holdsTight() {
  assert.deepEqual(
    Object.keys(services).sort(),
    [...SERVICE_NAMES, 'make-secrets', 'migrate', 'nats', 'postgres', 'redis'].sort(),
  );
  assert.deepEqual(
    Object.values(services).flatMap(({ ports = [] }) => ports),
    services['api-gateway'].ports,
  );
  assert.deepEqual(services['api-gateway'].ports, ['3000:3000']);
  // These keys would prevent `--scale <service>=<n>`.
  for (const [name, service] of Object.entries(services))
    for (const key of ['container_name', 'hostname', 'deploy'])
      assert.equal(service[key], undefined, `${name}: ${key}`);
  assert.equal(networks.inside.internal, true);
  for (const [name, service] of Object.entries(services)) {
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
    assert.ok(service.image && !/:latest$/.test(service.image), `${name} runs ${service.image}`);
    for (const { source, volume, read_only } of (service.volumes ?? []).filter(({ source }) => source === 'secrets'))
      assert.deepEqual([source, volume.subpath, read_only], ['secrets', name, true]);
    // All services except the edge, which has the only published port, can be scaled: docker compose up --scale
    // gateway=3.
    assert.equal(service.container_name, undefined);
    if (!service.build) continue;
    assert.deepEqual([service.user, service.read_only, service.cap_drop], ['1000:1000', true, ['ALL']], name);
    const paths = [service.build.dockerfile, ...(service.command[0] === 'node' ? [service.command[1]] : [])];
    for (const path of paths) assert.ok(existsSync(join(PROJECT, path)), path);
  }
}

function acceptsItsConfiguration({ name, config, database }) {
  const environment = environmentOf(name);
  const problems = [];
  for (const definition of [platformConfig, natsConfig, config]) definition.parse(environment, problems);
  assert.deepEqual(problems, [], `${name} would not start`);
  assert.equal(Boolean(databaseUrlOf(name, environment)), Boolean(database), name);
  const known = [platformConfig, natsConfig, config].flatMap(({ variables }) =>
    Object.values(variables).map((variable) => variable.name),
  );
  for (const variable of Object.keys(environment))
    assert.ok([...known, 'DATABASE_URL', 'PAYMENTS_PRESET'].includes(variable), `${name} does not read ${variable}`);
  assert.match(services[name].healthcheck.test.join(' '), new RegExp(`:${environment.INTERNAL_PORT}/healthz/ready`));
}

async function keepsSchemasApart() {
  const postgres = await startPostgres({ dataDir: join(work, 'postgres') });
  const here = (url) => Object.assign(new URL(url), { host: new URL(postgres.url).host }).href;
  try {
    await makeLogins(postgres, environmentOf('postgres'));
    const migration = { DATABASE_URL: here(environmentOf('migrate').DATABASE_URL) };
    execFileSync(process.execPath, [join(PROJECT, 'apps/standalone/bin/market-admin.mjs'), 'migrate'], {
      env: migration,
    });
    for (const { name } of definitions.filter((definition) => definition.database)) {
      const own = name.replaceAll('-', '_');
      const other = own === 'identity' ? 'catalog' : 'identity';
      await withClient(here(environmentOf(name).DATABASE_URL), async (client) => {
        await assert.rejects(client.query(`SET ROLE market_${other}`), /permission denied/);
        await client.query(`SET ROLE market_${own}`);
        await client.query(`SELECT count(*) FROM ${own}.outbox`);
        await assert.rejects(client.query(`SELECT count(*) FROM ${other}.outbox`), /permission denied/);
      });
    }
  } finally {
    await postgres.stop();
  }
}
