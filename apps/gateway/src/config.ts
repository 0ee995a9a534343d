import { limitsVariables } from '@market/limits';
import {
  defineConfig,
  integer,
  optional,
  text,
  variable,
  type ConfigDefinition,
  type ConfigOf,
  type Environment,
} from '@market/runtime';
import { z } from 'zod';

const variables = defineConfig('gateway', {
  port: variable('PORT', integer(0, 65_535, 3000), "the edge's public port, which no endpoint on this machine may use"),
  sellerTimeoutMs: variable(
    'GATEWAY_SELLER_TIMEOUT_MS',
    integer(1000, 120_000, 30_000),
    "timeout of a seller's answer, where its endpoint has no own",
  ),
  sellerConnectTimeoutMs: variable(
    'GATEWAY_SELLER_CONNECT_TIMEOUT_MS',
    integer(100, 30_000, 5_000),
    'timeout to reach a seller: name, TCP and TLS',
  ),
  waitForResultMs: variable(
    'GATEWAY_WAIT_FOR_RESULT_MS',
    integer(0, 60_000, 5_000),
    'how long a retry waits for the result of another attempt before it is answered 202',
  ),
  activeCallsMax: variable(
    'GATEWAY_ACTIVE_CALLS_MAX',
    integer(1, 100_000, 128),
    'calls that a process works on at once, beside those that wait for their seller; further ones are refused ' +
      'with 503',
  ),
  resumeIntervalMs: variable(
    'GATEWAY_RESUME_INTERVAL_MS',
    integer(50, 600_000, 1_000),
    'interval of the job for stored results that a crash left unsettled',
  ),
  failingAfter: variable(
    'GATEWAY_FAILING_AFTER',
    integer(1, 1_000, 5),
    'failed calls in a row, of at least two buyers, after which an endpoint counts as failing and nothing is ' +
      'sold on it',
  ),
  probeIntervalMs: variable(
    'GATEWAY_PROBE_INTERVAL_MS',
    integer(10, 3_600_000, 30_000),
    'probe interval of a failing endpoint; a new one without a call is probed after twice as long',
  ),
  idleProbeIntervalMs: variable(
    'GATEWAY_IDLE_PROBE_INTERVAL_MS',
    integer(10, 604_800_000, 21_600_000),
    'probe interval of a working endpoint',
  ),
  qualityIntervalMs: variable(
    'GATEWAY_QUALITY_INTERVAL_MS',
    integer(10, 3_600_000, 60_000),
    'minimum interval between updates of the measured quality of a listing',
  ),
  quotesKeptHours: variable(
    'GATEWAY_QUOTES_KEPT_HOURS',
    integer(1, 8_760, 24),
    'how long a call that was never paid stays in the history after its offer',
  ),
  resultsKeptDays: variable(
    'GATEWAY_RESULTS_KEPT_DAYS',
    integer(2, 3_650, 30),
    'how long results are kept, and their relay request ids may be repeated',
  ),
  storedBytesPerAccount: variable(
    'GATEWAY_STORED_BYTES_PER_ACCOUNT',
    integer(0, Number.MAX_SAFE_INTEGER, 1_073_741_824),
    'bytes of stored files of a buyer, and of a seller; beyond, no further calls of listings that answer with files',
  ),
  storeUrl: variable(
    'GATEWAY_STORE_URL',
    optional(z.url({ protocol: /^https?$/, error: 'must be https://<key>:<secret>@<host>/<bucket>' })),
    'S3-compatible bucket for files, else PostgreSQL: https://key:secret@host/bucket?region=eu-central-1',
  ),
  historyKeptDays: variable('GATEWAY_HISTORY_KEPT_DAYS', integer(2, 3_650, 90), 'how long calls stay in the history'),
  webhookDeliveriesKeptDays: variable(
    'GATEWAY_WEBHOOK_DELIVERIES_KEPT_DAYS',
    integer(4, 3_650, 30),
    'how long deliveries to webhooks are shown and can be replayed',
  ),
  pruneIntervalMs: variable(
    'GATEWAY_PRUNE_INTERVAL_MS',
    integer(50, 86_400_000, 60_000),
    'interval of the job that deletes old results, calls and deliveries',
  ),
  ownHosts: variable(
    'GATEWAY_OWN_HOSTS',
    text(''),
    'further host names of this marketplace, which no endpoint may use, comma separated',
  ),
  ...limitsVariables,
});

export interface GatewayConfig extends ConfigOf<typeof variables> {
  /** `host:port` of each server that the services use. No seller may have an endpoint there. */
  internalHosts: string[];
}

export const gatewayConfig: ConfigDefinition<GatewayConfig> = {
  ...variables,
  parse(env, problems) {
    const config = variables.parse(env, problems);
    const { sellerConnectTimeoutMs, sellerTimeoutMs, historyKeptDays, resultsKeptDays } = config;
    if (sellerConnectTimeoutMs >= sellerTimeoutMs)
      problems.push(
        `GATEWAY_SELLER_CONNECT_TIMEOUT_MS: must be below GATEWAY_SELLER_TIMEOUT_MS (${sellerTimeoutMs}), which it is a part of`,
      );
    if (historyKeptDays < resultsKeptDays)
      problems.push(
        `GATEWAY_HISTORY_KEPT_DAYS: must be GATEWAY_RESULTS_KEPT_DAYS (${resultsKeptDays}) or more, ` +
          'or a result outlives its call in the history; raise it, or lower the other',
      );
    return { ...config, internalHosts: internalHostsOf(env) };
  },
};

function internalHostsOf(env: Environment): string[] {
  const urls = Object.entries(env).flatMap(([name, value]) =>
    /^(NATS|REDIS|GATEWAY_STORE|(\w+_)?DATABASE(_LOCK)?)_URL$/.test(name) ? (value ?? '').split(',') : [],
  );
  // A URL without a port means the default port, which endpoints may not use anyway.
  return urls.flatMap((url) => (URL.canParse(url) && new URL(url).port ? [new URL(url).host] : []));
}
