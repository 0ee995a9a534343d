import { UnavailableError } from '@market/kernel';
import { eventually, startOwnProcess, startPostgresProxy, type OwnProcess } from '@market/test-servers';
import { setTimeout as delay } from 'node:timers/promises';
import { shop } from '../test/fixtures/shop.js';
import { Locks, type Lock } from './locks.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

/** How soon a lock is free again, whatever became of its holder. */
const HEAL_MS = 3_000;

describe('Locks', () => {
  let fresh: FreshDatabase;
  const opened: Locks[] = [];
  beforeAll(async () => {
    fresh = await freshDatabase(shop);
  });
  afterEach(() => Promise.all(opened.splice(0).map((locks) => locks.close())));
  afterAll(() => fresh.drop());

  const open = async (url = fresh.url): Promise<Locks> => {
    const locks = new Locks(url);
    await locks.open();
    opened.push(locks);
    return locks;
  };
  const taken = async (locks: Locks, name: string): Promise<Lock> =>
    eventually(
      async () => {
        const lock = await locks.acquire(name);
        expect(lock).not.toBeNull();
        return lock!;
      },
      { withinMs: HEAL_MS },
    );
  const sessions = async (): Promise<number[]> =>
    (
      await fresh.inspect<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE application_name = 'market locks' AND datname = current_database()`,
      )
    ).map(({ pid }) => pid);
  const held = async (): Promise<number> =>
    (
      await fresh.inspect<{ count: number }>(
        `SELECT count(*)::int FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE l.locktype = 'advisory' AND d.datname = current_database() AND l.mode = 'ExclusiveLock'`,
      )
    )[0]!.count;

  it('gives each lock to one holder at a time, in this process and in others, until it is released', async () => {
    const [one, other] = [await open(), await open()];
    const first = await taken(one, 'call');
    expect([await one.acquire('call'), await other.acquire('call')]).toEqual([null, null]);
    expect(first.isHeld()).toBe(true);
    first.release();
    const second = await taken(other, 'call');
    // A lock that was released twice is not that of the next holder.
    first.release();
    expect([await one.acquire('call'), second.isHeld()]).toEqual([null, true]);
    second.release();
    const again = await taken(one, 'call');
    again.release();
    await eventually(async () => expect(await held()).toBe(0));
  });

  it('gives each of many names to one of many that ask at once', async () => {
    const all = [await open(), await open(), await open()];
    const names = Array.from({ length: 100 }, (_, index) => `call ${index}`);
    await taken(all[0]!, 'warm');
    const locks = await Promise.all(
      names.flatMap((name) => [...all, ...all].map(async (each) => [name, await each.acquire(name)] as const)),
    );
    expect(locks.filter(([, lock]) => lock).map(([name]) => name)).toEqual(names);
    locks.forEach(([, lock]) => lock?.release());
  });

  it('waits for a server that gives no session yet', async () => {
    const proxy = await startPostgresProxy(fresh.url);
    const heal = proxy.cut();
    const opening = open(proxy.url);
    // The first try ends after a second.
    await delay(1_200);
    heal();
    (await taken(await opening, 'call')).release();
    await proxy.stop();
  });

  /** Starts a process that holds the lock `call`. */
  const holder = async (): Promise<OwnProcess> => {
    const script = `
      const { Locks } = await import('@market/persistence');
      const locks = new Locks(${JSON.stringify(fresh.url)});
      await locks.open();
      const lock = await locks.acquire('call');
      console.log(lock ? 'holds' : 'holds nothing');
      process.once('SIGUSR2', async () => {
        console.log(lock.isHeld() ? 'still holds' : 'lost');
      });
      setInterval(() => {}, 1000);`;
    const child = startOwnProcess(process.execPath, ['--input-type=module', '--eval', script]);
    await eventually(() => expect(child.output()).toContain('holds'), { withinMs: 20_000 });
    expect(child.output()).not.toContain('nothing');
    return child;
  };

  it('is free soon after its holder was killed', async () => {
    const child = await holder();
    const locks = await open();
    expect(await locks.acquire('call')).toBeNull();
    await child.stop('SIGKILL');
    (await taken(locks, 'call')).release();
  });

  it('is free soon after its holder was stopped, which then knows that it lost it', async () => {
    const child = await holder();
    const locks = await open();
    expect(await locks.acquire('call')).toBeNull();
    process.kill(child.pid, 'SIGSTOP');
    const lock = await taken(locks, 'call');
    process.kill(child.pid, 'SIGUSR2');
    process.kill(child.pid, 'SIGCONT');
    await eventually(() => expect(child.output()).toMatch(/lost/), { withinMs: 10_000 });
    lock.release();
    await child.stop('SIGKILL');
  });

  it('is free soon after its holder was cut off, whose right has ended before', async () => {
    const proxy = await startPostgresProxy(fresh.url);
    const [one, other] = [await open(proxy.url), await open()];
    const lock = await taken(one, 'call');
    proxy.cut();
    let wasHeld = true;
    await eventually(
      async () => {
        wasHeld = lock.isHeld();
        expect(await other.acquire('call')).not.toBeNull();
      },
      { withinMs: HEAL_MS },
    );
    expect(wasHeld).toBe(false);
    await one.close();
    await proxy.stop();
  });

  it('is taken again first by its holder when PostgreSQL lost all of them, and gives no right to it', async () => {
    const [one, other] = [await open(), await open()];
    const lock = await taken(one, 'call');
    await fresh.inspect('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [await sessions()]);
    await eventually(() => expect(lock.isHeld()).toBe(false));
    const next = await taken(other, 'another call');
    expect([await other.acquire('call'), lock.isHeld()]).toEqual([null, false]);
    lock.release();
    (await taken(other, 'call')).release();
    next.release();
  });

  it('is free once its holder releases it, at any moment while the session is replaced', async () => {
    const locks = await open();
    const own = (await sessions())[0]!;
    await taken(locks, 'warm').then((lock) => lock.release());
    const all = await Promise.all(Array.from({ length: 1_000 }, (_, n) => locks.acquire(`call ${n}`)));
    await fresh.inspect('SELECT pg_terminate_backend($1)', [own]);
    let isReplaced = false;
    const replaced = eventually(async () => expect(await sessions()).not.toContain(own))
      .then(() => taken(locks, 'after'))
      .then((lock) => lock.release())
      .finally(() => (isReplaced = true));
    while (!isReplaced && all.length > 1) {
      all.shift()!.release();
      await delay(0);
    }
    await replaced;
    for (const lock of all) lock!.release();
    await eventually(async () => expect(await held()).toBe(0), { withinMs: HEAL_MS });
  });

  it('is refused to those that would fill the lock table', async () => {
    const locks = await open();
    await taken(locks, 'first');
    const capacity = await fresh.inspect<{ locks: number }>(
      `SELECT current_setting('max_locks_per_transaction')::int
         * (current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int) AS locks`,
    );
    const count = capacity[0]!.locks / 4;
    const results = await Promise.allSettled(
      Array.from({ length: count + 5 }, (_, index) => locks.acquire(`full ${index}`)),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(count - 1);
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused.every(({ reason }) => reason instanceof UnavailableError)).toBe(true);
  });
});
