import { defineConfig, integer, text, variable, type ConfigOf } from '@market/runtime';

export const apiGatewayConfig = defineConfig('api-gateway', {
  host: variable('HOST', text('127.0.0.1'), 'address the public port listens on'),
  port: variable('PORT', integer(0, 65_535, 3000), 'public port'),
  requestBudgetMs: variable('API_GATEWAY_REQUEST_BUDGET_MS', integer(100, 60_000, 10_000), 'how long a request may take in milliseconds before it is answered 429'),
  callBudgetMs: variable('API_GATEWAY_CALL_BUDGET_MS', integer(1_000, 600_000, 150_000), 'the same for requests that wait for a seller; longer than the longest endpoint timeout (120000)'),
});

export type ApiGatewayConfig = ConfigOf<typeof apiGatewayConfig>;
