import type { CallableOffering } from '@market/contracts/catalog';
import { executeCall } from '@market/contracts/gateway';
import type { Permit } from '@market/limits';
import { isRefusal, principalOf, refuse, type Refusal, type RequestContext } from '@market/messaging';
import { Locks, type Lock } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { Contents, mayAnswerWithContent } from '../contents/contents.js';
import { CallableEndpoints, jobSecondsOf, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { BrokenStreams } from './broken-streams.js';
import { JobRecords } from '../jobs/job-records.js';
import { isCharged } from './answer-json.js';
import { assertFits, assertTaken, bytesOf } from './call-body.js';
import { CallKeys } from './call-keys.js';
import { CallRecords, type AttemptedCall, type CallRecord } from './call-records.js';
import { answerOf, DeliverCall, ownerOf, SETTLE_BUDGET_MS, type AskedOfSeller, type CallEnd } from './deliver-call.js';
import { CallTime, countStep } from './metrics.js';
import { Money, type Authorization, type Authorized } from './money.js';
import { OpenStreams, type Open } from './open-streams.js';
import { assertRoute } from './quote-call.js';
import { SellerCapacity } from './seller-capacity.js';
import type { PaidRequest } from './validate-call.js';

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
  /** An attempt has the lock now, and releases it. */
  isTaken?: true;
}

/** An estimate, because the seller may end a pause at any time. */
const PAUSED_RETRY_SECONDS = 60;

/**
 * One attempt at a call: lock, authorize, call the seller, store, settle, answer, unlock. Only the holder of the lock
 * may call the seller. After a crash between two steps, the next request or the resume job continues from what is
 * stored. The first stored result of a call stays, and a payment is charged once, whoever asks. An attempt whose seller
 * answers with a stream is answered when that is open, and goes on with its lock.
 */
@Injectable()
export class Attempt implements OnApplicationBootstrap {
  constructor(
    private readonly locks: Locks,
    private readonly money: Money,
    private readonly endpoints: CallableEndpoints,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly broken: BrokenStreams,
    private readonly capacity: SellerCapacity,
    private readonly contents: Contents,
    private readonly delivery: DeliverCall,
    private readonly streams: OpenStreams,
    private readonly jobRecords: JobRecords,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.beforeReady(() => this.locks.open());
  }

  async paid(call: PaidRequest, context: RequestContext, begun?: Begun): Promise<PaidCallEnd> {
    const lock = begun?.lock ?? (await this.locks.acquire(call.relayRequestId));
    if (!lock) return { outcome: 'in_flight' };
    if (begun) begun.isTaken = true;
    return this.streams.untilOpen(async (open: Open<PaidCallEnd>) => {
      try {
        return await this.paidWhileLocked(lock, call, context, open, begun?.authorized);
      } finally {
        lock.release();
      }
    });
  }

  /** @param lock is null for a call that no other request can repeat, because it has no key. */
  async free(
    lock: Lock | null,
    call: CallRecord,
    target: CallableEndpoint,
    permit: Permit,
    asked: Omit<AskedOfSeller, 'lockName'>,
    open: Open<CallEnd>,
    context: RequestContext,
  ): Promise<CallEnd> {
    const time = new CallTime();
    const none = { result: null, openJob: null, attempts: 0 };
    const { result, openJob, attempts } = lock ? await this.records.findEarlier(call.id) : none;
    if (result) return { outcome: 'answered', ...answerOf(result) };
    const job = openJob && (await this.jobRecords.findOpen(call.id));
    if (job) return { outcome: 'working', job };
    if (lock?.isHeld() === false) return { outcome: 'unknown' };
    const attempted = { ...call, payment: null, attempt: attempts + 1, time };
    const lockName = lock && call.id;
    return this.delivery
      .execute(attempted, target, permit, { ...asked, lockName }, open, context)
      .finally(() => time.end());
  }

