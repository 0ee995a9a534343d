import { topology, type ServiceName } from '@market/contracts';
import { newId } from '@market/kernel';
import { assertContractServed, MessageBus, serveRequests, type Link, type Transport } from '@market/messaging';
import {
  Database,
  deleteExpired,
  migrate,
  Outbox,
  OutboxRelay,
  FieldCipher,
  schemaState,
  type DatabaseDefinition,
} from '@market/persistence';
import { startTracing } from '@market/tracing';
import type { INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { MicroserviceOptions, NestMicroservice } from '@nestjs/microservices';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { setTimeout as delay } from 'node:timers/promises';
import { attachConsumers, instancesOf } from './attach-consumers.js';
import { closeEdge } from './close-edge.js';
import type { ConfigOf, Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { HealthServer, NotReady } from './health.js';
import { Jobs } from './jobs.js';
import { PinoLogger } from './logger.js';
import type { platformConfig } from './platform-config.js';
import { claimPaymentsMode } from './payments-mode.js';
import { processInfo, VERSION } from './process-info.js';
import { PlatformModule } from './platform.module.js';
import { misspeltIn, readConfiguration } from './read-configuration.js';

export interface RunningProcess {
  /** Port of the public edge, if this process runs it. */
  httpPort: number | undefined;
  internalPort: number | undefined;
  /** The longest that a stop may take. */
  stopTimeoutMs: number;
  /** Finishes work in progress and stops in the order edge, events, services, databases. */
  stop(): Promise<void>;
}

/** A service that runs in this process. */
export interface StartedService {
  definition: ServiceDefinition;
  config: unknown;
  link: Link;
  database: Database | undefined;
  relay: OutboxRelay | undefined;
  jobs: Jobs;
  app: INestMicroservice | NestFastifyApplication;
}

/** The part of the time for a stop after which the edge closes connections that have requests in progress. */
const EDGE_SHARE = 0.9;

/** For how long a process without a connection to the broker is still ready. */
const BUS_GRACE_MS = 2_000;
const MIGRATED_POLL_MS = 1_000;
const PRUNE_INTERVAL_MS = 10 * 60_000;

/**
 * Starts services in one process. Each gets its own container, database connections and bus connection. The whole
 * configuration is checked before anything starts. Consumers are ready before the first event is relayed, and all
 * services are ready before the edge accepts its first request.
 */
export async function runProcess(
  definitions: ServiceDefinition[],
  transport: Transport,
  env: Environment,
): Promise<RunningProcess> {
  const { platform, configs, databaseUrls } = readConfiguration(definitions, env);
  if (platform.migrateOnStart) {
    for (const { name, database } of definitions) if (database) await migrate(database, databaseUrls.get(name)!);
  }
  const databases = new Map<ServiceName, Database>();
  const started: StartedService[] = [];
  const health = new HealthServer();
  // Nest has one logger for each process, so the lines of several services in one process have the process's name.
  const processName = definitions.length === 1 ? definitions[0]!.name : 'marketplace';
  const logger = new PinoLogger(processName, platform.logLevels);
  for (const sentence of misspeltIn(env, definitions)) logger.warn(sentence, 'Configuration');
  const { tracesEndpoint: endpoint, tracesHeaders: headers, tracesRatio: ratio } = platform;
  const stopTracing =
    endpoint !== undefined &&
    startTracing({
      endpoint,
      headers,
      ratio,
      resource: {
        'service.namespace': 'agent-marketplace',
        'service.name': processName,
        'service.instance.id': newId(),
      },
      warn: (message) => logger.warn(message, 'Tracing'),
    });
  const stopTimeoutMs = platform.stopTimeoutSeconds * 1_000;
  const stop = async (): Promise<void> => {
    health.ready = false;
    for (const { app } of started.filter(({ definition }) => definition.http))
      await closeEdge(app, (app as NestFastifyApplication).getHttpServer(), {
        delayMs: platform.stopDelaySeconds * 1_000,
        // What remains is for the work of the other services, if they are in this process.
        timeoutMs: stopTimeoutMs * EDGE_SHARE,
      });
    await Promise.all(started.map((service) => service.jobs.stop()));
    await Promise.all(started.map((service) => service.relay?.stop()));
    for (const service of started.filter(({ definition }) => !definition.http).reverse()) await service.app.close();
    await transport.close();
    await Promise.all([...databases.values()].map((database) => database.close()));
    await health.close();
    if (stopTracing) await stopTracing();
  };
  try {
    const internalPort =
      platform.internalPort === undefined
        ? undefined
        : await health.listen(platform.internalHost, platform.internalPort);
    for (const { name, database } of definitions)
      if (database) await untilMigrated(name, database, databaseUrls.get(name)!, health, logger);
    for (const { name, database } of definitions)
      if (database)
        databases.set(
          name,
          await Database.open(database, {
            url: databaseUrls.get(name)!,
            poolSize: platform.databasePoolSize,
            pooling: platform.databasePooling,
          }),
        );
    await claimPaymentsMode(databases, platform.paymentsMode);
    for (const definition of definitions)
      started.push(
        await startService(
          definition,
          transport,
          platform,
          logger,
          configs.get(definition.name),
          databases.get(definition.name),
        ),
      );
    started.forEach((service) => service.relay?.start());
    let httpPort: number | undefined;
    for (const { definition, app, config } of started) {
      if (!definition.http) continue;
      const { host, port } = definition.http.address(config);
      // app.listen() is not used, because it logs a failure that is thrown as well.
      await (app as NestFastifyApplication).getHttpAdapter().getInstance().listen({ port, host });
      httpPort = ((app as NestFastifyApplication).getHttpServer().address() as { port: number }).port;
    }
    for (const { definition, database } of started)
      if (database) health.checks[definition.name] = async () => assertNone(await database.problem());
    health.checks.bus = async () => assertNone(lostConnection(started));
    health.ready = true;
    for (const { name } of definitions)
      processInfo.set({ service: name, version: VERSION, node_version: process.version }, 1);
    logger.log(
      {
        msg: 'started',
        version: VERSION,
        node_version: process.version,
        services: definitions.map(({ name }) => name),
        payments_mode: platform.paymentsMode,
        http_port: httpPort,
        internal_port: internalPort,
      },
      'Process',
    );
    return { httpPort, internalPort, stopTimeoutMs, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

/**
 * Waits until somebody else has brought the schema up to date, so that processes of a new version may start beside its
 * migration. Meanwhile the process is not ready, and says why.
 */
async function untilMigrated(
  name: ServiceName,
  database: DatabaseDefinition,
  url: string,
  health: HealthServer,
  logger: PinoLogger,
): Promise<void> {
  let said: string | undefined;
  // Node as the first process of a container would ignore it.
  const leave = (): void => process.exit(0);
  process.once('SIGTERM', leave);
  for (;;) {
    const { problem, isMigrated } = await schemaState(database, url);
    delete health.checks[name];
    if (problem === null) return void process.off('SIGTERM', leave);
    health.checks[name] = () => Promise.reject(new NotReady(problem));
    if (problem !== said)
      logger.error(
        `${name} waits: ${problem}; ${isMigrated ? 'restore it from a backup' : 'run market-admin migrate'}`,
        'Process',
      );
    said = problem;
    await delay(MIGRATED_POLL_MS);
  }
}

/** A process that cannot reach the broker does no work. A short loss of the connection is no reason to move its traffic. */
function lostConnection(services: StartedService[]): string | null {
  const lostBefore = Date.now() - BUS_GRACE_MS;
  return services.some(({ link }) => link.disconnectedSince !== null && link.disconnectedSince < lostBefore)
    ? 'NATS cannot be reached'
    : null;
}

function assertNone(problem: string | null): void {
  if (problem !== null) throw new NotReady(problem);
}

export async function startService(...service: ServiceParts): Promise<StartedService> {
  const jobs = new Jobs();
  try {
    return await startWith(jobs, ...service);
  } catch (error) {
    // Nobody can stop the jobs of a service that was not returned.
    await jobs.stop();
    throw error;
  }
}

type ServiceParts = [
  definition: ServiceDefinition,
  transport: Transport,
  platform: ConfigOf<typeof platformConfig>,
  logger: PinoLogger,
  config: unknown,
  database: Database | undefined,
];

async function startWith(
  jobs: Jobs,
  ...[definition, transport, platform, logger, config, database]: ServiceParts
): Promise<StartedService> {
  const declared = topology[definition.name];
  const link = await transport.connect(definition.name, declared);
  const outbox = new Outbox();
  if (database) jobs.every('delete-expired', PRUNE_INTERVAL_MS, () => deleteExpired(database));
  const root = PlatformModule.under(definition.module, {
    service: definition.name,
    bus: new MessageBus(link, declared),
    database,
    cipher: new FieldCipher(platform.encryptionKeys),
    outbox,
    jobs,
    config: { definition: definition.config, value: config },
    platformConfig: platform,
  });
  let app: StartedService['app'];
  if (definition.http) {
    const edge = await NestFactory.create<NestFastifyApplication>(root, definition.http.adapter(config), {
      logger,
      abortOnError: false,
    });
    await definition.http.configure(edge, config);
    await edge.init();
    await jobs.prepare();
    app = edge;
  } else {
    const service = await NestFactory.createMicroservice<MicroserviceOptions>(root, {
      strategy: link.server,
      logger,
      abortOnError: false,
    });
    // In Nest 12, init() calls the hooks of a microservice twice unless this flag is set.
    (service as NestMicroservice).setIsInitHookCalled(true);
    await service.init();
    serveRequests(link.server, instancesOf(service));
    await jobs.prepare();
    await service.listen();
    assertContractServed(definition.name, link.server, declared.serves);
    app = service;
  }
  await attachConsumers(app, definition.name, link, database, jobs);
  return { definition, config, link, database, relay: database && new OutboxRelay(database, outbox, link), jobs, app };
}
