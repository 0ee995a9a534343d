import type { OutputOf } from '@market/contracts';
import { isStreamType, type executeCall } from '@market/contracts/gateway';
import { Refusal, type RequestContext } from '@market/messaging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JSON_TYPE, success, successOfJson } from '../http/envelope.js';
import { idempotencyKeyOf } from '../http/idempotency.js';
import type { AnswerFiles } from './answer-files.js';
import { streamOf, type AnswerStreams, type ReadableStream } from './answer-streams.js';
import { wantsBytes, wantsEvents } from './file-view.js';
import { answerPending } from './payment-pending.js';
import { sendSettlement } from './x402.js';

type Outcome<Name extends OutputOf<typeof executeCall>['outcome']> = Extract<
  OutputOf<typeof executeCall>,
  { outcome: Name }
>;

/** The rules of the routes of calls. */
export const CALL_RULES = {
  body: 'opaque',
  anyType: true,
  bodyLimitBytes: 1_048_576,
  waitsForSeller: true,
  rate: 'calls',
} as const;

/** The body of a call, as the gateway service takes it: JSON as text, and bytes of another type as base64. */
export function sentBodyOf({ body, headers }: FastifyRequest): { body: string; contentType?: string } {
  return Buffer.isBuffer(body)
    ? { body: body.toString('base64'), contentType: headers['content-type'] ?? '' }
    : { body: (body as string | undefined) ?? '' };
}

/** The path of the file that a call was answered with. */
export const contentUrlOf = (requestId: string): string => `/api/v1/gateway-requests/${requestId}/content`;

/** How a buyer gets answers that are no JSON. */
interface Views {
  files: AnswerFiles;
  streams: AnswerStreams;
  /** Whether the buyer can read the answer again with GET. */
  hasKey: boolean;
}

/** Sends what became of a call that has not to be paid first; `relayRequestId` and `network` are of what paid it. */
export async function sendOutcome(
  outcome: Outcome<'answered' | 'streaming' | 'working' | 'pending'>,
  views: Views,
  { relayRequestId, network }: { relayRequestId: string | undefined; network: string | undefined },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  switch (outcome.outcome) {
    case 'answered':
      return sendAnswer(outcome, views, request, reply);
    case 'streaming':
      return sendStream(outcome, views, relayRequestId, request, reply);
    case 'working':
      return sendWorking(outcome, reply);
    case 'pending':
      return sendPending(outcome, network, reply);
  }
}

async function sendAnswer(
  { dataJson, content, idempotencyReplayed, transfer }: Outcome<'answered'>,
  { files, streams, hasKey }: Views,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (idempotencyReplayed) reply.header('idempotency-replayed', 'true');
  if (transfer) sendSettlement(transfer, reply);
  reply.header('x-market-billable', String(BILLABLE.test(dataJson)));
  if (!content) return void reply.type(JSON_TYPE).send(successOfJson(dataJson));

  const result = JSON.parse(dataJson) as GatewayResult;
  if (isStreamType(content.contentType)) {
    return sendEvents(streamOf(result.request_id, content), { streams, hasKey }, undefined, request, reply);
  }
  varyByAccept(reply);
  if (wantsBytes(request.headers.accept, content.contentType)) {
    setResultHeaders(result, reply);
    return files.send(result.request_id, content, request, reply);
  }
  const base64 = await files.base64(content, request);
  const contentUrl = hasKey ? contentUrlOf(result.request_id) : null;
  const file = { ...result.seller_response, ...(base64 === undefined ? {} : { base64 }), content_url: contentUrl };
  void reply.type(JSON_TYPE).send(successOfJson(JSON.stringify({ ...result, seller_response: file })));
}

/** Answers with a stream that its seller is still sending. */
function sendStream(
  { stream, transfer }: Outcome<'streaming'>,
  views: Pick<Views, 'streams' | 'hasKey'>,
  relayRequestId: string | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (transfer) sendSettlement(transfer, reply);
  views.streams.countUntilOver(stream, request);
  return sendEvents(stream, views, relayRequestId, request, reply);
}

/** Sends a stream as it comes to who asks for events, and otherwise as one JSON document when it is over. */
async function sendEvents(
  stream: ReadableStream,
  { streams, hasKey }: Pick<Views, 'streams' | 'hasKey'>,
  relayRequestId: string | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  varyByAccept(reply);
  if (wantsEvents(request.headers.accept)) return streams.send(stream, request, reply);
  const result = (await streams.collect(stream, request, reply)) as (GatewayResult & { billable: boolean }) | null;
  if (!result)
    return sendPending(
      { outcome: 'pending', relayRequestId, retryAfterSeconds: 1, reason: 'call_in_progress' },
      undefined,
      reply,
    );
  reply.header('x-market-billable', String(result.billable));
  const seller_response = { ...result.seller_response, content_url: hasKey ? contentUrlOf(result.request_id) : null };
  void reply.type(JSON_TYPE).send(successOfJson(JSON.stringify({ ...result, seller_response })));
}

export function varyByAccept(reply: FastifyReply): void {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary ? `${String(vary)}, Accept` : 'Accept');
}

/** Matches the beginning of a gateway result that was charged. */
const BILLABLE = /^\{"request_id":"[^"]*","billable":true/;

interface GatewayResult {
  request_id: string;
  charged_amount: { amount_cents: number; currency: string };
  fees: { fee_amount_cents: number };
  seller_status_code: number;
  seller_response: object;
}

const setResultHeaders = (result: GatewayResult, reply: FastifyReply): void =>
  void reply
    .header('x-market-request-id', result.request_id)
    .header('x-market-charged-amount-cents', String(result.charged_amount.amount_cents))
    .header('x-market-charged-currency', result.charged_amount.currency)
    .header('x-market-fee-amount-cents', String(result.fees.fee_amount_cents))
    .header('x-market-seller-status', String(result.seller_status_code));

/** Answers 202 for a call whose seller works on it. */
function sendWorking({ job, transfer }: Outcome<'working'>, reply: FastifyReply): void {
  if (transfer) sendSettlement(transfer, reply);
  const { requestId, relayRequestId, percent, message, retryAfterSeconds, deadline } = job;
  const data = {
    request_id: requestId,
    relay_request_id: relayRequestId,
    status: 'working',
    ...(percent === null ? {} : { percent }),
    ...(message === null ? {} : { message }),
    retry_after_seconds: retryAfterSeconds,
    deadline,
  };
  void reply.status(202).header('retry-after', retryAfterSeconds).send(success(data));
}

function sendPending(
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
