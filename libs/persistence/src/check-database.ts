import { Client } from 'pg';
import { roleOf, type DatabaseDefinition } from './database.js';
import { missingFrom } from './schema-state.js';

const CONNECT_TIMEOUT_MS = 5_000;
const OLDEST_VERSION = 150_000;
/** The database's clock times claims and leases; the clocks of the processes time deadlines. */
const MAX_SKEW_MS = 2_000;

interface Login {
  version: number;
  may_create_roles: boolean;
  may_create: boolean;
  has_role: boolean | null;
  has_schema: boolean;
  owns_schema: boolean;
}

/**
 * Checks whether a service can work with the database at a URL: version, rights of the login, migrations, payments mode
 * and clock. It changes nothing.
 * @returns what is wrong, in sentences. @throws if the server is unavailable or refuses the connection.
 */
export async function databaseProblems(
  definition: DatabaseDefinition,
  url: string,
  { migratesOnStart, paymentsMode }: { migratesOnStart: boolean; paymentsMode: string },
): Promise<string[]> {
  const { schema } = definition;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  // The next statement reports a lost connection. Without a listener this error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const role = roleOf(schema);
    const { rows } = await client.query<Login>(
      `SELECT current_setting('server_version_num')::int AS version,
         (SELECT rolcreaterole OR rolsuper FROM pg_roles WHERE rolname = current_user) AS may_create_roles,
         has_database_privilege(current_database(), 'CREATE') AS may_create,
         (SELECT pg_has_role(oid, 'MEMBER') FROM pg_roles WHERE rolname = $1) AS has_role,
         to_regnamespace($2) IS NOT NULL AS has_schema,
         coalesce(has_schema_privilege(to_regnamespace($2)::oid, 'CREATE'), false) AS owns_schema`,
      [role, schema],
    );
    const login = rows[0]!;
    const problems = await skewProblems(client);
    if (login.version < OLDEST_VERSION) problems.push('DATABASE_URL: the server is older than PostgreSQL 15');
    if (!login.has_schema || login.has_role === null)
      return [...problems, ...newDatabaseProblems(schema, login, migratesOnStart)];
    if (!login.has_role)
      return [...problems, `DATABASE_URL: the login is not a member of ${role}; GRANT ${role} to it`];
    await client.query('BEGIN');
    const { problem, isMigrated } = await missingFrom(client, definition);
    if (problem !== null && (isMigrated || !(migratesOnStart && login.owns_schema)))
      problems.push(
        isMigrated
          ? `DATABASE_URL: ${problem}; restore it from a backup`
          : `MIGRATE_ON_START: ${problem}, and this login does not migrate it; run market-admin migrate as its owner`,
      );
    const { rows: modes } = await client.query<{ mode: string }>(`SELECT mode FROM ${schema}.payments_mode`);
    if (modes[0] && modes[0].mode !== paymentsMode)
      problems.push(
        `PAYMENTS_MODE: is ${paymentsMode}, and the data are ${modes[0].mode}; ` +
          `start with PAYMENTS_MODE=${modes[0].mode}, or on another database`,
      );
    return problems;
  } finally {
    await client.end();
  }
}

function newDatabaseProblems(schema: string, login: Login, migratesOnStart: boolean): string[] {
  if (!migratesOnStart)
    return [`MIGRATE_ON_START: is false, and there is no schema ${schema} yet; run market-admin migrate`];
  return login.may_create_roles && login.may_create
    ? []
    : [
        `DATABASE_URL: the login may not create the role and the schema of ${schema}; ` +
          'let it, or run market-admin migrate as one that may and set MIGRATE_ON_START=false',
      ];
}

async function skewProblems(client: Client): Promise<string[]> {
  const before = Date.now();
  const { rows } = await client.query<{ now: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
  );
  const after = Date.now();
  const skew = Math.max(before - rows[0]!.now, rows[0]!.now - after);
  return skew > MAX_SKEW_MS
    ? [`the clocks of this machine and of PostgreSQL differ by ${(skew / 1_000).toFixed(1)} seconds; set both by NTP`]
    : [];
}
