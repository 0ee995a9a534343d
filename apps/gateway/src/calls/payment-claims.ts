import { CLAIMS_HELD_INTERVAL_MS, claimsHeld } from '@market/contracts/gateway';
import { claimPayment, openKeylessPayment, releasePayment, settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { newId } from '@market/kernel';
import { isRefusal, MessageBus, newRequestContext, principalOf, Refusal, type RequestContext } from '@market/messaging';
import { Jobs } from '@market/runtime';
import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { CallRecords, type Result } from './call-records.js';
import { countStep } from './metrics.js';

export type Claim = Extract<OutputOf<typeof claimPayment>, { outcome: 'claimed' }>;
export type Transfer = OutputOf<typeof settlePayment>['transfer'];

type ClaimRequest = Omit<InputOf<typeof claimPayment>, 'holderId'>;
type Opening = Omit<InputOf<typeof openKeylessPayment>, 'holderId'>;

/** The call of a claim, as the settlement records it. */
type Settled = Pick<InputOf<typeof settlePayment>, 'paymentId' | 'fence' | 'gatewayRequestId' | 'isSigned'> & {
  bodyDigest: Buffer;
};

export type Settlement =
  | { outcome: 'charged'; transfer: Transfer }
  /** The signed authorization of the payment was not settled and never will be. */
  | { outcome: 'refused'; reason: string }
  /** The ledger did not confirm the charge, which may have been made. */
  | { outcome: 'unknown' };

const REPEAT_RELEASES_INTERVAL_MS = 1_000;
const RELEASES_AT_ONCE = 100;

/**
 * Takes and releases claims of payments at the ledger. Only one process at a time may call the seller for a payment.
 * This process regularly names the claims that it holds to the ledger, so that no other process gets them.
 */
@Injectable()
export class PaymentClaims implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('PaymentClaims');
  /** The id of this process; each start has a new one. */
  private readonly holderId = newId();
  private readonly paymentIds = new Set<string>();
  /** Claims that came with a new keyless payment and that no request for its call has used yet. */
  private readonly unused = new Map<string, Claim>();
  /** The fences of claims that could not be released because the ledger was unavailable, by payment id. */
  private readonly unreleased = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly bus: MessageBus,
    private readonly records: CallRecords,
    private readonly jobs: Jobs,
  ) {}

  onApplicationBootstrap(): void {
    this.announce();
    this.timer = setInterval(() => this.announce(), CLAIMS_HELD_INTERVAL_MS);
    this.jobs.every('repeat-releases', REPEAT_RELEASES_INTERVAL_MS, () => this.repeatReleases());
  }

  /** Runs when the last call of this process is answered. */
  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  claim(request: ClaimRequest, context: RequestContext): Promise<OutputOf<typeof claimPayment>> {
    const key = claimKey(request, principalOf(context).accountId);
    const unused = this.unused.get(key);
    if (!unused) return this.bus.request(claimPayment, { ...request, holderId: this.holderId }, context);
    this.unused.delete(key);
    return Promise.resolve(unused);
  }

  /**
   * Opens a keyless payment and runs `call`. Any request for the same call may use the claim that came with the
   * payment, because equal requests share one attempt. If no request has used it when `call` ends, it is released.
   */
  async opening<T>(
    request: Opening,
    context: RequestContext,
    call: (opened: OutputOf<typeof openKeylessPayment>) => Promise<T>,
  ): Promise<T> {
    const opened = await this.bus.request(openKeylessPayment, { ...request, holderId: this.holderId }, context);
    if (opened.outcome !== 'opened' || !opened.claim) return call(opened);
    const { claim, buyerId, offer } = opened;
    const { listing, bodyDigest } = request;
    const key = claimKey({ relayRequestId: offer.relay_request_id, listingId: listing.listingId, bodyDigest }, buyerId);
    this.unused.set(key, claim);
    try {
      return await call(opened);
    } finally {
      if (this.unused.delete(key))
        await this.releaseUncalled(claim, context).catch((error: unknown) =>
          this.logger.warn(`the claim of payment ${claim.paymentId} is not released yet: ${String(error)}`),
        );
    }
  }

  async during<T>({ paymentId }: Claim, work: () => Promise<T>): Promise<T> {
    this.paymentIds.add(paymentId);
    try {
      return await work();
    } finally {
      this.paymentIds.delete(paymentId);
    }
  }

  /** Charges for a stored result. */
  async settle(
    { paymentId, fence, gatewayRequestId, bodyDigest, isSigned }: Settled,
    result: Result,
    context: RequestContext,
  ): Promise<Settlement> {
    try {
      const { transfer } = await this.bus.request(
        settlePayment,
        {
          paymentId,
          fence,
          gatewayRequestId,
          sellerStatusCode: result.statusCode,
          latencyMs: result.latencyMs,
          requestDigest: bodyDigest.toString('hex'),
          responseDigest: result.answerDigest.toString('hex'),
          isSigned,
        },
        context,
      );
      countStep('settled');
      return { outcome: 'charged', transfer };
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        return { outcome: 'refused', reason: error.details.reason as string };
      if (error instanceof Refusal) return { outcome: 'unknown' };
      throw error;
    }
  }

  /**
   * Releases a claim. If the ledger is unavailable, a job repeats the release; at the latest the claim ends with its
   * lease.
   */
  async release({ paymentId, fence }: Pick<Claim, 'paymentId' | 'fence'>, context: RequestContext): Promise<void> {
    try {
      await this.bus.request(releasePayment, { paymentId, fence }, context);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!isRefusal(error, releasePayment, 'claim_lost')) this.unreleased.set(paymentId, fence);
    }
  }

  /** Releases a claim before its seller was called, so that the claim does not count as an attempt at the call. */
  releaseUncalled(claim: Claim, context: RequestContext): Promise<void> {
    return this.records.release(claim.gatewayRequestId, claim.retryUntil).finally(() => this.release(claim, context));
  }

  private async repeatReleases(): Promise<void> {
    const releases = [...this.unreleased].slice(0, RELEASES_AT_ONCE);
    for (const [paymentId] of releases) this.unreleased.delete(paymentId);
    await Promise.all(releases.map(([paymentId, fence]) => this.release({ paymentId, fence }, newRequestContext())));
  }

  private announce(): void {
    const unused = [...this.unused.values()].map(({ paymentId }) => paymentId);
    this.bus.signal(claimsHeld, { holderId: this.holderId, paymentIds: [...this.paymentIds, ...unused] });
  }
}

const claimKey = (
  { relayRequestId, listingId, bodyDigest }: Pick<ClaimRequest, 'relayRequestId' | 'listingId' | 'bodyDigest'>,
  buyerId: string,
): string => [relayRequestId, listingId, bodyDigest, buyerId].join(' ');
