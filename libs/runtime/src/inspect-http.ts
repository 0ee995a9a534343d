import { topology } from '@market/contracts';
import { inProcessTransport, MessageBus } from '@market/messaging';
import { Outbox, FieldCipher } from '@market/persistence';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { Jobs } from './jobs.js';
import { PlatformModule } from './platform.module.js';
import { readConfiguration } from './read-configuration.js';

export interface InspectedHttp {
  /** All routes, as the framework writes them: `GET /api/v1/listings/:listingId`. */
  routes: string[];
  /** Returns the body of an answer to GET. */
  get(path: string): Promise<string>;
}

/** Inspects a service's HTTP interface as it would be served, without a port, a database or other services. */
export async function inspectHttp<T>(
  { http, ...definition }: ServiceDefinition,
  env: Environment,
  look: (http: InspectedHttp) => Promise<T>,
): Promise<T> {
  if (!http) throw new Error(`${definition.name} has no HTTP interface`);
  const { platform, configs } = readConfiguration([definition], env, { needsEncryptionKeys: false });
  const config = configs.get(definition.name);
  const declared = topology[definition.name];
  const transport = inProcessTransport();
  const jobs = new Jobs();
  await jobs.stop();
  const root = PlatformModule.under(definition.module, {
    service: definition.name,
    bus: new MessageBus(await transport.connect(definition.name, declared), declared),
    database: undefined,
    cipher: new FieldCipher(platform.encryptionKeys),
    outbox: new Outbox(),
    jobs,
    config: { definition: definition.config, value: config },
    platformConfig: platform,
  });
  const routes: string[] = [];
  const adapter = http.adapter(config);
  adapter
    .getInstance()
    .addHook('onRoute', ({ method, url }) => void routes.push(...[method].flat().map((name) => `${name} ${url}`)));
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, { logger: false, abortOnError: false });
  try {
    await http.configure(app, config);
    await app.init();
    return await look({ routes, get: async (path) => (await app.inject(path)).body });
  } finally {
    await app.close();
    await transport.close();
  }
}
