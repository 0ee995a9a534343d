import { createHash } from 'node:crypto';
import { releasePayment, settlePayment, type claimPayment } from '@market/contracts/payments-ledger';
import type { OutputOf } from '@market/contracts';
import { isRefusal, MessageBus, Refusal, type RequestContext } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { SellerAnswered } from '../egress/seller-outcome.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import { billableAnswer, failedAnswer } from './answer-json.js';
import { CallRecords, type CallRecord, type Result } from './call-records.js';
import { SellerCall } from './seller-call.js';

export type Claimed = Extract<OutputOf<typeof claimPayment>, { outcome: 'claimed' }>;

type Transfer = OutputOf<typeof settlePayment>['transfer'];

/** `answer` is the gateway result as JSON text; without one the outcome is not known yet and the caller comes back, or its authorization was refused. */
export type CallEnd = { answer: string; transfer?: Transfer } | { answer: null; refused?: string };

export type Charge = { charged: true; transfer: Transfer } | { charged: false; refused?: string };

/**
 * From the claim to the answer: forward, store, settle, and only then answer. Each step may be the last one a crash
 * allows; the next retry, or the resume job, goes on from what is stored. Two commits of ours and one of the ledger's.
 */
@Injectable()
export class PaidCall {
  constructor(
    private readonly bus: MessageBus,
    private readonly records: CallRecords,
    private readonly sellerCall: SellerCall,
  ) {}

  async execute(
    claimed: Claimed,
    target: CallableEndpoint,
    buyer: { buyerId: string; relayRequestId: string; bodyDigest: Buffer; body: string },
    context: RequestContext,
  ): Promise<CallEnd> {
    const record: CallRecord = {
      id: claimed.gatewayRequestId,
      buyerId: buyer.buyerId,
      listing: claimed.listing,
      bodyDigest: buyer.bodyDigest,
    };
    const payment = {
      paymentId: claimed.paymentId,
      relayRequestId: buyer.relayRequestId,
      transactionHash: claimed.transactionHash,
      fence: claimed.fence,
    };
    // Only a second claim can find what a first one left: a result that did not come to settle, or nothing tried at all.
    const earlier = claimed.fence > 1 ? await this.records.findEarlier(record.id) : { result: null, unusedClaims: 0 };
    if (earlier.result) return this.answer(claimed, earlier.result, buyer.bodyDigest, context);

    const attempt = claimed.fence - earlier.unusedClaims;
    const outcome = await this.sellerCall.execute(
      target,
      {
        requestId: record.id,
        buyerId: buyer.buyerId,
        attempt,
        fence: claimed.fence,
        transactionHash: claimed.transactionHash,
        body: buyer.body,
      },
      context,
    );
    if (outcome.kind === 'failed') {
      await this.giveBack(claimed, context);
      await this.records.storeFailure(
        { ...record, payment, money: claimed.money, endpoint: target.endpoint },
        outcome,
        { attempt, fence: claimed.fence },
        context,
      );
      return { answer: failedAnswer(record.id, outcome, claimed.money.feeBps, claimed.retryUntil) };
    }
    const answer = billableAnswer(record.id, claimed.money, outcome.statusCode, outcome.json);
    const result: Result = {
      answer,
      answerDigest: digestOf(outcome),
      statusCode: outcome.statusCode,
      latencyMs: outcome.latencyMs,
    };
    const stored = await this.records.storeDelivery(
      { ...record, payment, money: claimed.money, endpoint: target.endpoint, ...result },
      context,
    );
    return this.answer(claimed, stored ? result : await this.records.findResult(record.id), buyer.bodyDigest, context);
  }

  private async answer(
    claimed: Claimed,
    result: Result | null,
    bodyDigest: Buffer,
    context: RequestContext,
  ): Promise<CallEnd> {
    const charge = result && (await this.settle(claimed, result, bodyDigest, context));
    if (charge?.charged) return { answer: result!.answer, transfer: charge.transfer };
    return { answer: null, ...(charge?.refused === undefined ? {} : { refused: charge.refused }) };
  }

  /**
   * Charges for a stored result.
   * @returns not charged when the ledger does not confirm it: the outcome is unknown, never undone, and the caller comes back;
   * or refused for good, when the payment's signed authorization could not be settled.
   */
  async settle(
    claimed: Pick<Claimed, 'paymentId' | 'fence' | 'gatewayRequestId'>,
    result: Result,
    bodyDigest: Buffer,
    context: RequestContext,
  ): Promise<Charge> {
    try {
      const { transfer } = await this.bus.request(
        settlePayment,
        {
          paymentId: claimed.paymentId,
          fence: claimed.fence,
          gatewayRequestId: claimed.gatewayRequestId,
          sellerStatusCode: result.statusCode,
          latencyMs: result.latencyMs,
          requestDigest: bodyDigest.toString('hex'),
          responseDigest: result.answerDigest.toString('hex'),
        },
        context,
      );
      return { charged: true, transfer };
    } catch (error) {
      if (isRefusal(error, settlePayment, 'settlement_refused'))
        return { charged: false, refused: error.details.reason as string };
      if (error instanceof Refusal) return { charged: false };
      throw error;
    }
  }

  /** A claim that cannot be given back now ends by itself when its lease does. */
  async giveBack(claimed: Pick<Claimed, 'paymentId' | 'fence'>, context: RequestContext): Promise<void> {
    try {
      await this.bus.request(releasePayment, { paymentId: claimed.paymentId, fence: claimed.fence }, context);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
}

const digestOf = (outcome: SellerAnswered): Buffer => createHash('sha256').update(outcome.json).digest();
