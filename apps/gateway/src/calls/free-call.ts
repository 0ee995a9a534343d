import { createHash } from 'node:crypto';
import { newId } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { billableAnswer, failedAnswer, NO_MONEY } from './answer-json.js';
import { CallKeys } from './call-keys.js';
import { CallRecords, type CallRecord } from './call-records.js';
import type { CallEnd } from './paid-call.js';
import { SellerCall } from './seller-call.js';

/** A call that its process renews no more is free so soon. */
const LEASE_MS = 2_500;
const RENEW_EVERY_MS = 500;

const lease = sql(
  'gateway-requests.lease-free-call',
  `INSERT INTO gateway_requests AS g (id, buyer_id, seller_id, listing_id, listing_name, listing_slug, status, body_digest, gross_micros, fee_micros, net_micros, fee_bps, fence, lease_until)
   VALUES ($1, $2, $3, $4, $5, $6, 'forwarding', $7, 0, 0, 0, 0, 1, now() + ${LEASE_MS} * interval '1 millisecond')
   ON CONFLICT (id) DO UPDATE SET status = 'forwarding', fence = g.fence + 1, lease_until = excluded.lease_until
   WHERE g.billable IS NOT TRUE AND g.payment_id IS NULL AND (g.lease_until IS NULL OR g.lease_until < now())
   RETURNING fence`,
);
const renew = sql(
  'gateway-requests.renew-free-calls',
  `UPDATE gateway_requests g SET lease_until = now() + ${LEASE_MS} * interval '1 millisecond'
   FROM unnest($1::uuid[], $2::int[]) AS held (id, fence) WHERE g.id = held.id AND g.fence = held.fence AND g.lease_until IS NOT NULL`,
);

/**
 * A per_call listing of price 0 is called at once. With an Idempotency-Key the seller is called for one answer only; without, each request
 * is a call. The lease of a call under way is renewed as long as this process lives, by one statement for all of them.
 */
@Injectable()
export class FreeCall implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('FreeCall');
  /** Fences of the calls under way, by their ids. */
  private readonly fences = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Database,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly sellerCall: SellerCall,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(
      () =>
        void this.renew().catch((error: unknown) =>
          this.logger.warn(`leases of free calls are not renewed: ${String(error)}`),
        ),
      RENEW_EVERY_MS,
    );
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  async execute(
    target: CallableEndpoint,
    request: Omit<CallRecord, 'id'> & { body: string; fingerprint: Buffer },
    context: RequestContext,
  ): Promise<CallEnd> {
    const { listing, buyerId, bodyDigest } = request;
    const id = await this.takeKey(request.fingerprint, context);
    const [held] = await this.database.query<{ fence: number }>(lease, [
      id,
      buyerId,
      listing.sellerId,
      listing.listingId,
      listing.name,
      listing.slug,
      bodyDigest,
    ]);
    if (!held) return { answer: (await this.records.findResult(id))?.answer ?? null };
    this.fences.set(id, held.fence);
    try {
      return await this.callSeller(target, { ...request, id }, held.fence, context);
    } finally {
      this.fences.delete(id);
    }
  }

  private async callSeller(
    target: CallableEndpoint,
    { id, buyerId, listing, bodyDigest, body }: CallRecord & { body: string },
    fence: number,
    context: RequestContext,
  ): Promise<CallEnd> {
    const outcome = await this.sellerCall.execute(
      target,
      { requestId: id, buyerId, attempt: fence, fence, transactionHash: null, body },
      context,
    );
    const record: CallRecord = { id, buyerId, listing, bodyDigest };
    if (outcome.kind === 'failed') {
      await this.records.storeFailure(
        { ...record, payment: null, money: NO_MONEY, endpoint: target.endpoint },
        outcome,
        { attempt: fence, fence },
        context,
      );
      return { answer: failedAnswer(id, outcome, 0) };
    }
    const answer = billableAnswer(id, NO_MONEY, outcome.statusCode, outcome.json);
    const answerDigest = createHash('sha256').update(outcome.json).digest();
    const stored = await this.records.storeDelivery(
      {
        ...record,
        payment: null,
        money: NO_MONEY,
        endpoint: target.endpoint,
        statusCode: outcome.statusCode,
        latencyMs: outcome.latencyMs,
        answer,
        answerDigest,
      },
      context,
    );
    return { answer: stored ? answer : (await this.records.findResult(id))!.answer };
  }

  private async renew(): Promise<void> {
    if (this.fences.size > 0) await this.database.query(renew, [[...this.fences.keys()], [...this.fences.values()]]);
  }

  /** A key may have come with an offer when the call still cost something. That offer can be paid yet, so the free call is another one. */
  private async takeKey(fingerprint: Buffer, context: RequestContext): Promise<string> {
    const id = newId();
    const taken = await this.keys.take(context, fingerprint, id);
    if (taken === id || (await this.records.findRelayRequest(taken)) === null) return taken;
    return (await this.keys.move(context, taken, id)) ? id : this.takeKey(fingerprint, context);
  }
}
