import driver, { Client } from 'pg';
import { DataSource } from 'typeorm';
import { codeOf } from './database-error.js';
import { roleOf, type DatabaseDefinition } from './database.js';
import { noteTables } from './schema-state.js';
import { CreateMessaging1763600000000 } from './migrations/1763600000000-create-messaging.js';

/** The advisory lock that serializes migrating processes. */
const MIGRATION_LOCK = 7_302_019;

/** duplicate_object, or unique_violation if two processes created it at the same moment. */
const ROLE_EXISTS = new Set(['42710', '23505']);

/**
 * Brings a service's schema up to date: creates missing roles and schemas, then runs the outstanding migrations as the
 * login user, who owns the tables. Several processes may run it at once.
 * @returns the names of the migrations that ran.
 */
export async function migrate(definition: DatabaseDefinition, url: string): Promise<string[]> {
  const client = new Client({ connectionString: url, application_name: `market ${definition.schema} migrations` });
  // The next statement reports a lost connection. Without a listener this error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await provision(client, definition.schema);
    return await runMigrations(definition, url);
  } finally {
    await client.end();
  }
}

async function provision(client: Client, schema: string): Promise<void> {
  const role = roleOf(schema);
  await ensureRole(client, role);
  await client.query(`GRANT ${role} TO CURRENT_USER`);
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
  await client.query(
    `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${role}`,
  );
  await client.query(`ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT USAGE ON SEQUENCES TO ${role}`);
}

/**
 * Roles belong to the server and the lock belongs to one database, so a migration of another database may create the
 * role concurrently.
 */
async function ensureRole(client: Client, role: string): Promise<void> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
  if (rowCount !== 0) return;
  await client.query(`CREATE ROLE ${role} NOLOGIN`).catch((error: unknown) => {
    if (!ROLE_EXISTS.has(codeOf(error) ?? '')) throw error;
  });
}

async function runMigrations(definition: DatabaseDefinition, url: string): Promise<string[]> {
  const dataSource = new DataSource({
    type: 'postgres',
    driver,
    url,
    schema: definition.schema,
    migrations: [CreateMessaging1763600000000, ...definition.migrations],
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    extra: { max: 2, options: `-c search_path=${definition.schema},public` },
  });
  await dataSource.initialize();
  try {
    const ran = (await dataSource.runMigrations()).map((migration) => migration.name);
    // A table that was removed by hand stays noted.
    if (ran.length > 0) await dataSource.query(noteTables(definition.schema));
    if (definition.whereAvailable) await dataSource.query(definition.whereAvailable);
    return ran;
  } finally {
    await dataSource.destroy();
  }
}
