import { jest } from '@jest/globals';
import { RecentTotals } from './recent-totals.js';

describe('recent totals', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are counted once however many ask, and again a second after they were counted', async () => {
    const totals = new RecentTotals();
    let counts = 0;
    let finish = (_total: number): void => undefined;
    const count = () => {
      counts += 1;
      return new Promise<number>((resolve) => (finish = resolve));
    };
    const asked = [totals.get('a', count), totals.get('a', count)];
    jest.setSystemTime(5_000);
    asked.push(totals.get('a', count));
    finish(7);
    expect(await Promise.all(asked)).toEqual([7, 7, 7]);
    expect(counts).toBe(1);
    jest.setSystemTime(5_999);
    expect(totals.has('a')).toBe(true);
    jest.setSystemTime(6_000);
    expect(totals.has('a')).toBe(false);
    void totals.get('a', count);
    expect(counts).toBe(2);
  });

  it('forget a count that failed', async () => {
    const totals = new RecentTotals();
    await expect(totals.get('a', () => Promise.reject(new Error('no database')))).rejects.toThrow('no database');
    expect(totals.has('a')).toBe(false);
    expect(await totals.get('a', () => Promise.resolve(3))).toBe(3);
  });

  it('stay bounded', async () => {
    const totals = new RecentTotals();
    for (let key = 0; key < 5_000; key += 1) await totals.get(String(key), () => Promise.resolve(key));
    expect(Array.from({ length: 5_000 }, (_, key) => totals.has(String(key))).filter(Boolean).length).toBeLessThanOrEqual(1_000);
  });
});
