import type { Call, ReplyNotes } from './call.js';

/** A request on the wire. `remainingMs` instead of an instant, so that clocks need not agree. */
export interface RequestEnvelope {
  meta: Omit<Call, 'deadlineAt' | 'reply'> & { remainingMs: number };
  data: unknown;
}

/** An answer on the wire: exactly one of the three. Of a bug nothing is told but that it happened. */
export type ReplyEnvelope = { ok: unknown; notes?: ReplyNotes } | { refused: { reason: string; details: Record<string, unknown> } } | { failed: 'internal' | 'invalid_message' };

export function toRequestEnvelope(call: Call, data: unknown): RequestEnvelope {
  const { deadlineAt, reply: _reply, ...meta } = call;
  return { meta: { ...meta, remainingMs: deadlineAt - Date.now() }, data };
}

export function toCall({ meta }: RequestEnvelope): Call {
  const { remainingMs, ...rest } = meta;
  return { ...rest, deadlineAt: Date.now() + remainingMs, reply: {} };
}

/** An event as it lies in an outbox and travels to consumers. */
export interface EventRecord {
  /** UUIDv7; the message id by which duplicates are known. */
  id: string;
  subject: string;
  payload: unknown;
  requestId: string;
  traceparent?: string;
}
