import { randomBytes } from 'node:crypto';
import { Database, migrate, type DatabaseDefinition, type DatabaseOptions } from '../index.js';
import type pg from 'pg';
import { withClient } from './with-client.js';

export interface FreshDatabase {
  readonly database: Database;
  /** The URL of the login user, who owns the tables and has more rights than the service's role. */
  readonly url: string;
  /** Runs one statement as the login user, outside the service's role and pool. */
  inspect<Row extends pg.QueryResultRow>(statement: string, values?: unknown[]): Promise<Row[]>;
  /** Closes `database` and removes the database that it used. */
  drop(): Promise<void>;
}

/**
 * Creates an empty, migrated database on the server of TEST_DATABASE_URL, and opens it as its service does.
 * @param through the URL at which the service reaches it, such as that of a pooler.
 */
export async function freshDatabase(
  definition: DatabaseDefinition,
  { through = (url) => url, ...options }: Omit<DatabaseOptions, 'url'> & { through?: (url: string) => string } = {},
): Promise<FreshDatabase> {
  const name = `test_${definition.schema}_${randomBytes(6).toString('hex')}`;
  const url = await createDatabase(name);
  await migrate(definition, url);
  const database = await Database.open(definition, { url: through(url), ...options });
  return {
    database,
    url,
    inspect: (statement, values) => withClient(url, async (client) => (await client.query(statement, values)).rows),
    async drop() {
      await database.close();
      await withClient(serverUrl(), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}

/** Creates an empty database without the schemas of the services. @returns its URL, as the login user. */
export async function createDatabase(name = `test_${randomBytes(6).toString('hex')}`): Promise<string> {
  await withClient(serverUrl(), (client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url)
    throw new Error(
      'TEST_DATABASE_URL is not set; integration specs run with jest -c .config/jest.int.mjs, which sets it',
    );
  return url;
}
