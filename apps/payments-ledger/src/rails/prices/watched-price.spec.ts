import type { PriceSource } from './price-source.js';
import { WatchedPrice } from './watched-price.js';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const MAX_AGE_MS = 600_000;

/** A source whose price is that of the true time, unless told otherwise, and a clock that may be wrong. */
function startWatch() {
  let [trueMs, clockIsOffBy] = [0, 0];
  let reads = 0;
  let read = (): ReturnType<PriceSource['read']> => Promise.resolve({ micros: 7n, at: new Date(START + trueMs) });
  const told: (string | null)[] = [];
  const time = { now: () => START + trueMs + clockIsOffBy, elapsed: () => trueMs };
  const price = new WatchedPrice({ read: () => ((reads += 1), read()) }, MAX_AGE_MS, (problem) => told.push(problem), time);
  return {
    price,
    told,
    reads: () => reads,
    micros: async () => (await price.get())?.micros ?? null,
    says: (micros: bigint, at: number) => (read = () => Promise.resolve({ micros, at: new Date(START + at) })),
    answers: (how: typeof read) => (read = how),
    pass: (ms: number) => (trueMs += ms),
    turnClock: (ms: number) => (clockIsOffBy += ms),
  };
}

describe('WatchedPrice', () => {
  it('reads once for however many ask, and not again while it is fresh', async () => {
    const watch = startWatch();
    expect(await Promise.all(Array.from({ length: 64 }, watch.micros))).toEqual(Array.from({ length: 64 }, () => 7n));
    watch.pass(MAX_AGE_MS);
    expect(await watch.micros()).toBe(7n);
    expect(watch.reads()).toBe(1);
  });

  it('reads anew once it is too old', async () => {
    const watch = startWatch();
    await watch.micros();
    watch.pass(MAX_AGE_MS + 1);
    watch.says(8n, MAX_AGE_MS);
    expect(await watch.micros()).toBe(8n);
  });

  it('keeps a fresh price over a failure, and refuses it when it is too old', async () => {
    const watch = startWatch();
    await watch.micros();
    watch.answers(() => Promise.reject(new Error('down')));
    expect((await watch.price.refresh())?.micros).toBe(7n);
    watch.pass(MAX_AGE_MS + 1);
    expect(await watch.micros()).toBeNull();
    expect(watch.told).toEqual(['down']);
  });

  it('leaves a source that failed alone for a while, then asks it again and says that it is back', async () => {
    const watch = startWatch();
    watch.answers(() => Promise.reject(new Error('down')));
    expect([await watch.micros(), await watch.micros()]).toEqual([null, null]);
    expect(watch.reads()).toBe(1);
    watch.pass(5_000);
    watch.says(9n, 5_000);
    expect(await watch.micros()).toBe(9n);
    expect(watch.told).toEqual(['down', null]);
  });

  it('does not believe a price that is old already, or of the future', async () => {
    for (const at of [-MAX_AGE_MS - 1, 60_001]) {
      const watch = startWatch();
      watch.says(7n, at);
      expect(await watch.micros()).toBeNull();
      expect(watch.told[0]).toContain('its price is of');
    }
  });

  it('is no step back: of two fresh prices the newer one stands', async () => {
    const watch = startWatch();
    watch.pass(10_000);
    await watch.micros();
    watch.says(6n, 5_000);
    expect((await watch.price.refresh())?.micros).toBe(7n);
  });

  it('refuses while the clock is far ahead, and is back when the clock is', async () => {
    const watch = startWatch();
    await watch.micros();
    watch.turnClock(MAX_AGE_MS + 1);
    expect(await watch.micros()).toBeNull();
    watch.turnClock(-MAX_AGE_MS - 1);
    expect(await watch.micros()).toBe(7n);
  });

  it('grows no younger when the clock is turned back', async () => {
    const watch = startWatch();
    await watch.micros();
    watch.answers(() => Promise.reject(new Error('down')));
    watch.pass(MAX_AGE_MS + 1);
    watch.turnClock(-MAX_AGE_MS);
    expect(await watch.micros()).toBeNull();
  });
});
