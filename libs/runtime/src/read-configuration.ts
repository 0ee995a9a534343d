import { SERVICE_NAMES, type ServiceName } from '@market/contracts';
import { ConfigError, type ConfigOf, type Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { misspeltVariables } from './misspelt-variables.js';
import { natsConfig } from './nats-config.js';
import { databaseUrlOf, platformConfig } from './platform-config.js';
import { brokenRelations } from './relations.js';

export interface Configuration {
  platform: ConfigOf<typeof platformConfig>;
  configs: Map<ServiceName, unknown>;
  databaseUrls: Map<ServiceName, string>;
}

/** Variables that no definition declares. */
const FURTHER_VARIABLES = [
  'DATABASE_URL',
  'DATA_DIR',
  'MARKET_URL',
  'OPERATOR_KEY',
  'PAYMENTS_PRESET',
  'PAYMENTS_RPC_URL',
  'REPLICAS',
];

/** @returns a sentence for each variable that is nearly one that a process with these services reads. */
export const misspeltIn = (env: Environment, definitions: readonly ServiceDefinition[]): string[] =>
  misspeltVariables(env, [
    ...FURTHER_VARIABLES,
    ...SERVICE_NAMES.flatMap((name) =>
      ['DATABASE_URL', 'NATS_NKEY_SEED'].map((variable) => `${name.toUpperCase().replaceAll('-', '_')}_${variable}`),
    ),
    ...[platformConfig, natsConfig, ...definitions.map(({ config }) => config)].flatMap(({ variables }) =>
      Object.values(variables).map(({ name }) => name),
    ),
  ]);

/** Locks of calls exclude each other only in one database. */
const LOCKING_SERVICES = ['gateway', 'payments-ledger'] as const;

const isLocking = (name: ServiceName): boolean => LOCKING_SERVICES.some((locking) => locking === name);

/** The server and the database of a URL, without its login. */
function databaseOf(url: string): string {
  if (!URL.canParse(url)) return url;
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port || 5432}${pathname}`;
}

/**
 * Reads the configuration of a process with these services. Encryption keys are optional only for commands.
 * @throws ConfigError naming everything that is wrong.
 */
export function readConfiguration(
  definitions: ServiceDefinition[],
  env: Environment,
  { needsEncryptionKeys = true } = {},
): Configuration {
  const problems: string[] = [];
  const platform = platformConfig.parse(env, problems);
  const configs = new Map(definitions.map(({ name, config }) => [name, config.parse(env, problems)]));
  const databaseUrls = new Map<ServiceName, string>();
  for (const { name, database } of definitions) {
    const url = databaseUrlOf(name, env);
    if (database && url && !URL.canParse(url))
      problems.push(
        `DATABASE_URL: of ${name} must be a URL with one host, as postgres://login:password@host:5432/market`,
      );
    else if (database && url) databaseUrls.set(name, url);
    else if (database) problems.push(`DATABASE_URL: is required by ${name} (PostgreSQL 15 or later)`);
  }
  if (!platform.databaseLockUrl) {
    if (platform.databasePooling === 'transaction' && definitions.some(({ name }) => isLocking(name)))
      problems.push(
        'DATABASE_LOCK_URL: is required with DATABASE_POOLING=transaction; locks need a connection of their own',
      );
    const databases = LOCKING_SERVICES.flatMap((name) => databaseUrlOf(name, env) ?? []).map(databaseOf);
    if (new Set(databases).size > 1)
      problems.push(
        `DATABASE_LOCK_URL: is required where ${LOCKING_SERVICES.join(' and ')} have databases of their own; one of them will do`,
      );
  }
  problems.push(
    ...brokenRelations(
      env,
      [platformConfig, ...definitions.map(({ config }) => config)].flatMap(({ variables }) => Object.values(variables)),
    ),
  );
  if (needsEncryptionKeys && !env.ENCRYPTION_KEYS)
    problems.push(`ENCRYPTION_KEYS: is required (${platformConfig.variables['encryptionKeys']!.help})`);
  if (platform.paymentsMode === 'live' && platform.allowPrivateEndpoints)
    problems.push('ALLOW_PRIVATE_ENDPOINTS: must not be true with PAYMENTS_MODE=live');
  if (platform.databasePooling === 'transaction' && platform.migrateOnStart)
    problems.push(
      'MIGRATE_ON_START: must be false with DATABASE_POOLING=transaction; market-admin migrate takes a direct URL',
    );
  if (problems.length > 0) throw new ConfigError(problems);
  return { platform, configs, databaseUrls };
}
