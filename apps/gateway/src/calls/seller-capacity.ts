import { Limits } from '@market/limits';
import { Injectable } from '@nestjs/common';
import type { EndpointEntity } from '../endpoints/endpoint.entity.js';

export type Place = { taken: true; leave: () => void } | { taken: false; retryAfterSeconds: number };

/**
 * A bulkhead per listing: a hung seller fills its own places and nobody else's. `max_concurrency` holds for each gateway
 * process; `requests_per_minute` for all of them, as a bucket that holds a minute's calls and fills evenly.
 */
@Injectable()
export class SellerCapacity {
  /** Calls under way; a listing without any is not kept. */
  private readonly running = new Map<string, number>();

  constructor(private readonly limits: Limits) {}

  /** Takes a place, or says when to ask again. `leave` gives it back, once. What found no place is not counted as a call. */
  async enter({ listingId, maxConcurrency, requestsPerMinute }: Pick<EndpointEntity, 'listingId' | 'maxConcurrency' | 'requestsPerMinute'>): Promise<Place> {
    const running = this.running.get(listingId) ?? 0;
    if (running >= maxConcurrency) return { taken: false, retryAfterSeconds: 1 };
    this.running.set(listingId, running + 1);
    const leave = this.leaveOnce(listingId);
    if (requestsPerMinute === null) return { taken: true, leave };
    const { allowed, retryAfterSeconds } = await this.limits.consume({ name: 'endpoint-calls', points: requestsPerMinute, perSeconds: 60 }, listingId);
    if (allowed) return { taken: true, leave };
    leave();
    return { taken: false, retryAfterSeconds };
  }

  /** Listings with calls under way. */
  get size(): number {
    return this.running.size;
  }

  private leaveOnce(listingId: string): () => void {
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      const left = this.running.get(listingId)! - 1;
      if (left === 0) this.running.delete(listingId);
      else this.running.set(listingId, left);
    };
  }
}
