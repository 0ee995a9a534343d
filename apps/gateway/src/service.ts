import { redisProblems } from '@market/limits';
import { defineService } from '@market/runtime';
import { gatewayConfig } from './config.js';
import { storeProblems } from './contents/object-store.js';
import { gatewayDatabase } from './database.js';
import { GatewayModule } from './gateway.module.js';

export const gateway = defineService({
  name: 'gateway',
  module: GatewayModule,
  config: gatewayConfig,
  database: gatewayDatabase,
  checks: ({ redisUrl, storeUrl }) => [
    ...(redisUrl ? [{ subject: 'Redis', variable: 'REDIS_URL', problems: () => redisProblems(redisUrl) }] : []),
    ...(storeUrl
      ? [{ subject: 'Store of files', variable: 'GATEWAY_STORE_URL', problems: () => storeProblems(storeUrl) }]
      : []),
  ],
});
