#!/usr/bin/env node
/**
 * What can be known of docker-compose.yml without a container engine: that it parses, that what it names exists, that
 * every container is held as tight as it can be, and that each service accepts the configuration it is given.
 * Needs `npm run build` before. With the compose plugin of Docker, that one is asked too.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@market/contracts';
import { databaseUrlOf, natsConfig, platformConfig } from '@market/runtime';
import { services as definitions } from '../apps/standalone/dist/services.js';
import { makeSecrets, PROJECT, readCompose } from './docker/compose.mjs';

/** Read by the runtime, and declared by no service. */
const READ_ELSEWHERE = ['DATABASE_URL'];
const CONDITIONS = ['service_started', 'service_healthy', 'service_completed_successfully'];
const secrets = mkdtempSync(join(tmpdir(), 'market-secrets-'));
try {
  const { services, networks, volumes } = readCompose(makeSecrets(secrets));
  const entries = Object.entries(services);

  assert.deepEqual(Object.keys(services).sort(), [...SERVICE_NAMES, 'migrate', 'nats', 'postgres', 'redis'].sort());
  assert.deepEqual(entries.filter(([, { ports }]) => ports).map(([name, { ports }]) => [name, ports]), [['api-gateway', ['3000:3000']]], 'one port is published');
  assert.equal(networks.inside.internal, true);
  assert.equal(services.migrate.restart, 'no');
  for (const [name, service] of entries) {
    assert.ok(service.security_opt.includes('no-new-privileges:true'), `${name} may gain privileges`);
    for (const network of service.networks) assert.ok(network in networks, `${name} is in ${network}, which is not declared`);
    for (const [needed, { condition }] of Object.entries(service.depends_on ?? {})) {
      assert.ok(CONDITIONS.includes(condition) && needed in services, `${name} waits for ${needed}: ${condition}`);
      if (condition === 'service_healthy') assert.ok(services[needed].healthcheck?.test, `${name} waits for the health of ${needed}, which has no check`);
    }
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(':');
      const isThere = source.startsWith('./deploy/secrets/') ? existsSync(join(secrets, source.slice('./deploy/secrets/'.length))) : source.startsWith('.') ? existsSync(join(PROJECT, source)) : source in volumes;
      assert.ok(isThere, `${name} mounts ${source}, which is not there`);
    }
    if (name !== 'migrate') assert.equal(service.restart, 'unless-stopped', `${name} does not come back`);
    if (service.build) {
      assert.deepEqual([service.user, service.read_only, service.cap_drop], ['1000:1000', true, ['ALL']], `${name} is not held tight`);
      assert.ok(existsSync(join(PROJECT, service.build.dockerfile)));
      assert.ok(existsSync(join(PROJECT, service.command[1])), `${name} runs ${service.command[1]}, which is not there`);
    }
  }

  for (const { name, config, database } of definitions) {
    const { environment, healthcheck } = services[name];
    const known = [platformConfig, natsConfig, config].flatMap(({ variables }) => Object.values(variables).map((variable) => variable.name));
    const problems = [];
    for (const definition of [platformConfig, natsConfig, config]) definition.parse(environment, problems);
    assert.deepEqual(problems, [], `${name} would not start`);
    if (database) assert.ok(databaseUrlOf(name, environment), `${name} has no database`);
    const unknown = Object.keys(environment).filter((variable) => ![...known, ...READ_ELSEWHERE].includes(variable));
    assert.deepEqual(unknown, [], `${name} is given what it does not read`);
    assert.ok(healthcheck.test.some((part) => part.includes(`:${environment.INTERNAL_PORT}/healthz/ready`)), `${name} is asked for its health elsewhere`);
  }
  console.log(`docker-compose.yml holds together: ${entries.length} services`);
  console.log(askDocker());
} finally {
  rmSync(secrets, { recursive: true });
}

function askDocker() {
  if (spawnSync('docker', ['compose', 'version']).status !== 0) return 'docker compose is not installed here, so it was not asked';
  const { status, stderr } = spawnSync('docker', ['compose', 'config', '--quiet', '--no-env-resolution'], { cwd: PROJECT, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return 'docker compose config agrees';
}
