import { z } from 'zod';
import { declareRefusal, defineEvent, defineRequest } from '../define.js';
import { id, relayRequestId, timestamp } from '../shared/index.js';

/** What a seller says of a job while it works on it. */
export const jobProgress = z.object({
  percent: z.number().nullable().describe('From 0 to 100.'),
  message: z.string().nullable().describe('In the words of the seller.'),
  at: timestamp.describe('When it was said.'),
});

/** A call whose seller has taken it, and delivers later. */
export const openJob = z.object({
  requestId: id,
  relayRequestId: relayRequestId.nullable(),
  percent: z.number().nullable(),
  message: z.string().nullable(),
  deadline: timestamp,
  retryAfterSeconds: z.number().int(),
});
export type OpenJob = z.output<typeof openJob>;

export const MAX_PROGRESS_MESSAGE = 200;
export const MAX_FAILURE_REASON = 500;
/** A delivery up to this size is one message; of a larger one each piece has this size. */
export const DELIVERY_PIECE_BYTES = 262_144;

const deliveryKind = z.enum(['result', 'progress', 'failed']);
export type DeliveryKind = z.output<typeof deliveryKind>;

/** The headers of a delivery that say who sends it; empty where they are missing. */
const deliverySignature = z.object({ id: z.string(), timestamp: z.string(), signature: z.string() });

const refusals = {
  job_not_found: declareRefusal('not-found', 'No call with this request id was taken as a job', z.object({})),
  delivery_too_large: declareRefusal(
    'too-large',
    'The delivery is larger than the listing takes; the job goes on',
    z.object({ max_bytes: z.number().int() }),
    { nextAction: 'fix_request' },
  ),
  delivery_unsigned: declareRefusal(
    'unauthenticated',
    'The delivery is not signed with the secret of the endpoint, for this job, in the last five minutes',
    z.object({}),
    { nextAction: 'fix_request' },
  ),
};

const MAX_SKEW_SECONDS = 300;
/** The seller's own part of a message's id; that of a result may end with the units, so that they are signed. */
const OWN_ID = /^[0-9A-Za-z]{1,64}(?:-(\d{1,15}))?$/;

interface Delivery {
  requestId: string;
  kind: DeliveryKind;
}

const ownIdOf = ({ requestId, kind }: Delivery, messageId: string): RegExpExecArray | null => {
  const prefix = `${requestId}-${kind}-`;
  return messageId.startsWith(prefix) ? OWN_ID.exec(messageId.slice(prefix.length)) : null;
};

/** Whether the id and the time of a delivery are those of a message of this kind for this job. No other signed message is. */
export function isDeliveryOf(
  delivery: Delivery,
  { id: messageId, timestamp: seconds }: { id: string; timestamp: string },
): boolean {
  const own = ownIdOf(delivery, messageId);
  return (
    own !== null &&
    (own[1] === undefined || delivery.kind === 'result') &&
    /^\d{1,12}$/.test(seconds) &&
    Math.abs(Date.now() / 1_000 - Number(seconds)) <= MAX_SKEW_SECONDS
  );
}

/** How many units the id of a signed result says that the call used. */
export function unitsOfDelivery(delivery: Delivery, { id: messageId }: { id: string }): number | undefined {
  const units = ownIdOf(delivery, messageId)?.[1];
  return units === undefined ? undefined : Number(units);
}

/** How much a seller may deliver for a job, before its bytes are read. */
export const openDelivery = defineRequest({
  subject: 'rpc.gateway.open-delivery.v1',
  repeatable: true,
  input: z.object({ requestId: id, kind: deliveryKind }),
  output: z.object({ maxBytes: z.number().int() }),
  refusals: { job_not_found: refusals.job_not_found },
});

/** A piece of a delivery that is larger than one. It belongs to no call until its signature was checked. */
export const addDeliveryPiece = defineRequest({
  subject: 'rpc.gateway.add-delivery-piece.v1',
  repeatable: true,
  input: z.object({ requestId: id, contentId: id, offset: z.number().int().nonnegative(), base64: z.string() }),
  output: z.object({}),
  refusals: { job_not_found: refusals.job_not_found },
});

export const deliverJob = defineRequest({
  subject: 'rpc.gateway.deliver-job.v1',
  repeatable: true,
  input: z.object({
    requestId: id,
    kind: deliveryKind,
    signed: deliverySignature,
    contentType: z.string().max(200),
    /** The whole of it, or the pieces that were added. */
    body: z.union([z.object({ base64: z.string() }), z.object({ contentId: id, size: z.number().int() })]),
  }),
  output: z.object({
    status: z.enum(['delivered', 'working', 'failed']).describe('Where the job stands now.'),
    duplicate: z.literal(true).optional().describe('Present where the same delivery had come before.'),
  }),
  refusals: {
    ...refusals,
    result_refused: declareRefusal(
      'invalid',
      'This is no answer that the listing gives; the job goes on',
      z.object({ problem: z.string() }),
      { nextAction: 'fix_request' },
    ),
    delivery_refused: declareRefusal(
      'invalid',
      'This is no progress or no failure of a job; the job goes on',
      z.object({ problem: z.string() }),
      { nextAction: 'fix_request' },
    ),
    job_ended: declareRefusal('conflict', 'The job has ended, and nothing more is taken for it', z.object({})),
    progress_too_often: declareRefusal(
      'rate-limited',
      'One progress of a job is taken each second',
      z.object({ retry_after_seconds: z.number().int() }),
      { nextAction: 'retry_after_delay' },
    ),
  },
});

export const cancelCall = defineRequest({
  subject: 'rpc.gateway.cancel-call.v1',
  repeatable: true,
  input: z.object({ requestId: id }),
  output: z.object({
    request_id: z.string(),
    status: z.literal('cancelling').describe('Always cancelling: the seller is told, and may still deliver.'),
    retry_after_seconds: z.number().int().describe('How long to wait before asking for the call.'),
  }),
  refusals: {
    gateway_request_not_found: declareRefusal('not-found', 'No such gateway request', z.object({})),
    not_cancellable: declareRefusal(
      'conflict',
      'Only a job whose seller has not delivered yet can be cancelled',
      z.object({}),
    ),
  },
});

const jobEvent = { requestId: id, buyerId: id, listingId: id, at: timestamp };

/** Said of a job at most once in ten seconds. */
export const jobProgressed = defineEvent({
  subject: 'evt.gateway.job-progressed.v1',
  payload: z.object({ ...jobEvent, percent: z.number().nullable(), message: z.string().nullable() }),
});

/** `reason` is null for a job that was delivered. */
export const jobEnded = defineEvent({
  subject: 'evt.gateway.job-ended.v1',
  payload: z.object({ ...jobEvent, reason: z.string().nullable() }),
});
