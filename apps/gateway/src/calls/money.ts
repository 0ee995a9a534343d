import { authorizePayment, openKeylessPayment, releasePayment, settlePayment } from '@market/contracts/payments-ledger';
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

  /** Makes the payment of a keyless offer that a wallet has signed. */
  openKeyless(
    input: InputOf<typeof openKeylessPayment>,
    context: RequestContext,
  ): Promise<OutputOf<typeof openKeylessPayment>> {
    return this.bus.request(openKeylessPayment, input, context);
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
}
