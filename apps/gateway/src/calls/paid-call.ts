import { executeCall } from '@market/contracts/gateway';
import type { claimPayment } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import type { Permit } from '@market/limits';
import { principalOf, refuse, type RequestContext, type Refusal } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallableEndpoints, type CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { takesCalls } from '../endpoints/endpoint.js';
import { CallKeys } from './call-keys.js';
import { CallRecords } from './call-records.js';
import { assertFits } from './call-target.js';
import { CallTime, countStep } from './metrics.js';
import { PaymentClaims, type Claim } from './payment-claims.js';
import { assertRoute } from './quote-call.js';
import { RunCall, SETTLE_BUDGET_MS, type CallEnd } from './run-call.js';
import { SellerCapacity } from './seller-capacity.js';
import type { PaidRequest } from './validate-call.js';

/** The Idempotency-Key belongs to another call, which may be charged. */
interface Superseded {
  outcome: 'superseded';
  by: string;
  gatewayRequestId: string;
}
type Begun = Claim & { time: CallTime };

interface Ready {
  outcome: 'ready';
  target: CallableEndpoint;
  permit: Permit;
}

export type PaidCallEnd =
  | Exclude<OutputOf<typeof claimPayment>, { outcome: 'claimed' | 'completed' }>
  | Superseded
  /** `ownsKey`: the Idempotency-Key was taken for this call before it was made. */
  | (CallEnd & { gatewayRequestId: string; ownsKey: boolean });

/** An estimate, because the seller may end a pause at any time. */
const PAUSED_RETRY_SECONDS = 60;

/**
 * Makes one attempt at a paid call: it claims the payment, checks that the seller can be called, and makes the call.
 */
@Injectable()
export class PaidCall {
  constructor(
    private readonly endpoints: CallableEndpoints,
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly claims: PaymentClaims,
    private readonly capacity: SellerCapacity,
    private readonly runCall: RunCall,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  async execute(call: PaidRequest, context: RequestContext): Promise<PaidCallEnd> {
    const { listingId, relayRequestId, digest } = call;
    const time = new CallTime();
    const target = await this.endpoints.find(listingId);
    const { authorization } = call.input;
    const [leaseMs, bodyDigest] = [leaseMsFor(target, this.config), digest.toString('hex')];
    const claim = await this.claims.claim({ relayRequestId, listingId, bodyDigest, leaseMs, authorization }, context);
    if (claim.outcome === 'claimed') {
      if (claim.fence === 1) countStep('paid');
      countStep('claimed');
      return this.claims.during(claim, () => this.executeClaimed({ ...claim, time }, target, call, context));
    }
    if (claim.outcome !== 'completed') return claim;
    const { gatewayRequestId, transfer } = claim;
    const result = await this.records.findResult(gatewayRequestId);
    if (!result) throw refuse(executeCall, 'result_not_kept', {});
    return { outcome: 'answered', answer: result.answer, transfer, gatewayRequestId, ownsKey: false };
  }

  private async executeClaimed(
    claim: Begun,
    target: CallableEndpoint | null,
    call: PaidRequest,
    context: RequestContext,
  ): Promise<PaidCallEnd> {
    const ready = await this.prepare(claim, target, call, context).catch(async (error: unknown) => {
      await this.claims.releaseUncalled(claim, context);
      throw error;
    });
    if (ready.outcome === 'superseded') {
      await this.claims.releaseUncalled(claim, context);
      return ready;
    }
    try {
      const end = await this.resumeOrRun(claim, ready, call, context);
      return { ...end, gatewayRequestId: claim.gatewayRequestId, ownsKey: call.input.authorization !== undefined };
    } finally {
      ready.permit.release();
    }
  }

  /** After the claim, checks whether the seller can be called. */
  private async prepare(
    claim: Claim,
    target: CallableEndpoint | null,
    call: PaidRequest,
    context: RequestContext,
  ): Promise<Ready | Superseded> {
    const { input, offering, outage } = call;
    const { gatewayRequestId } = claim;
    const keyOwner = await this.takeKey(claim, call, context);
    if (keyOwner !== gatewayRequestId) return { outcome: 'superseded', by: keyOwner, gatewayRequestId };
    assertRoute(input, claim);
    if (outage) throw outage;
    // An unsettled signature has not paid for anything yet.
    const isPaidToDebtor = offering?.isSuspendedForDebt === true && claim.transactionHash !== null;
    if (offering?.status !== 'active' && !isPaidToDebtor) throw refuse(executeCall, 'listing_unavailable', {});
    if (!target || !takesCalls(target.endpoint)) throw postponed(target, this.config);
    assertFits(target, input.body);
    return { outcome: 'ready', target, permit: await this.capacity.acquire(target.endpoint) };
  }

  /**
   * Takes the Idempotency-Key of a request with a signature before the seller is called. Such a key may be bound to no
   * offer, because an x402 client that lost an answer asks for another offer and signs that.
   * @returns the id of the call that the key belongs to.
   */
  private takeKey(
    { gatewayRequestId }: Claim,
    { input, fingerprint, idempotentCallId }: PaidRequest,
    context: RequestContext,
  ): Promise<string> {
    return input.authorization === undefined || idempotentCallId === gatewayRequestId
      ? Promise.resolve(gatewayRequestId)
      : this.keys.take(context, fingerprint, gatewayRequestId);
  }

  private async resumeOrRun(
    claim: Begun,
    { target, permit }: Ready,
    { relayRequestId, digest, input }: PaidRequest,
    context: RequestContext,
  ): Promise<CallEnd> {
    const { gatewayRequestId: id, listing, money, fence, paymentId, transactionHash, retryUntil, isSigned } = claim;
    // Only a later claim can find an unsettled result or a released claim of an earlier attempt.
    const earlier = fence > 1 ? await this.records.findEarlier(id) : { result: null, releasedClaims: 0 };
    const held = {
      id,
      buyerId: principalOf(context).accountId,
      listing,
      bodyDigest: digest,
      money,
      payment: { paymentId, relayRequestId, transactionHash, retryUntil, isSigned },
      fence,
      attempt: fence - earlier.releasedClaims,
      time: claim.time,
    };
    return earlier.result
      ? this.runCall.settle(held, earlier.result, context)
      : this.runCall.execute(held, target, permit, input.body, context);
  }
}

/** The lease of a claim in milliseconds: the time limit of the seller, and time for the settlement. */
export const leaseMsFor = (target: CallableEndpoint | null, { sellerTimeoutMs }: GatewayConfig): number =>
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
