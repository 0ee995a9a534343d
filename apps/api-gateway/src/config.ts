import { limitsVariables } from '@market/limits';
import { defineConfig, integer, optional, text, variable, type ConfigDefinition, type ConfigOf } from '@market/runtime';
import { z } from 'zod';
import { isCidr } from './http/client-address.js';
import { MAX_CONNECTIONS } from './http/connection-limit.js';
import { RateLimits, DEFAULT_RATE_LIMITS } from './http/rate-limits.js';

const rateLimits = text(DEFAULT_RATE_LIMITS).transform((given, context) => {
  if (given === 'off') return given;
  try {
    return RateLimits.parse(given);
  } catch (error) {
    context.addIssue((error as Error).message);
    return 'off';
  }
});

const cidrs = text('')
  .transform((given) =>
    given
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean),
  )
  .refine((entries) => entries.every(isCidr), 'must be addresses or CIDRs, comma separated');

const contact = z
  .string()
  .regex(/^(mailto:|https:\/\/|tel:)[\x21-\x7e]{1,500}$/, 'must be a mailto:, https: or tel: URI');

/** With less, a seller would have less time than its endpoint promises. */
const MIN_CALL_BUDGET_MS = 131_000;

const variables = defineConfig('api-gateway', {
  host: variable('HOST', text('127.0.0.1'), 'address the public port listens on'),
  port: variable('PORT', integer(0, 65_535, 3000), 'public port'),
  requestBudgetMs: variable(
    'API_GATEWAY_REQUEST_BUDGET_MS',
    integer(100, 60_000, 10_000),
    'how long a request may take in milliseconds before it is answered 503; a second longer than an RPC server and ' +
      'Relay may take',
  ),
  callBudgetMs: variable(
    'API_GATEWAY_CALL_BUDGET_MS',
    integer(MIN_CALL_BUDGET_MS, 600_000, 150_000),
    'the same for requests that wait for a seller: the longest endpoint timeout (120000) and eleven seconds to ' +
      'store, charge and deliver the answer',
  ),
  trustedProxies: variable(
    'API_GATEWAY_TRUSTED_PROXIES',
    cidrs,
    'addresses or CIDRs of the proxies in front of the edge, comma separated; from anyone else X-Forwarded-For ' +
      'is ignored',
  ),
  connectionsPerAddress: variable(
    'API_GATEWAY_CONNECTIONS_PER_ADDRESS',
    integer(1, MAX_CONNECTIONS, 2_000),
    'open connections of one address, of IPv6 one /64, to one process; further ones are closed. Trusted proxies ' +
      'are not limited',
  ),
  securityContact: variable(
    'API_GATEWAY_SECURITY_CONTACT',
    optional(contact),
    'security contact: a mailto:, https: or tel: URI for /.well-known/security.txt; no such file when absent',
  ),
  rateLimits: variable(
    'RATE_LIMITS',
    rateLimits,
    'requests an account, or an address without one, may send: <name>=<requests>/<seconds>[:<at once>], comma ' +
      'separated; others keep their defaults; off in sandbox mode alone',
  ),
  ...limitsVariables,
});

export type ApiGatewayConfig = ConfigOf<typeof variables>;

export const apiGatewayConfig: ConfigDefinition<ApiGatewayConfig> = {
  ...variables,
  parse(env, problems) {
    const config = variables.parse(env, problems);
    if (config.rateLimits === 'off' && env.PAYMENTS_MODE === 'live')
      problems.push('RATE_LIMITS: must not be off with PAYMENTS_MODE=live');
    return config;
  },
};
