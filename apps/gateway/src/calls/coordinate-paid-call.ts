import { principalOf, type RequestContext } from '@market/messaging';
import { Inject, Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import { CallKeys } from './call-keys.js';
import { answered, pending, streaming, working, type CallOutput, type PaymentUnusable } from './call-output.js';
import { CallRecords } from './call-records.js';
import { ActiveCalls } from './active-calls.js';
import { Contents } from '../contents/contents.js';
import { Attempt, type Begun, type PaidCallEnd } from './attempt.js';
import { SETTLE_BUDGET_MS } from './deliver-call.js';
import { SingleFlight } from './single-flight.js';
import type { PaidRequest } from './validate-call.js';

const FIRST_PAUSE_MS = 50;
/** After this time the lock of a process that has stopped is free. */
const IN_FLIGHT_RETRY_SECONDS = 2;

/**
 * Coordinates all requests for one paid call, in this process and in others: one of them makes the call, and all get
 * its outcome. Equal requests of this process share one attempt, requests of other processes wait for a while, and an
 * Idempotency-Key stays with its call.
 */
@Injectable()
export class CoordinatePaidCall {
  private readonly attempts = new SingleFlight<PaidCallEnd>();

  constructor(
    private readonly keys: CallKeys,
    private readonly records: CallRecords,
    private readonly activeCalls: ActiveCalls,
    private readonly attempt: Attempt,
    private readonly contents: Contents,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {}

  /** @param begun is used by the first attempt. */
  async execute(call: PaidRequest, context: RequestContext, begun?: Begun): Promise<CallOutput | PaymentUnusable> {
    const { relayRequestId, fingerprint, listingId, digest: bodyDigest } = call;
    const key = flightKey(call, context);
    const attempt = (): Promise<PaidCallEnd> => {
      const given = begun;
      begun = undefined;
      return this.activeCalls.during(() => this.attempt.paid(call, context, given));
    };
    const waitUntil = Math.min(Date.now() + this.config.waitForResultMs, context.deadlineAt - 1_000);
    const settledUntil = Math.min(Date.now() + SETTLE_BUDGET_MS, context.deadlineAt - 1_000);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, 1_000)) {
      const end = await this.attempts.run(key, attempt, waitUntil);
      switch (end?.outcome) {
        case undefined:
          return pending(relayRequestId, 1, 'call_in_progress');
        case 'answered':
          if (!end.ownsKey && call.idempotentCallId !== end.gatewayRequestId)
            await this.keys.bind(context, fingerprint, end.gatewayRequestId);
          return answered(end, call.isReplay, end.transfer);
        case 'streaming':
          if (!end.ownsKey && call.idempotentCallId !== end.gatewayRequestId)
            await this.keys.bind(context, fingerprint, end.gatewayRequestId);
          return streaming(end);
        case 'working':
          if (!end.ownsKey && call.idempotentCallId !== end.gatewayRequestId)
            await this.keys.bind(context, fingerprint, end.gatewayRequestId);
          await this.keys.keepUntil(context, end.job.deadline);
          return working(end);
        case 'refused':
          return { outcome: 'payment_unusable', problem: { rejection: { reason: end.reason, at: 'settlement' } } };
        case 'unknown':
          return pending(relayRequestId, 1, 'settlement_unknown');
        case 'pending':
          // Another request settles the call, and its outcome may come soon.
          if (end.reason === 'settlement_unknown' && Date.now() + pause < settledUntil) {
            await delay(pause);
            break;
          }
          await this.records.markPending(end.gatewayRequestId);
          return pending(relayRequestId, end.retryAfterSeconds, end.reason);
        case 'under_way':
          return pending(relayRequestId, IN_FLIGHT_RETRY_SECONDS, 'call_in_progress');
        case 'joined': {
          const input = { ...call.input, authorization: undefined };
          return this.execute({ ...call, input, relayRequestId: end.relayRequestId }, context);
        }
        case 'unpaid':
          return { outcome: 'payment_required', payment: end.offer, reason: 'unpaid' };
        case 'rejected': {
          const rejection = { reason: end.reason, at: 'verification' } as const;
          return { outcome: 'payment_required', payment: end.offer, rejection };
        }
        case 'underpaid': {
          const { offer, received, missing } = end;
          return { outcome: 'payment_required', payment: offer, reason: 'underpaid', received, missing };
        }
        case 'not_payable':
          return { outcome: 'payment_unusable', problem: { reason: end.reason } };
        case 'superseded': {
          const earlier = await this.executeEarlier(end.by, call, context);
          if (earlier) return earlier;
          await this.keys.move(context, end.by, end.gatewayRequestId);
          break;
        }
        case 'in_flight': {
          // Another attempt holds the lock, and its result may come soon.
          const { accountId: buyerId } = principalOf(context);
          const stream = await this.contents.findOpen({ lockName: relayRequestId, buyerId, listingId, bodyDigest });
          if (stream) return streaming({ outcome: 'streaming', stream });
          if (Date.now() + pause >= waitUntil)
            return pending(relayRequestId, IN_FLIGHT_RETRY_SECONDS, 'call_in_progress');
          await delay(pause);
        }
      }
    }
  }

  /**
   * Executes the call that a key belongs to, without the new signature. @returns null if that call can no longer be
   * charged.
   */
  private async executeEarlier(id: string, call: PaidRequest, context: RequestContext): Promise<CallOutput | null> {
    const relayRequestId = await this.records.findRelayRequest(id);
    if (relayRequestId === null) return null;
    const input = { ...call.input, authorization: undefined };
    const output = await this.execute({ ...call, input, relayRequestId, idempotentCallId: id }, context);
    return output.outcome === 'payment_unusable' || output.outcome === 'payment_required' ? null : output;
  }
}

/** Requests that differ in their signature, key or route may have different outcomes, which the ledger decides. */
function flightKey({ relayRequestId, listingId, digest, input }: PaidRequest, context: RequestContext): string {
  const { paymentScheme, paymentNetwork, authorization } = input;
  const parts = [
    relayRequestId,
    principalOf(context).accountId,
    listingId,
    digest.toString('hex'),
    context.idempotency?.key,
    paymentScheme,
    paymentNetwork,
    authorization,
    // Another API key may have another budget.
    principalOf(context).budgets && principalOf(context).keyId,
  ];
  return hash('sha256', JSON.stringify(parts), 'base64');
}
