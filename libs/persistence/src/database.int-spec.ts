import { ContentionError, UnavailableError } from '@market/kernel';
import { describeNeeding, eventually, startPgBouncer, type PgBouncer } from '@market/test-servers';
import { freshDatabase, type FreshDatabase } from './testing/index.js';
import { Logger } from '@nestjs/common';
import { register } from 'prom-client';
import { shop } from '../test/fixtures/shop.js';
import { Database, type DatabaseOptions, type Tx } from './database.js';
import { migrate } from './migrate.js';
import { sql } from './statement.js';

Logger.overrideLogger(false);

const addOne = sql('test.add-one', 'UPDATE counters SET value = value + 1 WHERE name = $1');
const insert = sql('test.insert', 'INSERT INTO counters (name, value) VALUES ($1, 0)');
const read = sql('test.read', 'SELECT value FROM counters WHERE name = $1');
const note = sql('test.note', 'INSERT INTO journal (note) VALUES ($1)');
const myPid = sql('test.pid', 'SELECT pg_backend_pid() AS pid');

/** Returns a function whose promises resolve when `size` callers have called it. */
function barrier(size: number): () => Promise<void> {
  const open: (() => void)[] = [];
  return () =>
    new Promise((resolve) => {
      open.push(resolve);
      if (open.length === size) open.forEach((go) => go());
    });
}

const direct = ['directly', describe, null] as const;
const pooled = (['session', 'transaction'] as const).map(
  (mode) => [`through PgBouncer, pooling by ${mode}`, describeNeeding('pgbouncer'), mode] as const,
);

