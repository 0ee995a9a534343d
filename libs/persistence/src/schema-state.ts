import { Client } from 'pg';
import { roleOf, type DatabaseDefinition } from './database.js';
import { CreateMessaging1763600000000 } from './migrations/1763600000000-create-messaging.js';

const CONNECT_TIMEOUT_MS = 5_000;
const NOTED = 'tables of its migrations: ';

/** What a schema lacks of what this build needs. */
export interface SchemaState {
  /** In words for operators; null if nothing is missing. */
  problem: string | null;
  /** Whether every migration ran. What is missing then was removed by somebody. */
  isMigrated: boolean;
}

export async function schemaState(definition: DatabaseDefinition, url: string): Promise<SchemaState> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // The next statement reports a lost connection. Without a listener this error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Behind a pooler only a transaction keeps its role.
    await client.query('BEGIN');
    const state = await missingFrom(client, definition);
    await client.query('ROLLBACK');
    return state;
  } finally {
    await client.end();
  }
}

/** The same in an open transaction, which then has the role of the service. */
export async function missingFrom(client: Client, { schema, migrations }: DatabaseDefinition): Promise<SchemaState> {
  const role = roleOf(schema);
  // Before it has its role, the login of a service may look at catalogs only.
  const { rows } = await client.query<{ exists: boolean }>(
    `SELECT to_regnamespace($1) IS NOT NULL AND EXISTS (SELECT 1 FROM pg_roles WHERE rolname = $2)
       AND EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = 'migrations') AS exists`,
    [schema, role],
  );
  if (!rows[0]!.exists) return { problem: `the schema ${schema} was never made`, isMigrated: false };
  await client.query(`SET LOCAL ROLE ${role}`);
  const ran = await client.query<{ name: string }>(`SELECT name FROM ${schema}.migrations`);
  const lacking = [CreateMessaging1763600000000, ...migrations]
    .map(({ name }) => name)
    .filter((name) => !ran.rows.some((row) => row.name === name));
  if (lacking.length > 0)
    return { problem: `the schema ${schema} lacks ${named('migration', lacking)}`, isMigrated: false };
  const tables = await client.query<{ name: string }>(
    `SELECT name FROM unnest(string_to_array(substring(obj_description(to_regnamespace($1), 'pg_namespace') FROM $2), ', ')) AS name
     WHERE to_regclass($1 || '.' || quote_ident(name)) IS NULL ORDER BY name`,
    [schema, `^${NOTED}(.*)$`],
  );
  const gone = tables.rows.map(({ name }) => name);
  const problem = gone.length > 0 ? `the schema ${schema} lacks ${named('table', gone)}, which a migration made` : null;
  return { problem, isMigrated: true };
}

/**
 * Notes the tables that there are after a migration in the comment of their schema, so that a process can tell one that
 * is gone. Partitions come and go.
 */
export const noteTables = (schema: string): string => `
  DO $$ BEGIN
    EXECUTE format('COMMENT ON SCHEMA ${schema} IS %L', '${NOTED}' || (
      SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class
      WHERE relnamespace = '${schema}'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition));
  EXCEPTION WHEN insufficient_privilege THEN -- The schema belongs to somebody else, who may have a comment of their own.
  END $$`;

const named = (kind: string, names: string[]): string =>
  `the ${kind}${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
