import type { Permit } from '@market/limits';
import { traceIdOf, type RequestContext } from '@market/messaging';
import { Injectable, Logger } from '@nestjs/common';
import { createHash } from 'node:crypto';
import type { SellerOutcome } from '../egress/seller-outcome.js';
import { SignedRequests } from '../egress/signed-requests.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { billableAnswer, failedAnswer } from './answer-json.js';
import { CallRecords, type HeldCall, type Result } from './call-records.js';
import { ActiveCalls } from './active-calls.js';
import { countStep } from './metrics.js';
import { PaymentClaims, type Settlement, type Transfer } from './payment-claims.js';

/**
 * `answer` is the gateway result as JSON text. If the settlement is unknown or refused, the outcome has no answer,
 * although the result may be stored.
 */
export type CallEnd =
  { outcome: 'answered'; answer: string; transfer?: Transfer } | Exclude<Settlement, { outcome: 'charged' }>;

/** The part of the caller's time that is reserved for storing and settling the seller's answer. */
export const SETTLE_BUDGET_MS = 10_000;
const SHOW_FORWARDING_AFTER_MS = 1_000;

/**
 * Makes a held call, paid or free. It forwards the request, stores the answer, settles it, and only then returns it.
 * After a crash between two steps, the next retry or the resume job continues from what is stored.
 */
@Injectable()
export class RunCall {
  private readonly logger = new Logger('Call');

  constructor(
    private readonly sellers: SignedRequests,
    private readonly records: CallRecords,
    private readonly activeCalls: ActiveCalls,
    private readonly claims: PaymentClaims,
  ) {}

  /** @param permit is released for another call as soon as the seller has answered. */
  execute(
    call: HeldCall,
    target: CallableEndpoint,
    permit: Permit,
    body: string,
    context: RequestContext,
  ): Promise<CallEnd> {
    return this.run(call, target, permit, body, context).finally(() => call.time.end());
  }

  private async run(
    call: HeldCall,
    target: CallableEndpoint,
    permit: Permit,
    body: string,
    context: RequestContext,
  ): Promise<CallEnd> {
    const { id, money, payment, fence, time } = call;
    this.tell('forwarded', call, context, { attempt: call.attempt });
    const outcome = await time.during('seller', () =>
      this.activeCalls.whileAtSeller(() => this.forward(call, target, body, context)),
    );
    permit.release();
    const seller = { seller_status: outcome.statusCode, seller_ms: outcome.latencyMs };
    if (outcome.kind === 'failed') {
      this.tell('not_billable', call, context, { reason: outcome.reason, ...seller });
      if (payment) {
        countStep('not_billable', outcome.reason);
        await this.claims.release({ paymentId: payment.paymentId, fence }, context);
      }
      await this.records.storeFailure(call, target.endpoint, outcome, context);
      return { outcome: 'answered', answer: failedAnswer(id, outcome, money.feeBps, payment?.retryUntil) };
    }
    const { statusCode, latencyMs, json } = outcome;
    const answer = billableAnswer(id, money, statusCode, json);
    const result = { answer, answerDigest: createHash('sha256').update(json).digest(), statusCode, latencyMs };
    const isStored = await this.records.storeDelivery({ ...call, ...result, endpoint: target.endpoint }, context);
    if (isStored) this.tell('stored', call, context, seller);
    if (isStored && payment) countStep('delivered');
    const stored = isStored ? result : await this.records.findResult(id);
    return stored ? this.settle(call, stored, context) : { outcome: 'unknown' };
  }

  /** Charges for a stored result, unless the call costs nothing, and answers with it. */
  async settle(
    { id, payment, fence, bodyDigest, time }: HeldCall,
    result: Result,
    context: RequestContext,
  ): Promise<CallEnd> {
    const { answer } = result;
    if (!payment) return { outcome: 'answered', answer };
    const { paymentId, isSigned } = payment;
    const claim = { paymentId, isSigned, fence, gatewayRequestId: id, bodyDigest };
    const settlement = await time.during('settlement', () => this.claims.settle(claim, result, context));
    return settlement.outcome === 'charged'
      ? { outcome: 'answered', answer, transfer: settlement.transfer }
      : settlement;
  }

  /** Logs a step of the gateway. The ledger records its own steps in its request log and its journal. */
  private tell(
    msg: 'forwarded' | 'stored' | 'not_billable',
    { id, listing, buyerId, payment }: HeldCall,
    { requestId, traceparent }: RequestContext,
    details: Record<string, unknown>,
  ): void {
    this.logger.log({
      msg,
      ...details,
      listing_id: listing.listingId,
      call_id: id,
      payment_id: payment?.paymentId,
      account_id: buyerId,
      request_id: requestId,
      trace_id: traceIdOf(traceparent),
    });
  }

  /** Sends one signed request to the seller. The history shows a call that takes long as `forwarding`. */
  private async forward(
    { id, buyerId, attempt, fence, payment }: HeldCall,
    target: CallableEndpoint,
    rawBody: string,
    context: RequestContext,
  ): Promise<SellerOutcome> {
    let shown: Promise<void> | undefined;
    const show = setTimeout(() => {
      shown = this.records.markForwarding(id, fence, payment?.transactionHash ?? null).catch(() => undefined);
    }, SHOW_FORWARDING_AFTER_MS);
    const remainingMs = context.deadlineAt - Date.now() - SETTLE_BUDGET_MS;
    const timeoutMs = Math.max(1, Math.min(target.endpoint.timeoutMs, remainingMs));
    try {
      const request = { requestId: id, event: 'gateway.call', buyerId, attempt, rawBody, timeoutMs } as const;
      return await this.sellers.send(target, request, context);
    } finally {
      clearTimeout(show);
      // Waits for the update, so that it cannot overwrite the status that is stored next.
      await shown;
    }
  }
}
