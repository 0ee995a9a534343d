import type { ServiceName } from '@market/contracts';
import { parseEncryptionKeys } from '@market/persistence';
import type { Level } from 'pino';
import { z } from 'zod';
import {
  baseUrl,
  choice,
  defineConfig,
  flag,
  integer,
  optional,
  text,
  url,
  variable,
  type Environment,
} from './define-config.js';
import type { LogLevels } from './logger.js';

const encryptionKeys = z.string().superRefine((value, context) => {
  try {
    parseEncryptionKeys(value);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});

/** The format of OpenTelemetry: `key=value`, comma separated, values percent-encoded. */
const headers = z
  .string()
  .default('')
  .transform((text, context): Record<string, string> => {
    try {
      const entries = text.split(',').filter((entry) => entry.trim() !== '');
      return Object.fromEntries(new Headers(entries.map((entry) => headerOf(entry))));
    } catch {
      context.addIssue('must be <name>=<value>, comma separated, values percent-encoded');
      return {};
    }
  });

const headerOf = (entry: string): [string, string] => {
  const [name, ...value] = entry.split('=');
  return [name!.trim(), decodeURIComponent(value.join('=').trim())];
};

const ratio = z.string().default('1').transform(Number).pipe(z.number('must be a number').min(0).max(1));

const LEVEL = /^(?:(\w+)=)?(fatal|error|warn|info|debug)$/;

const logLevels = z
  .string()
  .default('info')
  .transform((text, context): LogLevels => {
    const levels: LogLevels = { default: 'info', components: {} };
    for (const entry of text.split(',')) {
      const [, component, level] = LEVEL.exec(entry.trim()) ?? [];
      if (level === undefined) context.addIssue('must be one of fatal, error, warn, info, debug');
      else if (component === undefined) levels.default = level as Level;
      else levels.components[component] = level as Level;
    }
    return levels;
  });

/** The configuration that every process reads. */
export const platformConfig = defineConfig('platform', {
  publicUrl: variable(
    'PUBLIC_URL',
    baseUrl('http://localhost:3000'),
    'address of the edge for clients, used in links, gateway_url and wallet messages',
  ),
  paymentsMode: variable(
    'PAYMENTS_MODE',
    choice(['sandbox', 'live'], 'sandbox'),
    'live needs a payment rail; a database keeps the mode it was first used in, and refuses the other',
  ),
  allowPrivateEndpoints: variable(
    'ALLOW_PRIVATE_ENDPOINTS',
    flag(false),
    'whether sellers may list http and private addresses; sandbox only',
  ),
  encryptionKeys: variable(
    'ENCRYPTION_KEYS',
    optional(encryptionKeys),
    'keys for secrets at rest: <id>:<base64 of 32 bytes>, comma separated, current first; needed by every process',
  ),
  databasePoolSize: variable(
    'DATABASE_POOL_SIZE',
    integer(2, 200, 10),
    'connections of a service to PostgreSQL at most',
  ),
  databasePooling: variable(
    'DATABASE_POOLING',
    choice(['session', 'transaction'], 'session'),
    'pooling mode of a PgBouncer before PostgreSQL; with transaction, set MIGRATE_ON_START=false and run ' +
      'market-admin migrate with the direct URL',
  ),
  databaseLockUrl: variable(
    'DATABASE_LOCK_URL',
    optional(text()),
    'direct URL of the PostgreSQL in which gateway and payments-ledger lock calls; needed where DATABASE_URL ' +
      'leads through a transaction pooler',
  ),
  migrateOnStart: variable(
    'MIGRATE_ON_START',
    flag(true),
    'whether a process migrates its schemas when it starts; false where market-admin migrate does',
  ),
  stopTimeoutSeconds: variable(
    'STOP_TIMEOUT_SECONDS',
    integer(1, 3600, 170),
    'grace period of a process that is told to stop; at least STOP_DELAY_SECONDS and API_GATEWAY_CALL_BUDGET_MS ' +
      'together, and shorter than the time after which it is killed',
  ),
  stopDelaySeconds: variable(
    'STOP_DELAY_SECONDS',
    integer(0, 300, 0),
    'how long an edge that is told to stop still accepts requests while it reports that it is not ready',
  ),
  internalPort: variable(
    'INTERNAL_PORT',
    optional(integer(0, 65535)),
    'port of /healthz/live, /healthz/ready and /metrics; none when absent',
  ),
  internalHost: variable('INTERNAL_HOST', text('127.0.0.1'), 'address the internal port listens on'),
  logLevels: variable(
    'LOG_LEVEL',
    logLevels,
    'log level (fatal, error, warn, info or debug), and that of single contexts, as info,HttpRequest=warn',
  ),
  tracesEndpoint: variable(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    optional(url()),
    'OTLP collector for traces, over HTTP as JSON at /v1/traces; nothing is traced when absent',
  ),
  tracesHeaders: variable(
    'OTEL_EXPORTER_OTLP_HEADERS',
    headers,
    'headers for the collector: <name>=<value>, comma separated, values percent-encoded',
  ),
  tracesRatio: variable(
    'OTEL_TRACES_SAMPLER_ARG',
    ratio,
    'part of all traces that is kept; failed ones are kept in addition',
  ),
});

/** `<SERVICE>_DATABASE_URL` takes precedence over `DATABASE_URL`, so that any service can use a separate server. */
export function databaseUrlOf(service: ServiceName, env: Environment): string | undefined {
  return env[`${service.toUpperCase().replaceAll('-', '_')}_DATABASE_URL`] || env.DATABASE_URL || undefined;
}

/** How long a process that stops lets streams end before it cuts them: a tenth of its grace period, and at most 5 s. */
export const streamDrainMs = ({ stopTimeoutSeconds }: { stopTimeoutSeconds: number }): number =>
  Math.min(stopTimeoutSeconds * 100, 5_000);
