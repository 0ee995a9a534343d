import { MemoryLimits } from '@market/limits';
import { SellerCapacity, type Place } from './seller-capacity.js';

const endpoint = (changes: Partial<Parameters<SellerCapacity['enter']>[0]> = {}) => ({ listingId: 'a', maxConcurrency: 2, requestsPerMinute: null, ...changes });
const leave = (place: Place): void => {
  if (place.taken) place.leave();
};

describe('SellerCapacity', () => {
  it('has as many places as the seller allows, and each comes free once', async () => {
    const capacity = new SellerCapacity(new MemoryLimits());
    const [first, second] = [await capacity.enter(endpoint()), await capacity.enter(endpoint())];
    expect([first.taken, second.taken]).toEqual([true, true]);
    expect(await capacity.enter(endpoint())).toEqual({ taken: false, retryAfterSeconds: 1 });
    [1, 2, 3].forEach(() => leave(first));
    expect((await capacity.enter(endpoint())).taken).toBe(true);
    expect((await capacity.enter(endpoint())).taken).toBe(false);
  });

  it('has as many places for those that come at once', async () => {
    const capacity = new SellerCapacity(new MemoryLimits());
    const places = await Promise.all(Array.from({ length: 20 }, () => capacity.enter(endpoint({ requestsPerMinute: 100 }))));
    expect(places.filter(({ taken }) => taken)).toHaveLength(2);
  });

  it("keeps one seller's calls out of another's places", async () => {
    const capacity = new SellerCapacity(new MemoryLimits());
    await capacity.enter(endpoint({ maxConcurrency: 1 }));
    expect((await capacity.enter(endpoint({ maxConcurrency: 1 }))).taken).toBe(false);
    expect((await capacity.enter(endpoint({ listingId: 'b', maxConcurrency: 1 }))).taken).toBe(true);
  });

  it('counts the calls of a minute, also those that have ended, and none that found no place', async () => {
    let ms = 0;
    const capacity = new SellerCapacity(new MemoryLimits(() => ms * 1000));
    const limited = endpoint({ requestsPerMinute: 2, maxConcurrency: 1 });
    const first = await capacity.enter(limited);
    expect(await capacity.enter(limited)).toEqual({ taken: false, retryAfterSeconds: 1 });
    leave(first);
    ms = 10_000;
    leave(await capacity.enter(limited));
    expect(await capacity.enter(limited)).toEqual({ taken: false, retryAfterSeconds: 20 });
    ms = 29_999;
    expect((await capacity.enter(limited)).taken).toBe(false);
    ms = 30_000;
    expect((await capacity.enter(limited)).taken).toBe(true);
  });

  it('remembers no listing without calls under way', async () => {
    const capacity = new SellerCapacity(new MemoryLimits());
    const limited = endpoint({ requestsPerMinute: 1 });
    leave(await capacity.enter(limited));
    leave(await capacity.enter(limited));
    leave(await capacity.enter(endpoint()));
    expect(capacity.size).toBe(0);
  });
});
