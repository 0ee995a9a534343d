import type { CheckedFor } from './check-budgets.js';
import type { Task, Verdict } from './check-worker.js';
import { ChecksBusy, FairChecks } from './fair-checks.js';

const SLOW_MS = 250;
const QUICK_MS = 10;

/** Threads of which each check takes what its schema says, by a clock that only they move. */
class FakeThreads {
  now = 0;
  started: string[] = [];
  private readonly open: (() => void)[] = [];

  readonly execute = ({ schema }: Task): Promise<Verdict> => {
    const { name, ms } = JSON.parse(schema) as { name: string; ms: number };
    this.started.push(name);
    return new Promise((resolve) =>
      this.open.push(() => {
        this.now += ms;
        resolve({ ms });
      }),
    );
  };

  /** Ends the checks that run, those that start then, and so on. */
  async drain(): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const end = this.open.shift();
      if (!end) return;
      end();
    }
  }
}

describe('the checks of a process', () => {
  let threads: FakeThreads;
  let checks: FairChecks;
  beforeEach(() => {
    threads = new FakeThreads();
    checks = new FairChecks(threads.execute, 1, () => threads.now);
  });

  const change = (seller: string): CheckedFor => ({ purpose: 'listings', sellerId: seller });
  const call = (seller: string, callerId?: string): CheckedFor => ({ purpose: 'calls', sellerId: seller, callerId });
  /** Resolves with how a check ended: 0, or after how many seconds it may be asked for again. */
  const check = (account: CheckedFor, ms: number): Promise<number> =>
    checks.run({ kind: 'schema', schema: JSON.stringify({ name: account.sellerId, ms }) }, account).then(
      () => 0,
      (error: unknown) => {
        if (error instanceof ChecksBusy) return error.retryAfterSeconds;
        throw error;
      },
    );
  const flood = (accounts: CheckedFor[], count: number): Promise<number[]> =>
    Promise.all(accounts.flatMap((account) => Array.from({ length: count }, () => check(account, SLOW_MS))));
  const ended = async <T>(asked: Promise<T>): Promise<T> => {
    await threads.drain();
    return asked;
  };

  it.each([
    ['changes of one seller', [change('a')], 2_000],
    ['calls of one seller', [call('a', 'x'), call('a', 'y'), call('a', 'z'), call('a', 'u'), call('a', 'v')], 2_000],
    ['calls of one caller', [call('a', 'x')], 500],
    ['calls without a key', [call('a')], 500],
    ['changes of ten sellers', Array.from({ length: 10 }, (_, n) => change(`${n}`)), 4_000],
  ])('have a burst for %s, then a part of the time, and say when there is more', async (_what, accounts, burstMs) => {
    const answers = await ended(flood(accounts, 90));
    const usedMs = threads.now;
    expect(usedMs).toBeGreaterThanOrEqual(burstMs);
    expect(usedMs).toBeLessThan(3 * burstMs);
    const waits = answers.filter((seconds) => seconds > 0);
    expect(waits.length).toBeGreaterThan(answers.length / 2);
    threads.now += Math.max(...waits) * 1_000;
    expect(await ended(check(accounts[0]!, SLOW_MS))).toBe(0);
  });

  it('give all sellers together half of the threads at most, but each one what is reserved for it', async () => {
    const many = Array.from({ length: 10 }, (_, n) => change(`${n}`));
    await ended(flood(many, 90));
    const began = threads.now;
    let used = 0;
    for (let round = 0; round < 200; round += 1) {
      const before = threads.now;
      await ended(flood(many, 1));
      used += threads.now - before;
      threads.now += 100;
    }
    // Half, and a fiftieth for each of the ten.
    expect(used / (threads.now - began)).toBeLessThan(0.75);
    expect(await ended(check(change('new'), QUICK_MS))).toBe(0);
    expect(await ended(check(call('new'), QUICK_MS))).toBe(0);
  });

  it('run first for who has used least, and after no other queue', async () => {
    await ended(Promise.all(['a', 'b', 'c', 'd', 'e'].map((seller) => check(change(seller), SLOW_MS))));
    threads.started = [];
    const slow = flood(['a', 'b', 'c', 'd', 'e'].map(change), 5);
    await new Promise(setImmediate);
    const quick = check(call('new'), QUICK_MS);
    expect(await ended(quick)).toBe(0);
    await slow;
    expect(threads.started.indexOf('new')).toBe(1);
  });

  it('leave a seller the time to replace a schema on which strangers have spent that for calls', async () => {
    await ended(flood([call('a', 'x'), call('a', 'y'), call('a', 'z'), call('a', 'u'), call('a', 'v')], 90));
    expect(await ended(check(call('a', 'w'), QUICK_MS))).toBeGreaterThan(0);
    expect(await ended(check(change('a'), QUICK_MS))).toBe(0);
  });

  it('refuse the heaviest of too many sellers', async () => {
    await ended(check(change('heavy'), SLOW_MS));
    const running = check(change('running'), QUICK_MS);
    const heavy = check(change('heavy'), QUICK_MS);
    const others = Promise.all(Array.from({ length: 64 }, (_, n) => check(change(`${n}`), QUICK_MS)));
    expect(await ended(Promise.all([running, heavy]))).toEqual([0, 1]);
    expect(new Set(await others)).toEqual(new Set([0]));
  });

  it('go on after one that fails', async () => {
    const failing = new FairChecks(() => Promise.reject(new Error('no thread')), 1);
    for (const account of [change('a'), change('a'), change('b')])
      await expect(failing.run({ kind: 'schema', schema: '{}' }, account)).rejects.toThrow('no thread');
  });
});
