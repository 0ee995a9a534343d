import { topology } from '@market/contracts';
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

/**
 * Runs one command of a service in this process, with its container and database and without bus, jobs and outbox relay.
 * `ENCRYPTION_KEYS` are needed only by commands that encrypt or decrypt secrets.
 */
export async function runCommand(
  definition: ServiceDefinition,
  command: CommandDefinition,
  input: CommandInput,
  env: Environment,
): Promise<string> {
  const { platform, configs, databaseUrls } = readConfiguration(
    [definition],
    { LOG_LEVEL: 'error', ...env },
    { needsEncryptionKeys: false },
  );
  const databaseUrl = databaseUrls.get(definition.name);
  if (definition.database && platform.migrateOnStart) await migrate(definition.database, databaseUrl!);
  const declared = topology[definition.name];
  const transport = inProcessTransport();
  const database =
    definition.database &&
    (await Database.open(definition.database, { url: databaseUrl!, poolSize: platform.databasePoolSize }));
  const jobs = new Jobs();
  await jobs.stop();
  try {
    if (database) await claimPaymentsMode(new Map([[definition.name, database]]), platform.paymentsMode);
    const root = PlatformModule.under(definition.module, {
      bus: new MessageBus(await transport.connect(definition.name, declared), declared),
      database,
      cipher: new FieldCipher(platform.encryptionKeys),
      outbox: new Outbox(),
      jobs,
      config: { definition: definition.config, value: configs.get(definition.name) },
      platformConfig: platform,
    });
    const container = await NestFactory.createApplicationContext(root, {
      logger: new PinoLogger(definition.name, platform.logLevels),
      abortOnError: false,
    });
    try {
      return await command.run(container, input);
    } finally {
      await container.close();
    }
  } finally {
    await transport.close();
    await database?.close();
  }
}
