import { SERVICE_NAMES, type ServiceName } from '@market/contracts';
import { startPostgres, type EmbeddedPostgres } from '@market/embedded-postgres';
import { natsServerConfig } from '@market/messaging';
import { createUser, type KeyPair } from '@nats-io/nkeys';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { freePort } from '../servers/free-port.js';
import { startNatsServer } from '../servers/nats-server.js';
import { startRedisServer } from '../servers/redis-server.js';
import { temporaryDirectory } from '../servers/temporary-directory.js';
import { withClient } from '../servers/with-client.js';
import { AppProcess } from './app-process.js';
import type { MarketplaceOptions, ProcessName, RunningMarketplace } from './running-marketplace.js';

/** A process a service, against servers of its own: PostgreSQL, Redis, and a NATS that holds each service to its topology. */
export async function startDistributed(env: Record<string, string>, replicas: MarketplaceOptions['replicas'] = {}): Promise<RunningMarketplace> {
  const dataDir = await temporaryDirectory('distributed');
  const users = Object.fromEntries(SERVICE_NAMES.map((service) => [service, createUser()])) as Record<ServiceName, KeyPair>;
  const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, users[service].getPublicKey()]));
  const cleanup: (() => Promise<void>)[] = [() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 })];
  const stop = async (): Promise<void> => {
    for (const step of cleanup.splice(0).reverse()) await step();
  };
  try {
    const postgres = await startPostgres({ dataDir, settings: { max_connections: '200' } });
    cleanup.push(() => postgres.stop());
    const nats = await startNatsServer({ config: (place) => natsServerConfig(publicKeys, place) });
    cleanup.push(() => nats.stop());
    const redis = await startRedisServer();
    cleanup.push(() => redis.stop());

    const port = await freePort();
    const shared = {
      DATABASE_URL: await createMarketDatabase(postgres),
      NATS_URL: nats.url,
      REDIS_URL: redis.url,
      PUBLIC_URL: `http://localhost:${port}`,
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      PORT: String(port),
      ...env,
    };
    const services = new Map<ProcessName, AppProcess>();
    for (const service of SERVICE_NAMES) {
      const NATS_NKEY_SEED = new TextDecoder().decode(users[service].getSeed());
      const count = service === 'api-gateway' ? 1 : (replicas[service] ?? 1);
      for (let n = 1; n <= count; n += 1) services.set(n === 1 ? service : `${service}#${n}`, new AppProcess({ app: service, internalPort: await freePort(), env: { ...shared, NATS_NKEY_SEED } }));
    }
    const processOf = (name: ProcessName): AppProcess => {
      const found = services.get(name);
      if (!found) throw new Error(`there is no process ${name} in a distributed marketplace`);
      return found;
    };
    cleanup.push(async () => void (await Promise.all([...services.values()].map((service) => service.stop()))));
    await Promise.all([...services.values()].map((service) => service.start()));
    return {
      mode: 'distributed',
      baseUrl: `http://127.0.0.1:${port}`,
      databaseUrl: shared.DATABASE_URL,
      processes: [...services.keys()],
      kill: (name, signal = 'SIGKILL') => processOf(name).stop(signal),
      async restart(name) {
        await processOf(name).stop();
        await processOf(name).start();
      },
      logs: (name) => processOf(name).logs(),
      pid: (name) => processOf(name).pid,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function createMarketDatabase(postgres: EmbeddedPostgres): Promise<string> {
  await withClient(postgres.url, (client) => client.query('CREATE DATABASE market'));
  return postgres.databaseUrl('market');
}
