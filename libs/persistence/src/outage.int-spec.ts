import { UnavailableError } from '@market/kernel';
import { eventually, startPostgresProxy } from '@market/test-servers';
import { Logger } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { register } from 'prom-client';
import { shop } from '../test/fixtures/shop.js';
import { Database } from './database.js';
import { sql } from './statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const write = sql('outage.write', 'INSERT INTO journal (note) VALUES ($1)');
const sleep = sql('outage.sleep', 'SELECT pg_sleep(0.5)');

describe('an outage of PostgreSQL', () => {
  let fresh: FreshDatabase;
  let log: string[];

  beforeEach(async () => {
    fresh = await freshDatabase(shop, { poolSize: 4 });
    log = [];
    // What other tests of this process left behind may log, too.
    const take = (line: string) => line.startsWith('PostgreSQL of shop') && log.push(line);
    Logger.overrideLogger({ log: take, warn: take, error: take });
  });
  afterEach(async () => {
    Logger.overrideLogger(false);
    await fresh.drop();
  });

  it('that ends a connection before it has its settings is reported, and does not end the process', async () => {
    const slow = await startPostgresProxy(fresh.url, { delayMs: 1_000 });
    const opening = Database.open(shop, { url: slow.url, poolSize: 1 }).catch((error: Error) => error);
    await eventually(
      async () =>
        expect(
          await fresh.inspect(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'SELECT set_config%' AND pid <> pg_backend_pid()
               AND application_name = 'market shop' AND state = 'idle' AND backend_start > now() - interval '10 seconds'`,
          ),
        ).not.toEqual([]),
      { withinMs: 20_000 },
    );
    expect(await opening).toBeInstanceOf(Error);
    await slow.stop();
  });

  const writes = (count: number) =>
    Promise.allSettled(Array.from({ length: count }, (_, n) => fresh.database.query(write, [`note ${n}`])));
  const failuresOf = async (count: number): Promise<Error[]> =>
    (await writes(count)).flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
  const metric = async (name: string): Promise<string> =>
    (await register.getSingleMetricAsString(name))
      .split('\n')
      .filter((line) => line.includes('"shop"'))
      .join('\n');
  const isOver = () =>
    eventually(
      async () => {
        expect(await fresh.database.problem()).toBeNull();
        expect(fresh.database.isAway).toBe(false);
      },
      { withinMs: 10_000, everyMs: 250 },
    );

  it('is one line with its cause, a count of what failed, and one line when it is over', async () => {
    await fresh.inspect(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
    await fresh.inspect('CREATE TRIGGER full_disk BEFORE INSERT ON shop.journal EXECUTE FUNCTION full_disk()');
    const failures = await failuresOf(40);
    expect(failures).toHaveLength(40);
    for (const failure of failures) expect(failure).toMatchObject({ name: 'UnavailableError', isReported: true });
    expect(log).toEqual([
      'PostgreSQL of shop cannot be used: its disk is full (53100 could not extend file: No space left on device)',
    ]);
    expect(await fresh.database.problem()).toBe('its disk is full');
    expect(await metric('market_database_up')).toBe('market_database_up{service="shop"} 0');
    expect(await metric('market_database_failures_total')).toContain('cause="its disk is full"} 40');

    await fresh.inspect('DROP TRIGGER full_disk ON shop.journal');
    await isOver();
    expect(log.slice(1)).toEqual([
      expect.stringMatching(/^PostgreSQL of shop works again; 40 statements failed in \d+\.\d s$/),
    ]);
    expect(await metric('market_database_up')).toBe('market_database_up{service="shop"} 1');
    expect(await failuresOf(1)).toEqual([]);
  });

  it('tells that the server takes no writes', async () => {
    const name = new URL(fresh.url).pathname.slice(1);
    await fresh.inspect(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await fresh.inspect(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'market shop'",
    );
    await eventually(async () => expect(await fresh.database.problem()).toBe('it is read-only'));
    expect((await failuresOf(1))[0]).toBeInstanceOf(UnavailableError);
  });

  it('tells that the server gives no further connection', async () => {
    const login = `login_${randomBytes(4).toString('hex')}`;
    await fresh.inspect(`CREATE ROLE ${login} LOGIN PASSWORD 'p' CONNECTION LIMIT 1 IN ROLE market_shop`);
    const url = Object.assign(new URL(fresh.url), { username: login, password: 'p' }).href;
    const crowded = await Database.open(shop, { url, poolSize: 4 });
    try {
      const sleeps = await Promise.allSettled(Array.from({ length: 4 }, () => crowded.query(sleep)));
      expect(sleeps.filter(({ status }) => status === 'rejected')).toHaveLength(3);
      expect(await crowded.problem()).toBe('it has too many connections');
      expect(log).toEqual([
        expect.stringMatching(/^PostgreSQL of shop cannot be used: it has too many connections \(53300 /),
      ]);
    } finally {
      await crowded.close();
      await fresh.inspect(`DROP ROLE ${login}`);
    }
  });
});
