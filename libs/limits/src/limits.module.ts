import { optional, variable, type ConfigDefinition } from '@market/runtime';
import { Module, type DynamicModule } from '@nestjs/common';
import { z } from 'zod';
import { Limits } from './limits.js';
import { MemoryLimits } from './memory-limits.js';
import { RedisLimits } from './redis-limits.js';

/** A service that counts has these among the variables of its configuration. */
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

/** Provides `Limits`: shared through Redis where one is configured, else counted in this process. */
@Module({})
export class LimitsModule {
  /** @param definition the service's configuration, with `limitsVariables` in it. */
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
