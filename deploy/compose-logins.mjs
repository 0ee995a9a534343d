import { readFileSync } from 'node:fs';
import { withClient } from '@market/testing';

/**
 * Initializes a PostgreSQL of this machine like the official image does at its first start with the variables of
 * docker-compose.yml. psql reads the passwords of logins from its environment (`\getenv`); this function inserts them
 * instead.
 */
export async function makeLogins(
  postgres,
  { POSTGRES_USER: owner, POSTGRES_DB: database, POSTGRES_PASSWORD: password, ...passwords },
) {
  const logins = readFileSync(new URL('docker/postgres/10-logins.sql', import.meta.url), 'utf8')
    .replaceAll(/^\\getenv.*$/gm, '')
    .replaceAll(/:'(\w+)'/g, (_, name) => `'${passwords[name.toUpperCase()]}'`);
  await withClient(postgres.url, async (client) => {
    await client.query(`CREATE ROLE ${owner} SUPERUSER LOGIN PASSWORD '${password}'`);
    await client.query(`CREATE DATABASE ${database} OWNER ${owner}`);
    await client.query(logins);
  });
}
