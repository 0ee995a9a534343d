import type { OutputOf } from '@market/contracts';
import type { executeCall } from '@market/contracts/gateway';
import { Refusal, type RequestContext } from '@market/messaging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JSON_TYPE, successOfJson } from '../http/envelope.js';
import { idempotencyKeyOf } from '../http/idempotency.js';
import { answerPending } from './payment-pending.js';
import { headerOf, settledOf } from './x402.js';

type Outcome<Name extends OutputOf<typeof executeCall>['outcome']> = Extract<
  OutputOf<typeof executeCall>,
  { outcome: Name }
>;

export const MAX_BODY_BYTES = 1_048_576;

export function sendAnswer(
  { dataJson, idempotencyReplayed, transfer }: Outcome<'answered'>,
  reply: FastifyReply,
): void {
  if (idempotencyReplayed) reply.header('idempotency-replayed', 'true');
  if (transfer) reply.header('payment-response', headerOf(settledOf(transfer)));
  void reply.type(JSON_TYPE).send(successOfJson(dataJson));
}

export function sendPending(
  { relayRequestId, retryAfterSeconds, reason }: Outcome<'pending'>,
  network: string | undefined,
  reply: FastifyReply,
): void {
  const pending = { relay_request_id: relayRequestId ?? null, retry_after_seconds: retryAfterSeconds, reason };
  void reply.send(answerPending(pending, network, reply));
}

/**
 * Answers 202 if the process that worked on a paid call has stopped. The call may have been charged; the client repeats
 * the request, and another process reads the result.
 */
export const pendingIfLost =
  (relayRequestId: string | undefined) =>
  (error: unknown): Outcome<'pending'> => {
    if (relayRequestId === undefined || !(error instanceof Refusal) || error.reason !== 'answer_lost') throw error;
    return { outcome: 'pending', relayRequestId, retryAfterSeconds: 1, reason: 'payment_unknown' };
  };

/** The fingerprint is empty, because the gateway service computes it: only that service reads the body. */
export function contextOf(request: FastifyRequest, paymentIdentifier?: string): RequestContext {
  const key = idempotencyKeyOf(request) ?? paymentIdentifier;
  return key === undefined ? request.context : { ...request.context, idempotency: { key, fingerprint: '' } };
}
