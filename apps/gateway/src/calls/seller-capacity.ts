import { executeCall } from '@market/contracts/gateway';
import { Limits, type Permit } from '@market/limits';
import { refuse } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { Endpoint } from '../endpoints/callable-endpoints.js';

/** An estimate, because a call in flight may end at any moment. */
const BUSY_RETRY_SECONDS = 1;

/**
 * A bulkhead for each listing: a seller that hangs uses up only its own permits. `max_concurrency` and
 * `requests_per_minute` limit all processes of the gateway together. The rate is a token bucket that holds the calls of
 * one minute and fills evenly.
 */
@Injectable()
export class SellerCapacity {
  constructor(private readonly limits: Limits) {}

  /**
   * Makes one round trip to Redis, if Redis is used. A call without a permit does not count against the rate.
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
