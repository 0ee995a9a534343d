import { optional, variable, type ConfigDefinition } from '@market/runtime';
import { Module, type DynamicModule } from '@nestjs/common';
import { z } from 'zod';
import { Limits } from './limits.js';
import { MemoryLimits } from './memory-limits.js';
import { RedisLimits } from './redis-limits.js';

/** The configuration variables of a service that counts requests. */
export const limitsVariables = {
  redisUrl: variable(
    'REDIS_URL',
    optional(z.url({ protocol: /^rediss?$/, error: 'must be a URL that starts with redis:// or rediss://' })),
    'Redis in which processes count requests together: redis://host:6379; absent, each process counts for itself',
  ),
};

interface LimitsConfig {
  redisUrl?: string | undefined;
}

/** Provides `Limits`: shared through Redis if one is configured, otherwise counted in this process. */
@Module({})
export class LimitsModule {
  /** @param definition the service's configuration, which includes `limitsVariables`. */
  static configuredBy(definition: ConfigDefinition<LimitsConfig>): DynamicModule {
    return {
      module: LimitsModule,
      providers: [
        {
          provide: Limits,
          useFactory: ({ redisUrl }: LimitsConfig) => (redisUrl ? new RedisLimits(redisUrl) : new MemoryLimits()),
          inject: [definition.token],
        },
      ],
      exports: [Limits],
    };
  }
}
