import { Injectable } from '@nestjs/common';
import type { EndpointEntity } from '../endpoints/endpoint.entity.js';

const MINUTE_MS = 60_000;

interface Load {
  running: number;
  windowStart: number;
  started: number;
}

export type Place = { taken: true; leave: () => void } | { taken: false; retryAfterSeconds: number };

/** A bulkhead per listing: a hung seller fills its own places and nobody else's. Limits hold for each gateway process. */
@Injectable()
export class SellerCapacity {
  private readonly loads = new Map<string, Load>();

  /** Takes a place, or says when to ask again. `leave` gives it back, once. */
  enter({ listingId, maxConcurrency, requestsPerMinute }: EndpointEntity, now = Date.now()): Place {
    const load = this.loads.get(listingId) ?? { running: 0, windowStart: now, started: 0 };
    if (now - load.windowStart >= MINUTE_MS) Object.assign(load, { windowStart: now, started: 0 });
    if (requestsPerMinute !== null && load.started >= requestsPerMinute) return { taken: false, retryAfterSeconds: Math.ceil((load.windowStart + MINUTE_MS - now) / 1_000) };
    if (load.running >= maxConcurrency) return { taken: false, retryAfterSeconds: 1 };
    load.running += 1;
    load.started += 1;
    this.loads.set(listingId, load);
    let inside = true;
    const leave = (): void => {
      if (!inside) return;
      inside = false;
      load.running -= 1;
      if (load.running === 0 && requestsPerMinute === null) this.loads.delete(listingId);
    };
    return { taken: true, leave };
  }
}
