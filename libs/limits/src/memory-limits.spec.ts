import * as fc from 'fast-check';
import type { LimitRule } from './limits.js';
import { MemoryLimits } from './memory-limits.js';

const rule: LimitRule = { name: 'calls', points: 120, perSeconds: 60, burst: 30 };

/** Limits with a clock that the test sets, in milliseconds. */
function limitsAt(startMs = 0) {
  const clock = { ms: startMs };
  return { clock, limits: new MemoryLimits(() => clock.ms * 1000) };
}

describe('MemoryLimits', () => {
  it('has as many permits of a key as are allowed, and each comes free once', async () => {
    const { limits } = limitsAt();
    const acquire = (key = 'a') => limits.acquire('calls', key, 2);
    const permits = await Promise.all(Array.from({ length: 20 }, () => acquire()));
    expect(permits.slice(2)).toEqual(Array.from({ length: 18 }, () => null));
    const other = await acquire('b');
    expect(other).not.toBeNull();
    [1, 2, 3].forEach(() => permits[0]!.release());
    const third = await acquire();
    expect([third === null, await acquire()]).toEqual([false, null]);
    [permits[1], third, other].forEach((permit) => permit!.release());
    expect(limits.size).toBe(0);
  });

  it('has what was put back, and no more than a full bucket', async () => {
    const { limits } = limitsAt();
    await limits.consume(rule, 'a', 30);
    limits.putBack(rule, 'a');
    expect([await limits.consume(rule, 'a'), await limits.consume(rule, 'a')]).toMatchObject([
      { allowed: true },
      { allowed: false },
    ]);
    limits.putBack(rule, 'a', 100);
    expect(await limits.consume(rule, 'a')).toMatchObject({ allowed: true, remaining: 29 });
  });

  it('allows a burst, then as many as come back', async () => {
    const { clock, limits } = limitsAt();
    for (let left = 29; left >= 0; left--) {
      expect(await limits.consume(rule, 'a')).toEqual({
        allowed: true,
        limit: 30,
        remaining: left,
        retryAfterSeconds: 0,
        resetSeconds: Math.ceil((30 - left) / 2),
      });
    }
    expect(await limits.consume(rule, 'a')).toEqual({
      allowed: false,
      limit: 30,
      remaining: 0,
      retryAfterSeconds: 1,
      resetSeconds: 15,
    });
    clock.ms += 499;
    expect((await limits.consume(rule, 'a')).allowed).toBe(false);
    clock.ms += 1;
    expect((await limits.consume(rule, 'a')).allowed).toBe(true);
    expect((await limits.consume(rule, 'a')).allowed).toBe(false);
  });

  it('is kept to from the first instant by a rule without a burst', async () => {
    const { limits } = limitsAt();
    const hourly = { name: 'registrations', points: 10, perSeconds: 3600 };
    for (let n = 0; n < 10; n++) expect((await limits.consume(hourly, 'a')).allowed).toBe(true);
    expect(await limits.consume(hourly, 'a')).toEqual({
      allowed: false,
      limit: 10,
      remaining: 0,
      retryAfterSeconds: 360,
      resetSeconds: 3600,
    });
  });

  it('takes all or nothing of what costs more than one token', async () => {
    const { limits } = limitsAt();
    expect(await limits.consume(rule, 'a', 20)).toMatchObject({ allowed: true, remaining: 10 });
    expect(await limits.consume(rule, 'a', 20)).toMatchObject({ allowed: false, remaining: 10, retryAfterSeconds: 5 });
    expect(await limits.consume(rule, 'a', 10)).toMatchObject({ allowed: true, remaining: 0 });
    expect(limits.peek(rule, 'a')).toMatchObject({ allowed: true, remaining: 0 });
    expect(limits.peek(rule, 'b')).toMatchObject({ allowed: true, remaining: 30 });
  });

  it('lets a rule be made smaller', async () => {
    const { clock, limits } = limitsAt();
    await limits.consume(rule, 'a', 30);
    expect(await limits.consume({ ...rule, burst: 2 }, 'a')).toEqual({
      allowed: false,
      limit: 2,
      remaining: 0,
      retryAfterSeconds: 1,
      resetSeconds: 1,
    });
    clock.ms += 15_000;
    expect((await limits.consume({ ...rule, burst: 2 }, 'a', 2)).allowed).toBe(true);
  });

  it('counts keys and rules apart', async () => {
    const { limits } = limitsAt();
    await limits.consume(rule, 'a', 30);
    expect((await limits.consume(rule, 'b', 30)).allowed).toBe(true);
    expect((await limits.consume({ ...rule, name: 'reads' }, 'a', 30)).allowed).toBe(true);
  });

  it('keeps no bucket that is full', async () => {
    const { clock, limits } = limitsAt();
    for (let n = 0; n < 1_000; n++) await limits.consume(rule, `key ${n}`);
    expect(limits.size).toBe(1_000);
    clock.ms += 11_000;
    await limits.consume(rule, 'another');
    expect(limits.size).toBe(1);
  });

  it('allows what a bucket that is filled by the clock would, whatever is asked when', () => {
    const asked = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 5_000 }), cost: fc.integer({ min: 0, max: 12 }) }),
      { maxLength: 60 },
    );
    const rules = fc.record({
      points: fc.constantFrom(1, 2, 5, 10, 50, 100),
      perSeconds: fc.constantFrom(1, 10, 60),
      burst: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(rules, asked, (options, requests) => {
        const tested: LimitRule = { name: 'tested', ...options };
        const { clock, limits } = limitsAt(1);
        const capacity = options.burst ?? options.points;
        const tokenMs = (options.perSeconds * 1000) / options.points;
        let tokensMs = capacity * tokenMs;
        for (const { afterMs, cost } of requests) {
          clock.ms += afterMs;
          tokensMs = Math.min(capacity * tokenMs, tokensMs + afterMs);
          const verdict = limits.take(tested, 'key', cost);
          const allowed = cost * tokenMs <= tokensMs;
          if (allowed) tokensMs -= cost * tokenMs;
          expect(verdict).toMatchObject({ allowed, limit: capacity, remaining: Math.floor(tokensMs / tokenMs) });
        }
      }),
    );
  });

  it('says exactly when the same is allowed again', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 0, max: 999 }),
        (first, second, startMs) => {
          const { clock, limits } = limitsAt(startMs);
          limits.take(rule, 'key', first);
          const verdict = limits.take(rule, 'key', second);
          if (verdict.allowed) return;
          clock.ms += verdict.retryAfterSeconds * 1000;
          expect(limits.take(rule, 'key', second).allowed).toBe(true);
        },
      ),
    );
  });
});
