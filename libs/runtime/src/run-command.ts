import { topology, type ServiceName } from '@market/contracts';
import { inProcessTransport, MessageBus } from '@market/messaging';
import { Database, migrate, Outbox, FieldCipher } from '@market/persistence';
import { NestFactory } from '@nestjs/core';
import type { CommandDefinition, CommandInput } from './define-command.js';
import type { Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { Jobs } from './jobs.js';
import { PinoLogger } from './logger.js';
import { claimPaymentsMode } from './payments-mode.js';
import { PlatformModule } from './platform.module.js';
import { readConfiguration } from './read-configuration.js';
import { startService, type StartedService } from './run-process.js';

/**
 * Runs one command of a service in this process, with the service's container and database, without jobs and outbox
 * relay. Its bus reaches the services that the command names, which run in this process meanwhile. `ENCRYPTION_KEYS`
 * are needed only by commands that encrypt or decrypt secrets.
 * @param asked the services that the command names
 */
export async function runCommand(
  definition: ServiceDefinition,
  command: CommandDefinition,
  input: CommandInput,
  env: Environment,
  asked: ServiceDefinition[] = [],
): Promise<string> {
  const { platform, configs, databaseUrls } = readConfiguration(
    [definition, ...asked],
    { LOG_LEVEL: 'error', ...env },
    { needsEncryptionKeys: false },
  );
  const declared = topology[definition.name];
  const transport = inProcessTransport();
  const logger = new PinoLogger(definition.name, platform.logLevels);
  const databases = new Map<ServiceName, Database>();
  const started: StartedService[] = [];
  const jobs = new Jobs();
  await jobs.stop();
  try {
    for (const { name, database } of [definition, ...asked]) {
      if (!database) continue;
      const url = databaseUrls.get(name)!;
      if (platform.migrateOnStart) await migrate(database, url);
      databases.set(
        name,
        await Database.open(database, { url, poolSize: platform.databasePoolSize, pooling: platform.databasePooling }),
      );
    }
    await claimPaymentsMode(databases, platform.paymentsMode);
    for (const service of asked) {
      const { name } = service;
      const running = await startService(service, transport, platform, logger, configs.get(name), databases.get(name));
      started.push(running);
      await running.jobs.stop();
    }
    const root = PlatformModule.under(definition.module, {
      service: definition.name,
      bus: new MessageBus(await transport.connect(definition.name, declared), declared),
      database: databases.get(definition.name),
      cipher: new FieldCipher(platform.encryptionKeys),
      outbox: new Outbox(),
      jobs,
      config: { definition: definition.config, value: configs.get(definition.name) },
      platformConfig: platform,
    });
    const container = await NestFactory.createApplicationContext(root, {
      logger,
      abortOnError: false,
    });
    try {
      return await command.run(container, input);
    } finally {
      await container.close();
    }
  } finally {
    for (const { app } of started) await app.close();
    await transport.close();
    for (const database of databases.values()) await database.close();
  }
}
