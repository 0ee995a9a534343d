import { newId } from '@market/kernel';
import { principalOf, type RequestContext } from '@market/messaging';
import { Locks, type Lock } from '@market/persistence';
import type { CallableOffering } from '@market/contracts/catalog';
import { Injectable } from '@nestjs/common';
import { Contents } from '../contents/contents.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { NO_MONEY } from './answer-json.js';
import { bytesOf } from './call-body.js';
import { CallKeys } from './call-keys.js';
import { Attempt } from './attempt.js';
import { CallRecords, type CallRecord } from './call-records.js';
import type { CallEnd } from './deliver-call.js';
import { OpenStreams, type Open } from './open-streams.js';
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
    private readonly streams: OpenStreams,
    private readonly contents: Contents,
  ) {}

  async execute(
    call: ValidatedCall,
    listing: CallableOffering,
    target: CallableEndpoint,
    context: RequestContext,
  ): Promise<CallEnd> {
    await this.attempt.assertRoomForJob(target, principalOf(context).accountId, listing);
    const permit = await this.capacity.acquire(target.endpoint);
    return this.streams.untilOpen(async (open: Open<CallEnd>) => {
      let lock: Lock | null = null;
      try {
        const id = await this.takeKey(call.fingerprint, context);
        const { accountId: buyerId } = principalOf(context);
        const { digest: bodyDigest } = call;
        const free = { id, buyerId, listing, bodyDigest, money: NO_MONEY, payment: null } satisfies CallRecord;
        // No other request can be for a call without a key.
        lock = context.idempotency ? await this.locks.acquire(id) : null;
        if (context.idempotency && !lock) {
          const { listingId } = listing;
          const stream = await this.contents.findOpen({ lockName: id, buyerId, listingId, bodyDigest });
          return stream ? { outcome: 'streaming', stream } : { outcome: 'unknown' };
        }
        const { input } = call;
        const asked = { body: bytesOf(input), contentType: input.contentType, formats: listing.formats };
        const end = await this.attempt.free(lock, free, target, permit, asked, open, context);
        if (end.outcome === 'working') await this.keys.keepUntil(context, end.job.deadline);
        return end;
      } finally {
        lock?.release();
        permit.release();
      }
    });
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
