import { limitsVariables } from '@market/limits';
import {
  defineConfig,
  integer,
  text,
  variable,
  type ConfigDefinition,
  type ConfigOf,
  type Environment,
} from '@market/runtime';

const variables = defineConfig('gateway', {
  port: variable(
    'PORT',
    integer(0, 65_535, 3000),
    'the public port of the edge, to which no endpoint on this machine may lead',
  ),
  sellerTimeoutMs: variable(
    'GATEWAY_SELLER_TIMEOUT_MS',
    integer(1000, 120_000, 30_000),
    'total time a seller has for one answer, where its endpoint says nothing else',
  ),
  sellerConnectTimeoutMs: variable(
    'GATEWAY_SELLER_CONNECT_TIMEOUT_MS',
    integer(100, 30_000, 5_000),
    'time to reach a seller: name, TCP and TLS',
  ),
  waitForResultMs: variable(
    'GATEWAY_WAIT_FOR_RESULT_MS',
    integer(0, 60_000, 5_000),
    'how long a retry waits for the result of another attempt before it is told to come back',
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
    'how often stored results that a crash left unsettled are looked for',
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
    'how often a failing endpoint is probed; a new one that no call has reached is probed after twice as long',
  ),
  idleProbeIntervalMs: variable(
    'GATEWAY_IDLE_PROBE_INTERVAL_MS',
    integer(10, 604_800_000, 21_600_000),
    'how often a working endpoint is probed',
  ),
  qualityIntervalMs: variable(
    'GATEWAY_QUALITY_INTERVAL_MS',
    integer(10, 3_600_000, 60_000),
    'minimum interval between updates of the measured quality of a listing',
  ),
  quotesKeptHours: variable(
    'GATEWAY_QUOTES_KEPT_HOURS',
    integer(1, 8_760, 24),
    'how long a call that was quoted and never paid stays in the history after its offer',
  ),
  resultsKeptDays: variable(
    'GATEWAY_RESULTS_KEPT_DAYS',
    integer(2, 3_650, 30),
    'how long results are kept, and their relay request ids may be repeated',
  ),
  historyKeptDays: variable(
    'GATEWAY_HISTORY_KEPT_DAYS',
    integer(2, 3_650, 90),
    'how long calls stay in the history, at least as long as their results',
  ),
  pruneIntervalMs: variable(
    'GATEWAY_PRUNE_INTERVAL_MS',
    integer(50, 86_400_000, 60_000),
    'how often results and calls that are kept no longer are looked for',
  ),
  ownHosts: variable(
    'GATEWAY_OWN_HOSTS',
    text(''),
    'further host names of this marketplace that no endpoint may point to, comma separated',
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
    /^(NATS|REDIS|(\w+_)?DATABASE(_LOCK)?)_URL$/.test(name) ? (value ?? '').split(',') : [],
  );
  // A URL without a port means the default port, which endpoints may not use anyway.
  return urls.flatMap((url) => (URL.canParse(url) && new URL(url).port ? [new URL(url).host] : []));
}