describe.each([direct, ...pooled])('Database, %s', (way, describe, pooling) =>
  describe(way, () => {
    let fresh: FreshDatabase;
    let database: Database;
    let pooler: PgBouncer | undefined;
    /** How a service reaches a database here. */
    let reached: (url: string) => DatabaseOptions;

    beforeAll(async () => {
      pooler = pooling ? await startPgBouncer(process.env.TEST_DATABASE_URL!, pooling) : undefined;
      const through = (url: string): string => pooler?.through(url) ?? url;
      reached = (url) => ({ url: through(url), pooling: pooling ?? 'session' });
      fresh = await freshDatabase(shop, { poolSize: 6, through, pooling: pooling ?? 'session' });
      database = fresh.database;
    });
    afterAll(async () => {
      await fresh.drop();
      await pooler?.stop();
    });

    const valueOf = async (name: string): Promise<number | undefined> =>
      (await database.query<{ value: number }>(read, [name]))[0]?.value;
    const terminate = (pid: number): Promise<unknown> => fresh.inspect('SELECT pg_terminate_backend($1)', [pid]);
    const pidOf = async (tx: Tx): Promise<number> => (await tx.query<{ pid: number }>(myPid))[0]!.pid;

    describe('the role of a service', () => {
      it('is missed in a sentence on a server where its schema was never made', async () => {
        const { schema, ...rest } = shop;
        await expect(Database.open({ ...rest, schema: `${schema}_elsewhere` }, reached(fresh.url))).rejects.toThrow(
          `the schema ${schema}_elsewhere was never made in this database: run \`market-admin migrate\` with the URL that is used here`,
        );
      });

      it('may do what it is granted and nothing more', async () => {
        await database.query(note, ['appended']);
        await expect(
          database.query(sql('test.rewrite', "UPDATE journal SET note = 'rewritten'")),
        ).rejects.toMatchObject({
          code: '42501',
        });
        await expect(database.query(sql('test.erase', 'DELETE FROM journal'))).rejects.toMatchObject({ code: '42501' });
        await expect(database.query(sql('test.truncate', 'TRUNCATE journal'))).rejects.toMatchObject({ code: '42501' });
        await expect(database.query(sql('test.create', 'CREATE TABLE smuggled ()'))).rejects.toMatchObject({
          code: '42501',
        });
        await expect(
          database.transaction((tx) => tx.query(sql('test.erase', 'DELETE FROM journal'))),
        ).rejects.toMatchObject({
          code: '42501',
        });
      });

      it('sees nothing of another service in the same database', async () => {
        const bank = { schema: 'bank', migrations: [] };
        await migrate(bank, fresh.url);
        const other = await Database.open(bank, reached(fresh.url));
        await expect(other.query(sql('test.peek', 'SELECT * FROM shop.counters'))).rejects.toMatchObject({
          code: '42501',
        });
        await other.close();
      });
    });

    describe('a transaction', () => {
      it('is kept whole or not at all', async () => {
        await expect(
          database.transaction(async (tx) => {
            await tx.query(insert, ['half']);
            throw new Error('changed my mind');
          }),
        ).rejects.toThrow('changed my mind');
        expect(await valueOf('half')).toBeUndefined();
        await database.transaction((tx) => tx.query(insert, ['half']));
        expect(await valueOf('half')).toBe(0);
      });

      it('that lost a deadlock runs again, and both sides are done', async () => {
        await Promise.all(['left', 'right'].map((name) => database.query(insert, [name])));
        const meet = barrier(2);
        let runs = 0;
        const inOrder = async (first: string, second: string): Promise<void> => {
          let met = false;
          await database.transaction(async (tx) => {
            runs += 1;
            await tx.query(addOne, [first]);
            if (!met) await meet();
            met = true;
            await tx.query(addOne, [second]);
          });
        };
        await Promise.all([inOrder('left', 'right'), inOrder('right', 'left')]);
        expect(runs).toBe(3);
        expect([await valueOf('left'), await valueOf('right')]).toEqual([2, 2]);
      });

      it('that keeps losing is counted, and never called an outage', async () => {
        let runs = 0;
        const lost = database.transaction(async (tx) => {
          runs += 1;
          await tx.query(sql('test.lose', "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$"));
        });
        await expect(lost).rejects.toThrow(ContentionError);
        expect(runs).toBe(4);
        expect(await register.getSingleMetricAsString('market_transactions_lost_total')).toMatch(
          /kind="serialization_failure"\} \d/,
        );
      });

      it('does what is to follow the commit after it, once, and never after a rollback', async () => {
        const seen: (number | undefined)[] = [];
        let attempt = 0;
        await database.transaction(async (tx) => {
          attempt += 1;
          await tx.query(insert, ['after']);
          tx.afterCommit(() => void valueOf('after').then((value) => seen.push(value)));
          tx.afterCommit(() => {
            throw new Error('of no consequence');
          });
          if (attempt === 1) await tx.query(sql('test.conflict', "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"));
        });
        await eventually(() => expect(seen).toEqual([0]));
        expect(attempt).toBe(2);

        const rolledBack = database.transaction(async (tx) => {
          tx.afterCommit(() => seen.push(99));
          throw new Error('no');
        });
        await expect(rolledBack).rejects.toThrow('no');
        expect(seen).toEqual([0]);
      });

      it('refused by a deferred constraint at its commit is an error, and nothing of it is left', async () => {
        await fresh.inspect(
          'CREATE TABLE shop.strict (n int UNIQUE DEFERRABLE INITIALLY DEFERRED); GRANT INSERT, SELECT ON shop.strict TO market_shop',
        );
        const twice = sql('test.strict', 'INSERT INTO strict VALUES (1), (1)');
        const committed: string[] = [];
        const refused = database.transaction(async (tx) => {
          tx.afterCommit(() => committed.push('committed'));
          await tx.query(twice);
        });
        await expect(refused).rejects.toMatchObject({ code: '23505' });
        expect(committed).toEqual([]);
        expect(await database.query(sql('test.strict-count', 'SELECT n FROM strict'))).toEqual([]);
      });
    });

    describe('a statement that is only sent', () => {
      it('is part of the transaction, in its order', async () => {
        await database.transaction(async (tx) => {
          tx.send(insert, ['sent']);
          tx.send(addOne, ['sent']);
          const [row] = await tx.query<{ value: number }>(read, ['sent']);
          expect(row).toEqual({ value: 1 });
          tx.send(addOne, ['sent']);
        });
        expect(await valueOf('sent')).toBe(2);
      });

      it('fails the transaction if it fails, whatever stands after it, and its connection is good for the next one', async () => {
        const committed: string[] = [];
        for (let n = 0; n < 8; n += 1) {
          const failed = database.transaction(async (tx) => {
            tx.afterCommit(() => committed.push('committed'));
            tx.send(insert, ['doomed']);
            tx.send(insert, ['doomed']);
            tx.send(addOne, ['sent']);
          });
          await expect(failed).rejects.toMatchObject({ code: '23505' });
        }
        expect([committed, await valueOf('doomed'), await valueOf('sent')]).toEqual([[], undefined, 2]);
      });

      it('gives its rows after the commit', async () => {
        const { rows } = await database.transaction((tx) => {
          tx.send(addOne, ['sent']);
          return Promise.resolve(tx.send<{ value: number }>(read, ['sent']));
        });
        expect(await rows).toEqual([{ value: 3 }]);
        await database.query(sql('test.subtract-one', 'UPDATE counters SET value = value - 1 WHERE name = $1'), [
          'sent',
        ]);
      });

      it('is rolled back with what was thrown after it', async () => {
        const thrown = database.transaction(async (tx) => {
          tx.send(addOne, ['sent']);
          throw new Error('changed my mind');
        });
        await expect(thrown).rejects.toThrow('changed my mind');
        expect(await valueOf('sent')).toBe(2);
      });

      it('that lost a deadlock is run again with its transaction', async () => {
        let runs = 0;
        await database.transaction(async (tx) => {
          runs += 1;
          tx.send(addOne, ['sent']);
          if (runs === 1) tx.send(sql('test.sent-conflict', "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$"));
        });
        expect([runs, await valueOf('sent')]).toEqual([2, 3]);
      });

      it.each(['sent', 'awaited'])(
        'does not hide the cause of a failure beside it: that of one that is %s',
        async (kind) => {
          let runs = 0;
          const conflict = sql('test.conflict', "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$");
          await database.transaction(async (tx) => {
            runs += 1;
            if (runs > 1) return;
            if (kind === 'sent') tx.send(conflict);
            const awaited = tx.query(kind === 'sent' ? read : conflict, kind === 'sent' ? ['sent'] : []);
            tx.send(addOne, ['sent']);
            await awaited;
          });
          expect([runs, await valueOf('sent')]).toEqual([2, 3]);
        },
      );
    });

    describe('a lost connection', () => {
      it('is unavailable to whoever held it, and the next one gets another', async () => {
        const cut = database.transaction(async (tx) => {
          await tx.query(insert, ['cut']);
          await terminate(await pidOf(tx));
          await tx.query(addOne, ['cut']);
        });
        await expect(cut).rejects.toThrow(UnavailableError);
        expect(await valueOf('cut')).toBeUndefined();
        await database.query(insert, ['cut']);
      });

      it('between two statements of a transaction, or while idle in the pool, harms nothing else', async () => {
        const cut = database.transaction(async (tx) => {
          const pid = await pidOf(tx);
          await terminate(pid);
          await eventually(async () =>
            expect(await fresh.inspect('SELECT 1 FROM pg_stat_activity WHERE pid = $1', [pid])).toEqual([]),
          );
        });
        await expect(cut).rejects.toThrow(UnavailableError);

        await fresh.inspect(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'market shop'",
        );
        const answers = await Promise.allSettled(Array.from({ length: 12 }, () => valueOf('left')));
        for (const answer of answers) {
          if (answer.status === 'fulfilled') expect(answer.value).toBe(2);
          else expect(answer.reason).toBeInstanceOf(UnavailableError);
        }
        expect(await valueOf('left')).toBe(2);
      });

      it('is unavailable too where there is no server at all', async () => {
        const gone = await freshDatabase(shop);
        const url = new URL(gone.url);
        url.port = '1';
        await expect(Database.open(shop, { url: url.href })).rejects.toThrow(/ECONNREFUSED/);
        await gone.drop();
      });
    });

    it('gives no more connections than its pool has, and waits instead of failing', async () => {
      const pids = await Promise.all(Array.from({ length: 40 }, () => database.transaction(pidOf)));
      expect(new Set(pids).size).toBeLessThanOrEqual(6);
    });

    it('stops a statement that runs too long', async () => {
      const shortTimeout = await Database.open(shop, { ...reached(fresh.url), statementTimeoutMs: 50 });
      await expect(shortTimeout.query(sql('test.sleep', 'SELECT pg_sleep(5)'))).rejects.toThrow(UnavailableError);
      await shortTimeout.close();
    });

    it('refuses two statements of one name', () => {
      sql('test.twice', 'SELECT 1');
      expect(() => sql('test.twice', 'SELECT 2')).toThrow('two statements are called test.twice');
    });
  }),
);
