#!/usr/bin/env node
/**
 * Creates the secrets of docker-compose.yml, whose first container runs this, and of Kubernetes: a directory per
 * container, whose file `env` contains only the secrets of that container, and the NATS keys. Existing values are kept,
 * so it is safe to run it again. Outside the image it needs `npm ci && npm run build` before.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { SERVICE_NAMES } from '@market/contracts';

const DEPLOY = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { out: { type: 'string', default: join(DEPLOY, 'secrets') } } });
const { out } = values;
const OWNER = 'market';
/** The services that count requests together. */
const COUNTING = ['api-gateway', 'gateway'];
/** Secrets that only one service has. */
const OWN_SECRETS = { 'payments-ledger': { PAYMENTS_LEDGER_SIGNING_KEYS: randomKey } };

await mkdir(out, { recursive: true, mode: 0o700 });
await promisify(execFile)(process.execPath, [join(DEPLOY, 'nats/generate-keys.mjs'), '--out', join(out, 'nats-keys')]);
await mkdir(join(out, 'nats'), { recursive: true });
await copyFile(join(out, 'nats-keys/nats.conf'), join(out, 'nats/nats.conf'));

const databaseUsers = SERVICE_NAMES.filter((service) => service !== 'api-gateway').map((service) =>
  service.replaceAll('-', '_'),
);
const postgres = await environmentIn('postgres', {
  POSTGRES_PASSWORD: randomPassword,
  ...Object.fromEntries(databaseUsers.map((user) => [`${user.toUpperCase()}_PASSWORD`, randomPassword])),
});
await write('postgres', postgres);
const redis = await environmentIn('redis', { REDIS_PASSWORD: randomPassword });
await write('redis', redis);
await write('migrate', { DATABASE_URL: databaseUrl(OWNER, postgres.POSTGRES_PASSWORD) });
for (const service of SERVICE_NAMES) {
  const user = service.replaceAll('-', '_');
  const own = await environmentIn(service, { ENCRYPTION_KEYS: randomEncryptionKey, ...OWN_SECRETS[service] });
  await write(service, {
    ...own,
    NATS_NKEY_SEED: (await readFile(join(out, 'nats-keys/keys', `${service}.nk`), 'utf8')).trim(),
    NATS_EDGE_KEY: (await readFile(join(out, 'nats-keys/edge.pub'), 'utf8')).trim(),
    ...(databaseUsers.includes(user)
      ? { DATABASE_URL: databaseUrl(user, postgres[`${user.toUpperCase()}_PASSWORD`]) }
      : {}),
    ...(COUNTING.includes(service) ? { REDIS_URL: `redis://:${redis.REDIS_PASSWORD}@redis:6379` } : {}),
  });
}
process.stdout.write(
  `The secrets are in ${relative(process.cwd(), out) || '.'}; keep them out of version control and in your backups.\n`,
);

/** Returns the values of the file, and new values for missing ones. */
async function environmentIn(name, makers) {
  const text = await readFile(join(out, name, 'env'), 'utf8').catch(() => '');
  const kept = Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
  return { ...kept, ...Object.fromEntries(Object.entries(makers).map(([key, make]) => [key, kept[key] || make()])) };
}

async function write(name, environment) {
  const path = join(out, name, 'env');
  await mkdir(join(out, name), { recursive: true, mode: 0o700 });
  await writeFile(
    path,
    `${Object.entries(environment)
      .map((entry) => entry.join('='))
      .join('\n')}\n`,
    { mode: 0o600 },
  );
  await chmod(path, 0o600);
}

function databaseUrl(user, password) {
  return `postgres://${user}:${password}@postgres:5432/market`;
}

function randomPassword() {
  return randomBytes(24).toString('base64url');
}

function randomKey() {
  return randomBytes(32).toString('base64');
}

function randomEncryptionKey() {
  return `k1:${randomKey()}`;
}
