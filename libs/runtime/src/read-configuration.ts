import type { ServiceName } from '@market/contracts';
import { ConfigError, type ConfigOf, type Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { databaseUrlOf, platformConfig } from './platform-config.js';

export interface Configuration {
  platform: ConfigOf<typeof platformConfig>;
  configs: Map<ServiceName, unknown>;
  databaseUrls: Map<ServiceName, string>;
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
    if (database && url) databaseUrls.set(name, url);
    else if (database) problems.push(`DATABASE_URL: is required by ${name} (PostgreSQL 15 or later)`);
  }
  if (needsEncryptionKeys && !env.ENCRYPTION_KEYS)
    problems.push(`ENCRYPTION_KEYS: is required (${platformConfig.variables['encryptionKeys']!.help})`);
  if (platform.paymentsMode === 'live' && platform.allowPrivateEndpoints)
    problems.push('ALLOW_PRIVATE_ENDPOINTS: must not be true with PAYMENTS_MODE=live');
  if (problems.length > 0) throw new ConfigError(problems);
  return { platform, configs, databaseUrls };
}
