import { createHash } from 'node:crypto';
import { newId } from '@market/kernel';
import type { Call } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { billableAnswer, failedAnswer, NO_MONEY } from './answer-json.js';
import { CallKeys } from './call-keys.js';
import { CallRecords, type CallRecord } from './call-records.js';
import type { CallEnd } from './paid-call.js';
import { SellerCall, SETTLE_BUDGET_MS } from './seller-call.js';

const lease = sql(
  'gateway-requests.lease-free-call',
  `INSERT INTO gateway_requests AS g (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, status, body_digest, gross_micros, fee_micros, net_micros, fee_bps, fence, lease_until)
   VALUES ($1, $2, $3, $4, $5, $6, 'forwarding', $7, 0, 0, 0, 0, 1, now() + $8 * interval '1 millisecond')
   ON CONFLICT (id) DO UPDATE SET status = 'forwarding', fence = g.fence + 1, lease_until = excluded.lease_until
   WHERE g.billable IS NOT TRUE AND g.payment_id IS NULL AND (g.lease_until IS NULL OR g.lease_until < now())
   RETURNING fence`,
);

/** A per_call listing of price 0 is called at once. With an Idempotency-Key the seller is called for one answer only; without, each request is a call. */
@Injectable()
export class FreeCall {
  constructor(
    private readonly database: Database,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly sellerCall: SellerCall,
  ) {}

  async execute(target: CallableEndpoint, request: Omit<CallRecord, 'id'> & { body: string; fingerprint: Buffer }, call: Call): Promise<CallEnd> {
    const { listing, buyerId, bodyDigest, body } = request;
    const id = await this.takeKey(request.fingerprint, call);
    const [held] = await this.database.query<{ fence: number }>(lease, [id, buyerId, listing.sellerId, listing.listingId, listing.name, listing.slug, bodyDigest, target.endpoint.timeoutMs + SETTLE_BUDGET_MS]);
    if (!held) return { answer: (await this.records.findResult(id))?.answer ?? null };
    const outcome = await this.sellerCall.execute(target, { requestId: id, buyerId, attempt: held.fence, fence: held.fence, transactionHash: null, body }, call);
    const record: CallRecord = { id, buyerId, listing, bodyDigest };
    if (outcome.kind === 'failed') {
      await this.records.storeFailure({ ...record, payment: null, money: NO_MONEY, endpoint: target.endpoint }, outcome, { attempt: held.fence, fence: held.fence }, call);
      return { answer: failedAnswer(id, outcome, 0) };
    }
    const answer = billableAnswer(id, NO_MONEY, outcome.statusCode, outcome.json);
    const answerDigest = createHash('sha256').update(outcome.json).digest();
    const stored = await this.records.storeDelivery({ ...record, payment: null, money: NO_MONEY, endpoint: target.endpoint, statusCode: outcome.statusCode, latencyMs: outcome.latencyMs, answer, answerDigest }, call);
    return { answer: stored ? answer : (await this.records.findResult(id))!.answer };
  }

  /** A key may have come with an offer when the call still cost something. That offer can be paid yet, so the free call is another one. */
  private async takeKey(fingerprint: Buffer, call: Call): Promise<string> {
    const id = newId();
    const taken = await this.keys.take(call, fingerprint, id);
    if (taken === id || (await this.records.findRelayRequest(taken)) === null) return taken;
    return (await this.keys.move(call, taken, id)) ? id : this.takeKey(fingerprint, call);
  }
}
