import type { ServiceName } from '@market/contracts';
import { MessageBus } from '@market/messaging';
import { Database, Idempotency, Locks, Outbox, FieldCipher } from '@market/persistence';
import { Global, Module, type DynamicModule, type Provider, type Type } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Jobs } from './jobs.js';
import { operationsOfService } from './operations.js';
import { platformConfig } from './platform-config.js';
import type { ConfigDefinition, ConfigOf } from './define-config.js';

export interface Platform {
  service: ServiceName;
  bus: MessageBus;
  database: Database | undefined;
  cipher: FieldCipher;
  outbox: Outbox;
  jobs: Jobs;
  config: { definition: ConfigDefinition; value: unknown };
  platformConfig: ConfigOf<typeof platformConfig>;
}

/** The providers that the runtime adds to every service's container. */
@Global()
@Module({})
export class PlatformModule {
  /** Returns the root module of a service's container. */
  static under(module: Type, platform: Platform): Type {
    const providers = platform.database ? [operationsOfService(platform.service)] : [];
    @Module({ imports: [PlatformModule.provide(platform), module], providers })
    class RootModule {}
    return RootModule;
  }

  private static provide(platform: Platform): DynamicModule {
    const providers: Provider[] = [
      { provide: MessageBus, useValue: platform.bus },
      { provide: Outbox, useValue: platform.outbox },
      { provide: Jobs, useValue: platform.jobs },
      { provide: FieldCipher, useValue: platform.cipher },
      { provide: platformConfig.token, useValue: platform.platformConfig },
      { provide: platform.config.definition.token, useValue: platform.config.value },
    ];
    if (platform.database) {
      providers.push({ provide: Database, useValue: platform.database });
      const locks = new Locks(platform.platformConfig.databaseLockUrl ?? platform.database.url);
      providers.push({ provide: Locks, useFactory: () => locks });
      providers.push({ provide: Idempotency, useValue: new Idempotency(platform.database, platform.cipher) });
    }
    return {
      module: PlatformModule,
      imports: [DiscoveryModule],
      providers,
      exports: providers.map((provider) => (provider as { provide: symbol }).provide),
    };
  }
}
