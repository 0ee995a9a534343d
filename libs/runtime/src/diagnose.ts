import { topology } from '@market/contracts';
import { natsProblems } from '@market/messaging';
import { databaseProblems } from '@market/persistence';
import type { Check } from './define-check.js';
import { ConfigError, type Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { databaseUrlOf, platformConfig } from './platform-config.js';
import { misspeltIn, readConfiguration } from './read-configuration.js';
import { natsOptionsFromEnv } from './run-main.js';
import { startFailure } from './start-failure.js';

/** The subject of a check, and its problems. */
interface Finding {
  subject: string;
  problems: string[];
  warning?: string;
}

/**
 * Checks everything that a process with these services needs, and changes nothing. Checks that depend on an invalid
 * variable are skipped.
 */
export async function diagnose(definitions: readonly ServiceDefinition[], env: Environment): Promise<Finding[]> {
  const checks: Check[] = [];
  const ignored: string[] = [];
  const { migrateOnStart, paymentsMode } = platformConfig.parse(env, ignored);
  for (const { name, database, config, checks: own } of definitions) {
    const url = databaseUrlOf(name, env);
    if (database && url)
      checks.push({
        subject: `database of ${name}`,
        variable: 'DATABASE_URL',
        problems: () =>
          databaseProblems(database, url, { migratesOnStart: migrateOnStart, paymentsMode }).catch((error: unknown) => [
            startFailure(error, env),
          ]),
      });
    if (env.NATS_URL)
      checks.push({
        subject: `NATS of ${name}`,
        variable: 'NATS_URL',
        problems: () => natsProblems(name, topology[name], natsOptionsFromEnv(env)(name)),
      });
    const problems: string[] = [];
    const value = config.parse(env, problems);
    if (problems.length === 0) checks.push(...(own?.(value) ?? []));
  }
  const findings = await Promise.all(
    checks.map(async ({ subject, variable, warning, problems }) => ({
      subject,
      warning,
      problems: await problems().catch((error: unknown) => [
        `${variable}: what is there cannot be used (${reasonOf(error)})`,
      ]),
    })),
  );
  const warning = misspeltIn(env, definitions).join(' ') || undefined;
  return [{ subject: 'variables', problems: configurationProblems(definitions, env), warning }, ...findings];
}

function configurationProblems(definitions: readonly ServiceDefinition[], env: Environment): string[] {
  try {
    readConfiguration([...definitions], env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** An error of fetch contains the reason in its cause. A host with several addresses has one error for each. */
function reasonOf(error: unknown): string {
  const { cause, errors, message } = error as { cause?: unknown; errors?: unknown[]; message?: string };
  return cause ? reasonOf(cause) : errors ? errors.map(reasonOf).join('; ') : (message ?? String(error));
}
