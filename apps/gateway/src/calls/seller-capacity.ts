import { executeCall } from '@market/contracts/gateway';
import { Limits, type Permit } from '@market/limits';
import { refuse } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { Endpoint } from '../endpoints/callable-endpoints.js';

/** A call in flight may end at any moment: a second is a guess. */
const BUSY_RETRY_SECONDS = 1;

/**
 * A bulkhead for each listing: a hung seller uses up only its own permits. `max_concurrency` and `requests_per_minute`, a bucket
 * that holds a minute's calls and fills evenly, hold for all processes of the gateway together.
 */
@Injectable()
export class SellerCapacity {
  constructor(private readonly limits: Limits) {}

  /**
   * One round trip to Redis, where there is one. What gets no permit is not counted as a call.
   * @throws Refusal `listing_busy`.
   */
  async acquire({
    listingId,
    maxConcurrency,
    requestsPerMinute,
  }: Pick<Endpoint, 'listingId' | 'maxConcurrency' | 'requestsPerMinute'>): Promise<Permit> {
    const rule =
      requestsPerMinute === null ? null : { name: 'endpoint-calls', points: requestsPerMinute, perSeconds: 60 };
    const [permit, rate] = await Promise.all([
      this.limits.acquire('endpoint-calls', listingId, maxConcurrency),
      rule && this.limits.consume(rule, listingId),
    ]);
    const isWithinRate = rate?.allowed !== false;
    if (permit && isWithinRate) return permit;
    permit?.release();
    if (rule && isWithinRate) this.limits.putBack(rule, listingId);
    throw refuse(executeCall, 'listing_busy', {
      retry_after_seconds: isWithinRate ? BUSY_RETRY_SECONDS : rate.retryAfterSeconds,
    });
  }
}
