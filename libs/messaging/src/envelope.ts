import type { RequestContext, ReplyNotes } from './request-context.js';

/** A request on the wire. It contains `remainingMs` instead of a time, so that clocks need not agree. */
export interface RequestEnvelope {
  meta: Omit<RequestContext, 'deadlineAt' | 'reply' | 'traceparent'> & { remainingMs: number; traceparent?: string };
  data: unknown;
}

/** A reply on the wire: exactly one of the three forms. An unexpected error is reported without details. */
export type ReplyEnvelope =
  | { ok: unknown; notes?: ReplyNotes }
  | { refused: { reason: string; details: Record<string, unknown> } }
  | { failed: 'internal' | 'invalid_message' };

export function toRequestEnvelope(
  { requestId, traceparent, hops, principal, idempotency }: RequestContext,
  remainingMs: number,
  data: unknown,
): RequestEnvelope {
  return { meta: { requestId, remainingMs, traceparent, hops, principal, idempotency }, data };
}

export function toRequestContext({
  meta: { requestId, remainingMs, traceparent, hops, principal, idempotency },
}: RequestEnvelope): RequestContext {
  return { requestId, deadlineAt: Date.now() + remainingMs, traceparent, hops, principal, idempotency, reply: {} };
}

/** An event as it is stored in an outbox and sent to consumers. */
export interface EventRecord {
  /** A UUIDv7, by which duplicates are recognized. */
  id: string;
  subject: string;
  payload: unknown;
  requestId: string;
  traceparent?: string;
}
