import { Injectable } from '@nestjs/common';
import type { EndpointEntity } from '../endpoints/endpoint.entity.js';

const MINUTE_MS = 60_000;

interface Load {
  running: number;
  windowStart: number;
  started: number;
}

/** A bulkhead per listing: a hung seller fills its own places and nobody else's. Limits hold for each gateway process. */
@Injectable()
export class SellerCapacity {
  private readonly loads = new Map<string, Load>();

  /** Takes a place; null when there is none. What is returned gives it back, once. */
  enter({ listingId, maxConcurrency, requestsPerMinute }: EndpointEntity, now = Date.now()): (() => void) | null {
    const load = this.loads.get(listingId) ?? { running: 0, windowStart: now, started: 0 };
    if (now - load.windowStart >= MINUTE_MS) Object.assign(load, { windowStart: now, started: 0 });
    if (load.running >= maxConcurrency || (requestsPerMinute !== null && load.started >= requestsPerMinute)) return null;
    load.running += 1;
    load.started += 1;
    this.loads.set(listingId, load);
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      load.running -= 1;
      if (load.running === 0 && requestsPerMinute === null) this.loads.delete(listingId);
    };
  }
}
