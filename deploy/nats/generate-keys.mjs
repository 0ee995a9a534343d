#!/usr/bin/env node
/**
 * Gives each service its own NATS users and writes the broker's configuration, in which each may publish and subscribe to
 * exactly what its topology declares, and the operator may look at the stream of events and change it. `edge.pub` is the
 * key by which services know for whom the edge asks. Keys that exist are kept: run it again after an upgrade, and delete
 * a key's file first to replace that key. Needs `npm run build` before.
 */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { SERVICE_NAMES } from '@market/contracts';
import { edgePublicKey, natsPublicKeys, natsServerConfig } from '@market/messaging';
import { createUser, fromSeed } from '@nats-io/nkeys';

const USAGE = `node deploy/nats/generate-keys.mjs [options]
  --out <directory>        where keys/ and nats.conf are written (beside this script)
  --host <address>         the broker listens on (0.0.0.0)
  --port <port>            (4222)
  --monitor-port <port>    for its own /healthz (8222)
  --store-dir <directory>  where the broker keeps events (/data/jetstream)
  --before-2.10            for nats-server 2.9, which does not know how to sync every event to disk before it says so
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: dirname(fileURLToPath(import.meta.url)) },
    host: { type: 'string', default: '0.0.0.0' },
    port: { type: 'string', default: '4222' },
    'monitor-port': { type: 'string', default: '8222' },
    'store-dir': { type: 'string', default: '/data/jetstream' },
    'before-2.10': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) process.stdout.write(USAGE);
else await generate();

async function generate() {
  const keys = join(values.out, 'keys');
  await mkdir(keys, { recursive: true, mode: 0o700 });
  const seeds = {};
  for (const service of SERVICE_NAMES) seeds[service] = await seedIn(join(keys, `${service}.nk`));
  const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service])]));
  const operator = fromSeed(Buffer.from(await seedIn(join(keys, 'operator.nk'))));
  const edgeKey = edgePublicKey(seeds['api-gateway']);
  await writeFile(join(values.out, 'edge.pub'), `${edgeKey}\n`);
  const config = natsServerConfig(publicKeys, {
    host: values.host,
    port: Number(values.port),
    monitorPort: Number(values['monitor-port']),
    storeDir: values['store-dir'],
    syncAlways: !values['before-2.10'],
    operatorKey: operator.getPublicKey(),
  });
  await writeFile(
    join(values.out, 'nats.conf'),
    `# Made by deploy/nats/generate-keys.mjs; holds public keys only.\n${config}`,
  );
  process.stdout.write(
    `${join(values.out, 'nats.conf')} and ${SERVICE_NAMES.length + 1} keys in ${keys}; give each service its own ` +
      `as NATS_NKEY_SEED, and all of them NATS_EDGE_KEY=${edgeKey}; operator.nk is yours\n`,
  );
}

/** Returns the seed in this file, and creates it if necessary. */
async function seedIn(path) {
  try {
    const seed = (await readFile(path, 'utf8')).trim();
    fromSeed(Buffer.from(seed));
    return seed;
  } catch (error) {
    if (error.code !== 'ENOENT') throw new Error(`${path} holds no usable key`, { cause: error });
  }
  const seed = Buffer.from(createUser().getSeed()).toString();
  await writeFile(path, `${seed}\n`, { mode: 0o600, flag: 'wx' });
  await chmod(path, 0o600);
  return seed;
}
