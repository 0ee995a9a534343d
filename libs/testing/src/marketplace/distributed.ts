import { SERVICE_NAMES, type ServiceName } from '@market/contracts';
import { edgePublicKey, natsPublicKeys, natsServerConfig } from '@market/messaging';
import { createUser } from '@nats-io/nkeys';
import { randomBytes } from 'node:crypto';
import { freePort, type NatsServer, startNatsServer, startRedisServer } from '@market/test-servers';
import { PostgresServer } from './postgres-server.js';
import { AppProcess } from './app-process.js';
import type { MarketplaceOptions, ProcessName, RunningMarketplace } from './running-marketplace.js';

/**
 * Starts one process for each service, with separate servers: PostgreSQL, Redis, and a NATS that restricts each service
 * to its topology.
 */
export async function startDistributed(
  env: Record<string, string>,
  {
    replicas = {},
    traceBus = false,
    databaseThrough = async (url) => url,
  }: Pick<MarketplaceOptions, 'replicas' | 'traceBus' | 'databaseThrough'> = {},
): Promise<RunningMarketplace> {
  const cleanup: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of cleanup.splice(0).reverse()) await step();
  };
  try {
    const seeds = Object.fromEntries(
      SERVICE_NAMES.map((service) => [service, new TextDecoder().decode(createUser().getSeed())]),
    ) as Record<ServiceName, string>;
    const publicKeys = Object.fromEntries(SERVICE_NAMES.map((service) => [service, natsPublicKeys(seeds[service])]));
    const postgres = await PostgresServer.start();
    cleanup.push(() => postgres.remove());
    const nats = await startNatsServer({
      config: (place) => natsServerConfig(publicKeys, place) + (traceBus ? 'trace: true\n' : ''),
    });
    cleanup.push(() => nats.stop());
    const redis = await startRedisServer();
    cleanup.push(() => redis.stop());

    const ports = await Promise.all(Array.from({ length: replicas['api-gateway'] ?? 1 }, freePort));
    const edgeUrls = ports.map((port) => `http://127.0.0.1:${port}`);
    const databaseUrl = await postgres.createDatabase('market');
    const shared = {
      DATABASE_URL: await databaseThrough(databaseUrl),
      NATS_URL: nats.url,
      NATS_EDGE_KEY: edgePublicKey(seeds['api-gateway']),
      REDIS_URL: redis.url,
      PUBLIC_URL: `http://localhost:${ports[0]}`,
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
      ...env,
    };
    const services = new Map<ProcessName, AppProcess>();
    for (const service of SERVICE_NAMES) {
      const NATS_NKEY_SEED = seeds[service];
      for (let n = 1; n <= (replicas[service] ?? 1); n += 1)
        services.set(
          n === 1 ? service : `${service}#${n}`,
          new AppProcess({
            app: service,
            internalPort: await freePort(),
            env: { PORT: String(ports[n - 1] ?? ports[0]), ...shared, NATS_NKEY_SEED },
          }),
        );
    }
    const servers = new Map<ProcessName, Pick<NatsServer, 'kill' | 'restart'>>([
      ['postgres', postgres],
      ['nats', nats],
      ['redis', redis],
    ]);
    const processOf = (name: ProcessName): AppProcess => {
      const found = services.get(name);
      if (!found) throw new Error(`there is no process ${name} in a distributed marketplace`);
      return found;
    };
    cleanup.push(() => Promise.all([...services.values()].map((service) => service.stop())));
    await Promise.all([...services.values()].map((service) => service.start()));
    return {
      mode: 'distributed',
      baseUrl: edgeUrls[0]!,
      edgeUrls,
      databaseUrl,
      processes: [...services.keys()],
      async kill(name, signal = 'SIGKILL') {
        const server = servers.get(name);
        if (!server) return processOf(name).stop(signal);
        await server.kill(signal);
        return null;
      },
      async restart(name, changes) {
        const server = servers.get(name);
        if (server) return server.restart();
        await processOf(name).stop();
        await processOf(name).start(changes);
      },
      redisUrl: redis.url,
      logs: (name) => (name === 'nats' ? nats.logs() : processOf(name).logs()),
      pid: (name) => processOf(name).pid,
      internalUrl: (name) => processOf(name).internalUrl,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
