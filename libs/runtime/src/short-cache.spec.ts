import { ShortCache } from './short-cache.js';

describe('ShortCache', () => {
  let now: number;
  let loads: string[];
  let cache: ShortCache<string>;
  const get = (key: string, value = `${key} ${loads.length + 1}`): Promise<string> =>
    cache.get(key, async () => {
      loads.push(key);
      return value;
    });

  beforeEach(() => {
    now = 0;
    loads = [];
    cache = new ShortCache({ ttlMs: 1_000, maxEntries: 3, now: () => now });
  });

  it('loads once for all who ask at the same time, and remembers it until it is too old', async () => {
    expect(await Promise.all([get('a'), get('a'), get('a')])).toEqual(['a 1', 'a 1', 'a 1']);
    now = 999;
    expect(await get('a')).toBe('a 1');
    now = 1_000;
    expect(await get('a')).toBe('a 2');
  });

  it('counts the age from before the load, so that nothing is older than it may be', async () => {
    let finish: (value: string) => void = () => {};
    const slow = cache.get('a', () => new Promise((resolve) => (finish = resolve)));
    now = 999;
    finish('old');
    await slow;
    now = 1_000;
    expect(await get('a', 'new')).toBe('new');
  });

  it('lets go when told to, also of a load that is on its way', async () => {
    let finish: (value: string) => void = () => {};
    const slow = cache.get('a', () => new Promise((resolve) => (finish = resolve)));
    cache.drop('a');
    finish('read before the change');
    expect(await slow).toBe('read before the change');
    expect(await get('a', 'read after it')).toBe('read after it');
  });

  it('remembers no failure', async () => {
    await expect(cache.get('a', () => Promise.reject(new Error('not now')))).rejects.toThrow('not now');
    expect(await get('a', 'now')).toBe('now');
  });

  it('holds no more than it may, and drops the oldest', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await get(key);
    await Promise.all([get('b'), get('c'), get('d')]);
    expect(loads).toEqual(['a', 'b', 'c', 'd']);
    await get('a');
    expect(loads.at(-1)).toBe('a');
  });
});
