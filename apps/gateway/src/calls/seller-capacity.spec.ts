import { MemoryLimits } from '@market/limits';
import { SellerCapacity } from './seller-capacity.js';

const endpoint = (changes: Partial<Parameters<SellerCapacity['acquire']>[0]> = {}) => ({
  listingId: 'a',
  maxConcurrency: 2,
  requestsPerMinute: null,
  ...changes,
});
const busy = (seconds: number) =>
  expect.objectContaining({ reason: 'listing_busy', details: { retry_after_seconds: seconds } }) as unknown;

describe('SellerCapacity', () => {
  it("has as many permits as the seller allows, and none of another's", async () => {
    const capacity = new SellerCapacity(new MemoryLimits());
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => capacity.acquire(endpoint({ requestsPerMinute: 100 }))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    await expect(capacity.acquire(endpoint())).rejects.toEqual(busy(1));
    (await capacity.acquire(endpoint({ listingId: 'b' }))).release();
  });

  it('counts the calls of a minute, also those that have ended, and none that got no permit', async () => {
    let ms = 0;
    const capacity = new SellerCapacity(new MemoryLimits(() => ms * 1000));
    const limited = endpoint({ requestsPerMinute: 2, maxConcurrency: 1 });
    const first = await capacity.acquire(limited);
    await expect(capacity.acquire(limited)).rejects.toEqual(busy(1));
    first.release();
    ms = 10_000;
    (await capacity.acquire(limited)).release();
    await expect(capacity.acquire(limited)).rejects.toEqual(busy(20));
    ms = 29_999;
    await expect(capacity.acquire(limited)).rejects.toEqual(busy(1));
    ms = 30_000;
    (await capacity.acquire(limited)).release();
  });
});
