import { redisProblems } from '@market/limits';
import { defineService } from '@market/runtime';
import { ApiGatewayModule } from './api-gateway.module.js';
import { apiGatewayConfig } from './config.js';
import { configureEdge } from './configure-edge.js';
import { EdgeAdapter } from './http/edge-adapter.js';

export const apiGateway = defineService({
  name: 'api-gateway',
  module: ApiGatewayModule,
  config: apiGatewayConfig,
  checks: ({ redisUrl }) =>
    redisUrl ? [{ subject: 'Redis', variable: 'REDIS_URL', problems: () => redisProblems(redisUrl) }] : [],
  http: {
    adapter: ({ trustedProxies }) => new EdgeAdapter(trustedProxies),
    configure: configureEdge,
    address: ({ host, port }) => ({ host, port }),
  },
});
