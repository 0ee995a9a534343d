import {
  authorizePayment,
  collectPayment,
  openKeylessPayment,
  releasePayment,
  settlePayment,
  takeIncludedCall,
} from '@market/contracts/payments-ledger';
import type { InputOf, OutputOf } from '@market/contracts';
import { isRefusal, MessageBus, Refusal, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { Result } from './call-records.js';
import { countStep } from './metrics.js';

export type Authorization = OutputOf<typeof authorizePayment>;
export type Authorized = Extract<Authorization, { outcome: 'authorized' }>;
export type Transfer = OutputOf<typeof settlePayment>['transfer'];

/** The call that a payment pays for, as the settlement records it. */
type Settled = Pick<InputOf<typeof settlePayment>, 'paymentId' | 'gatewayRequestId' | 'isSigned' | 'isResumed'> & {
  bodyDigest: Buffer;
};

export type Collected = OutputOf<typeof collectPayment>['transfer'];

export type CollectOutcome =
  | { outcome: 'collected'; transfer: Collected; isHeld?: true | undefined }
  | Exclude<ChargeOutcome, { outcome: 'charged' }>;

export type ChargeOutcome =
  | { outcome: 'charged'; transfer: Transfer; completedAt: string }
  /** The signed authorization of the payment was not settled and never will be. */
  | { outcome: 'refused'; reason: string }
  /** The ledger did not confirm the charge, which may have been made. */
  | { outcome: 'unknown' };

/** What the ledger does for a call. */
@Injectable()
export class Money {
  constructor(private readonly bus: MessageBus) {}

  /** Whether the payment pays for the call now. The lock of the call is held. */
  authorize(input: InputOf<typeof authorizePayment>, context: RequestContext): Promise<Authorization> {
    return this.bus.request(authorizePayment, input, context);
  }

  /** Takes a call that a period of a subscription, or a trial, includes. */
  takeIncluded(
    input: InputOf<typeof takeIncludedCall>,
    context: RequestContext,
  ): Promise<OutputOf<typeof takeIncludedCall>> {
    return this.bus.request(takeIncludedCall, input, context);
  }

  /** Makes the payment of a keyless offer that a wallet has signed. */
  openKeyless(
    input: InputOf<typeof openKeylessPayment>,
    context: RequestContext,
  ): Promise<OutputOf<typeof openKeylessPayment>> {
    return this.bus.request(openKeylessPayment, input, context);
  }

  /**
   * Moves the money of a payment, whose call is being delivered and is charged when it has ended.
   * @param until of a job, when it has to be delivered: its payment is kept, or its signature held, until then.
   */
  async collect(paymentId: string, context: RequestContext, until?: Date): Promise<CollectOutcome> {
    try {
      const input = { paymentId, until: until?.toISOString() };
      const { transfer, isHeld } = await this.bus.request(collectPayment, input, context);
      return { outcome: 'collected', transfer, isHeld };
    } catch (error) {
      if (isRefusal(error, collectPayment, 'settlement_refused'))
        return { outcome: 'refused', reason: error.details.reason as string };
      if (error instanceof Refusal) return { outcome: 'unknown' };
      throw error;
    }
  }

  /** Charges for a stored result. */
  async settle(
    { paymentId, gatewayRequestId, bodyDigest, isSigned, isResumed }: Settled,
    result: Result,
    context: RequestContext,
  ): Promise<ChargeOutcome> {
    const input = {
      paymentId,
      gatewayRequestId,
      sellerStatusCode: result.statusCode,
      latencyMs: result.latencyMs,
      requestDigest: bodyDigest.toString('hex'),
      responseDigest: result.answerDigest.toString('hex'),
      units: result.units ?? undefined,
      isSigned,
      isResumed,
    };
    try {
      const { transfer, completedAt } = await this.bus.request(settlePayment, input, context);
      countStep('settled');
      return { outcome: 'charged', transfer, completedAt };
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        return { outcome: 'refused', reason: error.details.reason as string };
      if (error instanceof Refusal) return { outcome: 'unknown' };
      throw error;
    }
  }

  /**
   * After a call that was not billable. If it is lost, a signature counts for as long as the call might have taken.
   * @param isUndelivered whether the seller failed or takes no calls, and not this request.
   * @returns whether what was paid is owed back.
   */
  async release(
    { paymentId, isReleasable }: Pick<Authorized, 'paymentId' | 'isReleasable'>,
    isUndelivered: boolean,
    context: RequestContext,
  ): Promise<boolean> {
    if (!isReleasable) return false;
    const input = { paymentId, isUndelivered: isUndelivered || undefined };
    try {
      return (await this.bus.request(releasePayment, input, context)).isOwedBack === true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return false;
    }
  }

  /**
   * After a call that is over and was not delivered whole.
   * @returns false if the ledger has not confirmed the debt, or that nothing was paid.
   */
  async oweBack(paymentId: string, context: RequestContext): Promise<boolean> {
    try {
      const { isOwedBack, isFree } = await this.bus.request(releasePayment, { paymentId, isOver: true }, context);
      return isOwedBack === true || isFree === true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return false;
    }
  }
}
