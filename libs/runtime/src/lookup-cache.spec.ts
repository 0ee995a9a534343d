import { mock } from 'node:test';
import type { LRUCache } from 'lru-cache';
import { lookupCache } from './lookup-cache.js';

describe('a lookup cache', () => {
  let nowMs: number;
  let loads: string[];
  let cache: LRUCache<string, string, undefined>;
  let load: (key: string) => Promise<string>;
  const get = (key: string): Promise<string> => cache.forceFetch(key);

  beforeEach(() => {
    nowMs = 1_000;
    mock.method(performance, 'now', () => nowMs);
    loads = [];
    load = async (key) => `${key} ${loads.length}`;
    cache = lookupCache(1_000, (key) => {
      loads.push(key);
      return load(key);
    });
  });
  afterEach(() => mock.restoreAll());

  /** A load that ends when the returned function is called. */
  const slowLoad = (): ((value: string) => void) => {
    let finish: (value: string) => void = () => {};
    const previous = load;
    load = () => {
      load = previous;
      return new Promise((resolve) => (finish = resolve));
    };
    return (value) => finish(value);
  };

  it('loads once for all who ask at the same time, and keeps it until it is too old', async () => {
    expect(await Promise.all([get('a'), get('a'), get('a')])).toEqual(['a 1', 'a 1', 'a 1']);
    nowMs = 2_000;
    expect(await get('a')).toBe('a 1');
    nowMs = 2_000.001;
    expect(await get('a')).toBe('a 2');
  });

  it.each([
    ['while it is still young', 999],
    ['after its time', 1_500],
  ])('counts the age from the question, also of a load that ends %s', async (_when, tookMs) => {
    const finish = slowLoad();
    const slow = get('a');
    nowMs = 1_000 + tookMs;
    finish('old');
    expect(await slow).toBe('old');
    nowMs = Math.max(2_000, nowMs) + 0.001;
    expect(cache.get('a')).toBeUndefined();
    expect(await get('a')).toBe('a 2');
  });

  it('drops what it is told to, also a load that is under way', async () => {
    const finish = slowLoad();
    const slow = get('a');
    cache.delete('a');
    finish('read before the change');
    expect(await slow).toBe('read before the change');
    expect(await get('a')).toBe('a 2');
    cache.delete('a');
    expect(await get('a')).toBe('a 3');
  });

  it('keeps no failure', async () => {
    load = () => Promise.reject(new Error('not now'));
    await expect(Promise.all([get('a'), get('a')])).rejects.toThrow('not now');
    load = () => Promise.resolve('now');
    expect(await get('a')).toBe('now');
    expect(loads).toHaveLength(2);
  });

  it('holds no more than it may, and drops the oldest', async () => {
    for (let n = 0; n <= 10_000; n += 1) await get(`${n}`);
    await Promise.all([get('1'), get('10000')]);
    expect(loads).toHaveLength(10_001);
    await get('0');
    expect(loads.at(-1)).toBe('0');
  });
});
