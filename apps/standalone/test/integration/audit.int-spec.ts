import { migrate } from '@market/persistence';
import { createDatabase, withClient } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { adminCommands } from '../../src/admin/commands.js';
import { statefulServices } from '../../src/stateful-services.js';

interface Case {
  /** The options of the command, and a statement that prepares data for it. */
  options?: Record<string, string>;
  before?: string;
}

/** Commands that change something, in the order in which they are run. */
const CHANGING: Record<string, Case> = {
  'listings seed': { options: { listings: '50' } },
  'scores recompute': {
    before: `INSERT INTO reputation.accounts (party_id, account_id) SELECT id, id FROM gen_random_uuid() id`,
  },
};
/** Commands that only read. */
const LOOKING: Record<string, Case> = {
  'listing duplicates': {},
  'books verify': {},
  'books reconcile': {},
  'books report': {},
  'payments report': {},
  'scores verify': {},
  migrate: {},
  doctor: {},
};

/** admin-commands.e2e-spec tests the commands that use the running marketplace. */
const onDatabases = adminCommands.filter(({ worksOn }) => worksOn !== 'http');

/**
 * Commands that need a chain, whose audit entries refunds.int-spec, payouts.e2e-spec and unwatched-chain.int-spec check,
 * and commands that copy data and have no database to record it in.
 */
const ELSEWHERE = [
  'payouts export',
  'payouts confirm',
  'refunds confirm',
  'payments end',
  'backup create',
  'backup verify',
  'backup restore',
];

describe('the audit', () => {
  let databaseUrl: string;
  const query = <Row extends object>(text: string): Promise<Row[]> =>
    withClient(databaseUrl, async (client) => (await client.query<Row>(text)).rows);

  beforeAll(async () => {
    databaseUrl = await createDatabase();
    for (const { database } of statefulServices) await migrate(database, databaseUrl);
  });

  /** A digest of the rows of all tables except the audit's. */
  const digest = async (): Promise<string[]> => {
    const tables = await query<{
      name: string;
    }>(`SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
      WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('information_schema', 'pg_catalog', 'public')
        AND table_name NOT IN ('operator_actions', 'payments_mode')`);
    const rows = await query(
      tables
        .map(
          ({ name }) => `SELECT '${name}' AS name, count(*), sum(hashtextextended(t::text, 0)::numeric) FROM ${name} t`,
        )
        .join(' UNION ALL '),
    );
    return rows.map((row) => JSON.stringify(row)).sort();
  };
  const noted = async (): Promise<string[]> => {
    const schemas = await query<{ name: string }>(
      "SELECT table_schema AS name FROM information_schema.tables WHERE table_name = 'operator_actions'",
    );
    const rows = schemas.map(
      ({ name }) => `SELECT command || ' by ' || operator AS entry FROM ${name}.operator_actions`,
    );
    return (await query<{ entry: string }>(rows.join(' UNION ALL '))).map(({ entry }) => entry);
  };
  /** Runs a command. @returns the tables that it changed. */
  const run = async (name: string, { options = {}, before }: Case): Promise<string[]> => {
    if (before) await query(before);
    const earlier = await digest();
    const command = onDatabases.find((candidate) => candidate.name === name)!;
    const env = { DATABASE_URL: databaseUrl, PAYMENTS_LEDGER_SIGNING_KEYS: randomBytes(32).toString('base64') };
    await command.run({ operator: 'ada', arguments: [], options }, env).catch((error: Error) => {
      if (error.name !== 'CommandFailure') throw error;
    });
    return (await digest()).filter((row) => !earlier.includes(row));
  };

  it('is tested for every command on databases', () => {
    expect([...Object.keys(CHANGING), ...Object.keys(LOOKING), ...ELSEWHERE].sort()).toEqual(
      onDatabases.map(({ name }) => name).sort(),
    );
  });

  it('names who ran each command that changed something, and no other', async () => {
    for (const [name, how] of Object.entries(CHANGING)) {
      expect([name, ...(await run(name, how))]).not.toEqual([name]);
      expect(await noted()).toContain(`${name} by ada`);
    }
    const before = await noted();
    for (const [name, how] of Object.entries(LOOKING)) expect([name, ...(await run(name, how))]).toEqual([name]);
    expect(await noted()).toEqual(before);
  }, 120_000);
});
