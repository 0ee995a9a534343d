import { executeCall } from '@market/contracts/gateway';
import type { Permit } from '@market/limits';
import { isRefusal, principalOf, refuse, traceIdOf, type Refusal, type RequestContext } from '@market/messaging';
import { Locks, type Lock } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { SellerOutcome } from '../egress/seller-outcome.js';
import { SignedRequests } from '../egress/signed-requests.js';
import { CallableEndpoints, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { ActiveCalls } from './active-calls.js';
import { billableAnswer, failedAnswer, OWED_BACK } from './answer-json.js';
import { CallKeys } from './call-keys.js';
import { CallRecords, type AttemptedCall, type CallRecord, type Result } from './call-records.js';
import { assertFits } from './call-target.js';
import { CallTime, countStep } from './metrics.js';
import { Money, type Authorization, type Authorized, type ChargeOutcome, type Transfer } from './money.js';
import { assertRoute } from './quote-call.js';
import { SellerCapacity } from './seller-capacity.js';
import type { PaidRequest } from './validate-call.js';

/**
 * `answer` is the gateway result as JSON text. If the settlement is unknown or refused, the outcome has no answer,
 * although the result may be stored.
 */
export type CallEnd =
  { outcome: 'answered'; answer: string; transfer?: Transfer } | Exclude<ChargeOutcome, { outcome: 'charged' }>;

export type PaidCallEnd =
  | Exclude<Authorization, { outcome: 'authorized' | 'completed' }>
  /** Another attempt at the call is under way, or this one lost its lock before it called the seller. */
  | { outcome: 'in_flight' }
  /** The Idempotency-Key belongs to another call, which may be charged. */
  | { outcome: 'superseded'; by: string; gatewayRequestId: string }
  /** `ownsKey`: the Idempotency-Key was taken for this call before it was made. */
  | (CallEnd & { gatewayRequestId: string; ownsKey: boolean });

/** A lock that is held already, with the authorization that was given under it. */
export interface Begun {
  lock: Lock;
  authorized: Authorized;
}

/** The part of the caller's time that is reserved for storing and settling the seller's answer. */
export const SETTLE_BUDGET_MS = 10_000;
const SHOW_FORWARDING_AFTER_MS = 1_000;
/** An estimate, because the seller may end a pause at any time. */
const PAUSED_RETRY_SECONDS = 60;

/**
 * One attempt at a call: lock, authorize, call the seller, store, settle, answer, unlock. Only the holder of the lock
 * may call the seller. After a crash between two steps, the next request or the resume job continues from what is
 * stored. The first stored result of a call stays, and a payment is charged once, whoever asks.
 */
@Injectable()
export class Attempt implements OnApplicationBootstrap {
  private readonly logger = new Logger('Call');

  constructor(
    private readonly locks: Locks,
    private readonly money: Money,
    private readonly endpoints: CallableEndpoints,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly capacity: SellerCapacity,
    private readonly sellers: SignedRequests,
    private readonly activeCalls: ActiveCalls,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.beforeReady(() => this.locks.open());
  }

  async paid(call: PaidRequest, context: RequestContext, begun?: Begun): Promise<PaidCallEnd> {
    const lock = begun?.lock ?? (await this.locks.acquire(call.relayRequestId));
    if (!lock) return { outcome: 'in_flight' };
    try {
      return await this.paidWhileLocked(lock, call, context, begun?.authorized);
    } finally {
      lock.release();
    }
  }

  /** @param lock is null for a call that no other request can repeat, because it has no key. */
  async free(
    lock: Lock | null,
    call: CallRecord,
    target: CallableEndpoint,
    permit: Permit,
    body: string,
    context: RequestContext,
  ): Promise<CallEnd> {
    const time = new CallTime();
    const { result, attempts } = lock ? await this.records.findEarlier(call.id) : { result: null, attempts: 0 };
    if (result) return { outcome: 'answered', answer: result.answer };
    if (lock?.isHeld() === false) return { outcome: 'unknown' };
    const attempted = { ...call, payment: null, attempt: attempts + 1, time };
    return this.deliver(attempted, target, permit, body, context).finally(() => time.end());
  }

  private async paidWhileLocked(
    lock: Lock,
    call: PaidRequest,
    context: RequestContext,
    authorized?: Authorized,
  ): Promise<PaidCallEnd> {
    const { listingId, relayRequestId, digest, input } = call;
    const time = new CallTime();
    const target = await this.endpoints.find(listingId);
    const [callMs, bodyDigest] = [callMsFor(target, this.config), digest.toString('hex')];
    const { authorization } = input;
    // A look-up that was made before the lock could show a payment that was charged meanwhile as good.
    const payment =
      authorized ??
      (await this.money.authorize({ relayRequestId, listingId, bodyDigest, callMs, authorization }, context));
    if (payment.outcome === 'completed') {
      const { gatewayRequestId, transfer } = payment;
      const result = await this.records.findResult(gatewayRequestId);
      if (!result) throw refuse(executeCall, 'result_not_kept', {});
      return { outcome: 'answered', answer: result.answer, transfer, gatewayRequestId, ownsKey: false };
    }
    if (payment.outcome !== 'authorized') return payment;

    const { gatewayRequestId } = payment;
    const [keyOwner, earlier] = await Promise.all([
      this.takeKey(payment, call, context),
      this.records.findEarlier(gatewayRequestId),
    ]);
    if (keyOwner !== gatewayRequestId) {
      await this.notCalled(payment, false, context);
      return { outcome: 'superseded', by: keyOwner, gatewayRequestId };
    }
    if (earlier.attempts === 0) countStep('paid');
    countStep('authorized');
    const attempted = toAttempted(payment, call, earlier.attempts + 1, time, context);
    const end = earlier.result
      ? await this.settle(attempted, earlier.result, context)
      : await this.callSeller(lock, attempted, payment, target, call, context);
    return end.outcome === 'in_flight' ? end : { ...end, gatewayRequestId, ownsKey: authorization !== undefined };
  }

  /**
   * Takes the Idempotency-Key of a request with a signature before the seller is called. Such a key may be bound to no
   * offer, because an x402 client that lost an answer asks for another offer and signs that.
   * @returns the id of the call that the key belongs to.
   */
  private takeKey(
    { gatewayRequestId }: Authorized,
    { input, fingerprint, idempotentCallId }: PaidRequest,
    context: RequestContext,
  ): Promise<string> {
    return input.authorization === undefined || idempotentCallId === gatewayRequestId
      ? Promise.resolve(gatewayRequestId)
      : this.keys.take(context, fingerprint, gatewayRequestId);
  }

  private async callSeller(
    lock: Lock,
    attempted: AttemptedCall,
    payment: Authorized,
    target: CallableEndpoint | null,
    call: PaidRequest,
    context: RequestContext,
  ): Promise<CallEnd | { outcome: 'in_flight' }> {
    let permit: Permit;
    try {
      const callable = this.assertCallable(payment, target, call);
      permit = await this.capacity.acquire(callable.endpoint);
    } catch (error) {
      const isUndelivered =
        isRefusal(error, executeCall, 'delivery_postponed') || isRefusal(error, executeCall, 'listing_unavailable');
      await this.notCalled(payment, isUndelivered, context);
      throw error;
    }
    try {
      // The lock may be lost without any sign, so the right to call the seller ends by the clock of this process.
      if (!lock.isHeld()) return { outcome: 'in_flight' };
      return await this.deliver(attempted, target!, permit, call.input.body, context);
    } finally {
      permit.release();
      attempted.time.end();
    }
  }

  /** @throws Refusal if the seller cannot be called now. The payment remains good for a later request. */
  private assertCallable(
    payment: Authorized,
    target: CallableEndpoint | null,
    { input, offering, outage }: PaidRequest,
  ): CallableEndpoint {
    assertRoute(input, payment);
    if (outage) throw outage;
    // An unsettled signature has not paid for anything yet.
    const isPaidToDebtor = offering?.isSuspendedForDebt === true && payment.transactionHash !== null;
    if (offering?.status !== 'active' && !isPaidToDebtor) throw refuse(executeCall, 'listing_unavailable', {});
    if (!target || !takesCalls(target.endpoint)) throw postponed(target, this.config);
    assertFits(target, input.body);
    return target;
  }

  private async notCalled(payment: Authorized, isUndelivered: boolean, context: RequestContext): Promise<void> {
    await Promise.all([
      this.records.keepUntil(payment.gatewayRequestId, payment.retryUntil),
      this.money.release(payment, isUndelivered, context),
    ]);
  }

  /** Calls the seller, stores what it answered, and charges for it. The lock of the call is held. */
  private async deliver(
    call: AttemptedCall,
    target: CallableEndpoint,
    permit: Permit,
    body: string,
    context: RequestContext,
  ): Promise<CallEnd> {
    const { id, money, payment, time } = call;
    this.logStep('forwarded', call, context, { attempt: call.attempt });
    const outcome = await time.during('seller', () =>
      this.activeCalls.whileAtSeller(() => this.forward(call, target, body, context)),
    );
    // Another call may use it from now on.
    permit.release();
    const seller = { seller_status: outcome.statusCode, seller_ms: outcome.latencyMs };
    if (outcome.kind === 'failed') {
      this.logStep('not_billable', call, context, { reason: outcome.reason, ...seller });
      await this.records.storeFailure(call, target.endpoint, outcome, context);
      if (payment) countStep('not_billable', outcome.reason);
      const isOwedBack = payment !== null && (await this.money.release(payment, true, context));
      const answer = failedAnswer(id, outcome, money.feeBps, isOwedBack ? OWED_BACK : payment?.retryUntil);
      return { outcome: 'answered', answer };
    }
    const { statusCode, latencyMs, json } = outcome;
    const answer = billableAnswer(id, money, statusCode, json);
    const result = { answer, answerDigest: createHash('sha256').update(json).digest(), statusCode, latencyMs };
    const isStored = await this.records.storeDelivery({ ...call, ...result, endpoint: target.endpoint }, context);
    if (isStored) this.logStep('stored', call, context, seller);
    if (isStored && payment) countStep('delivered');
    // An earlier attempt, which had lost its lock, may have stored its answer first.
    const stored = isStored ? result : await this.records.findResult(id);
    return stored ? this.settle(call, stored, context) : { outcome: 'unknown' };
  }

  /** Charges for a stored result, unless the call costs nothing, and answers with it. */
  private async settle(
    { id, payment, bodyDigest, time }: AttemptedCall,
    result: Result,
    context: RequestContext,
  ): Promise<CallEnd> {
    const { answer } = result;
    if (!payment) return { outcome: 'answered', answer };
    const { paymentId, isSigned } = payment;
    const settlement = await time.during('settlement', () =>
      this.money.settle({ paymentId, isSigned, gatewayRequestId: id, bodyDigest }, result, context),
    );
    if (settlement.outcome !== 'charged') return settlement;
    this.records.markSettled(id, settlement);
    return { outcome: 'answered', answer, transfer: settlement.transfer };
  }

  /** Sends one signed request to the seller. The history shows a call that takes long as `forwarding`. */
  private async forward(
    call: AttemptedCall,
    target: CallableEndpoint,
    rawBody: string,
    context: RequestContext,
  ): Promise<SellerOutcome> {
    const { id, buyerId, attempt } = call;
    const remainingMs = context.deadlineAt - Date.now() - SETTLE_BUDGET_MS;
    const timeoutMs = Math.max(1, Math.min(target.endpoint.timeoutMs, remainingMs));
    let shown: Promise<void> | undefined;
    const show = setTimeout(() => {
      shown = this.records.markForwarding(call, timeoutMs).catch(() => undefined);
    }, SHOW_FORWARDING_AFTER_MS);
    try {
      const request = { requestId: id, event: 'gateway.call', buyerId, attempt, rawBody, timeoutMs } as const;
      return await this.sellers.send(target, request, context);
    } finally {
      clearTimeout(show);
      // Waits for the update, so that it cannot overwrite the status that is stored next.
      await shown;
    }
  }

  /** Logs a step of the gateway. The ledger records its own steps in its request log and its journal. */
  private logStep(
    msg: 'forwarded' | 'stored' | 'not_billable',
    { id, listing, buyerId, payment }: AttemptedCall,
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
}

const toAttempted = (
  { gatewayRequestId: id, listing, money, ...payment }: Authorized,
  { relayRequestId, digest }: PaidRequest,
  attempt: number,
  time: CallTime,
  context: RequestContext,
): AttemptedCall => ({
  id,
  buyerId: principalOf(context).accountId,
  listing,
  bodyDigest: digest,
  money,
  payment: { ...payment, relayRequestId },
  attempt,
  time,
});

/** How long a call may take in milliseconds: the time limit of the seller, and time for the settlement. */
export const callMsFor = (target: CallableEndpoint | null, { sellerTimeoutMs }: GatewayConfig): number =>
  Math.min((target?.endpoint.timeoutMs ?? sellerTimeoutMs) + 2 * SETTLE_BUDGET_MS, 300_000);

/** A failing endpoint is tested again after at most one probe interval. */
function postponed(target: CallableEndpoint | null, { probeIntervalMs }: GatewayConfig): Refusal {
  const { status, probeAt } = target?.endpoint ?? { status: 'removed', probeAt: null };
  const seconds =
    status === 'failing'
      ? Math.min(probeIntervalMs, Math.max(0, probeAt!.getTime() - Date.now())) / 1_000
      : PAUSED_RETRY_SECONDS;
  return refuse(executeCall, 'delivery_postponed', {
    endpoint_status: status,
    retry_after_seconds: Math.max(1, Math.ceil(seconds)),
  });
}
