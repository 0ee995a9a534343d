import type { EndpointEntity } from '../endpoints/endpoint.entity.js';
import { SellerCapacity } from './seller-capacity.js';

const endpoint = (changes: Partial<EndpointEntity> = {}): EndpointEntity => ({ listingId: 'a', maxConcurrency: 2, requestsPerMinute: null, ...changes }) as EndpointEntity;

describe('SellerCapacity', () => {
  it('has as many places as the seller allows, and each comes free once', () => {
    const capacity = new SellerCapacity();
    const [first, second] = [capacity.enter(endpoint()), capacity.enter(endpoint())];
    expect([first.taken, second.taken]).toEqual([true, true]);
    expect(capacity.enter(endpoint())).toEqual({ taken: false, retryAfterSeconds: 1 });
    if (first.taken) [1, 2, 3].forEach(() => first.leave());
    expect(capacity.enter(endpoint()).taken).toBe(true);
    expect(capacity.enter(endpoint()).taken).toBe(false);
  });

  it("keeps one seller's calls out of another's places", () => {
    const capacity = new SellerCapacity();
    capacity.enter(endpoint({ maxConcurrency: 1 }));
    expect(capacity.enter(endpoint({ maxConcurrency: 1 })).taken).toBe(false);
    expect(capacity.enter(endpoint({ listingId: 'b', maxConcurrency: 1 })).taken).toBe(true);
  });

  it('counts the calls of a minute, also those that have ended, and says when the next minute begins', () => {
    const capacity = new SellerCapacity();
    const limited = endpoint({ requestsPerMinute: 2 });
    for (const at of [0, 10_000]) {
      const place = capacity.enter(limited, at);
      if (place.taken) place.leave();
    }
    expect(capacity.enter(limited, 20_000)).toEqual({ taken: false, retryAfterSeconds: 40 });
    expect(capacity.enter(limited, 59_999)).toEqual({ taken: false, retryAfterSeconds: 1 });
    expect(capacity.enter(limited, 60_000).taken).toBe(true);
  });
});