  private async paidWhileLocked(
    lock: Lock,
    call: PaidRequest,
    context: RequestContext,
    open: Open<PaidCallEnd>,
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
      return { outcome: 'answered', ...answerOf(result), transfer, gatewayRequestId, ownsKey: false };
    }
    if (payment.outcome === 'not_payable') {
      const broken = await this.broken.find(relayRequestId, principalOf(context).accountId);
      if (broken) return { outcome: 'answered', ...answerOf(broken), gatewayRequestId: broken.id, ownsKey: false };
    }
    if (payment.outcome === 'rejected') {
      // The signature that pays the job is held, and no other is needed.
      const { accountId } = principalOf(context);
      const job = await this.jobRecords.findOpenOfPayment(listingId, accountId, relayRequestId);
      if (job) return { outcome: 'working', job, gatewayRequestId: job.requestId, ownsKey: false };
    }
    if (payment.outcome !== 'authorized') return payment;

    const { gatewayRequestId } = payment;
    const [keyOwner, earlier] = await Promise.all([
      this.takeKey(payment, call, context),
      this.records.findEarlier(gatewayRequestId),
    ]);
    if (keyOwner !== gatewayRequestId) {
      // A call that is included is given back by itself, unless the key moves to it.
      if (isCharged(payment)) await this.notCalled(payment, false, context);
      return { outcome: 'superseded', by: keyOwner, gatewayRequestId };
    }
    if (earlier.attempts === 0) countStep('paid');
    countStep('authorized');
    const attempted = toAttempted(payment, call, earlier.attempts + 1, time, context);
    const job = earlier.openJob && (await this.jobRecords.findOpen(gatewayRequestId));
    const ended = (end: CallEnd): PaidCallEnd => ({ ...end, gatewayRequestId, ownsKey: takesKey(payment, call) });
    if (job) return ended({ outcome: 'working', job });
    const end = earlier.result
      ? await this.delivery.end(attempted, earlier.result, context)
      : await this.callSeller(lock, attempted, payment, target, call, (opened) => open(ended(opened)), context);
    return end.outcome === 'in_flight' ? end : ended(end);
  }

  /**
   * Takes the Idempotency-Key of a request with a signature before the seller is called. Such a key may be bound to no
   * offer, because an x402 client that lost an answer asks for another offer and signs that. For a call that is included
   * there is no offer.
   * @returns the id of the call that the key belongs to.
   */
  private takeKey(payment: Authorized, call: PaidRequest, context: RequestContext): Promise<string> {
    const { gatewayRequestId } = payment;
    return takesKey(payment, call) && call.idempotentCallId !== gatewayRequestId
      ? this.keys.take(context, call.fingerprint, gatewayRequestId)
      : Promise.resolve(gatewayRequestId);
  }

  private async callSeller(
    lock: Lock,
    attempted: AttemptedCall,
    payment: Authorized,
    target: CallableEndpoint | null,
    call: PaidRequest,
    open: Open<CallEnd>,
    context: RequestContext,
  ): Promise<CallEnd | { outcome: 'in_flight' }> {
    let permit: Permit;
    try {
      const callable = this.assertCallable(payment, target, call);
      await this.assertRoomForJob(callable, attempted.buyerId, call.offering);
      if (mayAnswerWithContent(call.offering?.formats)) await this.contents.assertRoom(ownerOf(attempted));
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
      const { input, offering, relayRequestId: lockName } = call;
      const { contentType } = input;
      const asked = { body: bytesOf(input), contentType, formats: offering?.formats, lockName };
      return await this.delivery.execute(attempted, target!, permit, asked, open, context);
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
    assertTaken(offering, input);
    assertFits(target, input);
    return target;
  }

  /** Only where jobs are expected or open, so that other calls ask nothing. @throws Refusal `too_many_jobs`. */
  async assertRoomForJob(
    { endpoint }: CallableEndpoint,
    buyerId: string,
    offering: Pick<CallableOffering, 'deliveryType'> | null,
  ): Promise<void> {
    if (endpoint.hasJobs || jobSecondsOf(endpoint, offering?.deliveryType) !== undefined)
      await this.jobRecords.assertRoom(endpoint.listingId, buyerId);
  }

  private async notCalled(payment: Authorized, isUndelivered: boolean, context: RequestContext): Promise<void> {
    await Promise.all([
      this.records.keepUntil(payment.gatewayRequestId, payment.retryUntil),
      this.money.release(payment, isUndelivered, context),
    ]);
  }
}

const takesKey = (payment: Authorized, { input }: PaidRequest): boolean =>
  input.authorization !== undefined || !isCharged(payment);

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
