import { inProcessTransport } from '@market/messaging';
import { Jobs, runProcess } from '@market/runtime';
import { createDatabase, withClient } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mock } from 'node:test';
import { statefulServices } from '../../src/stateful-services.js';

const DOCUMENT = new URL('../../../../docs/operations.md', import.meta.url);

/**
 * Reads the table in the document: `catalog.listings` with the job that prunes it. Tables and jobs of each service
 * apply to all services.
 */
function documented(): { table: string; service: string; job: string | undefined }[] {
  const [, section] = readFileSync(DOCUMENT, 'utf8').split('## What is kept, and for how long\n');
  const rows = section!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => /^\| [a-z]/.test(line) && !/^\| service /.test(line));
  return rows.flatMap((row) => {
    const [, service, tables, , job] = row.split('|').map((cell) => cell.trim());
    const services = service === 'each' ? statefulServices.map(({ name }) => name) : [service!];
    return services.flatMap((name) =>
      tables!.split(', ').map((table) => ({
        service: name,
        table: `${name.replaceAll('-', '_')}.${table.replaceAll('`', '')}`,
        job: job ? job.replaceAll('`', '') : undefined,
      })),
    );
  });
}

describe('what is kept, and for how long', () => {
  it('is documented of every table, and what is pruned has its job', async () => {
    const databaseUrl = await createDatabase();
    const every = mock.method(Jobs.prototype, 'every');
    const running = await runProcess(statefulServices, inProcessTransport(), {
      DATABASE_URL: databaseUrl,
      LOG_LEVEL: 'error',
      ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64'),
    });
    const jobs = every.mock.calls.map(({ arguments: [name] }) => name.trim());
    await running.stop();
    every.mock.restore();
    const tables = await withClient(databaseUrl, async (client) => {
      const { rows } = await client.query<{ name: string }>(`SELECT table_schema || '.' || table_name AS name
        FROM information_schema.tables
        WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('information_schema', 'pg_catalog', 'public')
          AND NOT (SELECT relispartition FROM pg_class WHERE oid = (table_schema || '.' || table_name)::regclass)`);
      return rows.map(({ name }) => name);
    });
    const rows = documented();
    expect(rows.map(({ table }) => table).sort()).toEqual(tables.sort());
    expect(jobs).toEqual(expect.arrayContaining(rows.flatMap(({ job }) => job ?? [])));
  });
});
