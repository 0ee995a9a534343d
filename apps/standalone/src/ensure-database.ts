import type { EmbeddedPostgres } from '@market/embedded-postgres';
import { Client } from 'pg';

/** Creates the marketplace's database on the first start. @returns its URL. */
export async function ensureDatabase(postgres: EmbeddedPostgres, name: string): Promise<string> {
  const client = new Client({ connectionString: postgres.url });
  // The next statement reports a lost connection. Without a listener this error would end the process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${name}`);
    return postgres.databaseUrl(name);
  } finally {
    await client.end();
  }
}
