import 'reflect-metadata';
import { migrate } from '@market/persistence';
import { ConfigError, databaseUrlOf, withSecretFiles, type Environment } from '@market/runtime';
import { statefulServices } from './stateful-services.js';
import { reasonOf } from './reason-of.js';

/** `npm run migrate`: brings the schema of every service up to date, each on the server that its URL names. */
async function migrateAll(variables: Environment): Promise<void> {
  const env = withSecretFiles(variables);
  const targets = statefulServices.map(({ name, database }) => ({ name, database, url: databaseUrlOf(name, env) }));
  const unnamed = targets.filter(({ url }) => !url);
  if (unnamed.length > 0)
    throw new ConfigError(unnamed.map(({ name }) => `DATABASE_URL: is required by ${name} (PostgreSQL 15 or later)`));
  for (const { name, database, url } of targets) {
    const ran = await migrate(database, url!).catch((error: unknown) => {
      throw new Error(`${name}: ${reasonOf(error)}`, { cause: error });
    });
    process.stdout.write(`${name.padEnd(16)} ${ran.length === 0 ? 'is up to date' : `ran ${ran.join(', ')}`}\n`);
  }
}

await migrateAll(process.env).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
