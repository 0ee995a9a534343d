import { newId } from '@market/kernel';
import { principalOf, type RequestContext } from '@market/messaging';
import { Locks } from '@market/persistence';
import type { Offering } from '@market/contracts/catalog';
import { Injectable } from '@nestjs/common';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { NO_MONEY } from './answer-json.js';
import { CallKeys } from './call-keys.js';
import { Attempt, type CallEnd } from './attempt.js';
import { CallRecords, type CallRecord } from './call-records.js';
import { SellerCapacity } from './seller-capacity.js';
import type { ValidatedCall } from './validate-call.js';

/**
 * Calls a per_call listing of price 0 at once. Requests with the same Idempotency-Key share one answer of the seller;
 * each request without a key is a call of its own. The lock of a call prevents concurrent attempts at it.
 */
@Injectable()
export class FreeCall {
  constructor(
    private readonly locks: Locks,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly capacity: SellerCapacity,
    private readonly attempt: Attempt,
  ) {}

  async execute(
    call: ValidatedCall,
    listing: Offering,
    target: CallableEndpoint,
    context: RequestContext,
  ): Promise<CallEnd> {
    const permit = await this.capacity.acquire(target.endpoint);
    try {
      const id = await this.takeKey(call.fingerprint, context);
      const buyerId = principalOf(context).accountId;
      const free = {
        id,
        buyerId,
        listing,
        bodyDigest: call.digest,
        money: NO_MONEY,
        payment: null,
      } satisfies CallRecord;
      // No other request can be for a call without a key.
      if (!context.idempotency) return await this.attempt.free(null, free, target, permit, call.input.body, context);
      const lock = await this.locks.acquire(id);
      if (!lock) return { outcome: 'unknown' };
      try {
        return await this.attempt.free(lock, free, target, permit, call.input.body, context);
      } finally {
        lock.release();
      }
    } finally {
      permit.release();
    }
  }

  /**
   * A key may belong to an offer that was made while the call cost something. That offer can still be paid, so the free
   * call is a new one.
   */
  private async takeKey(fingerprint: Buffer, context: RequestContext): Promise<string> {
    const id = newId();
    const taken = await this.keys.take(context, fingerprint, id);
    if (taken === id || (await this.records.findRelayRequest(taken)) === null) return taken;
    return (await this.keys.move(context, taken, id)) ? id : this.takeKey(fingerprint, context);
  }
}
