import type { RequestContext } from '@market/messaging';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { requestInvalid } from './edge-refusals.js';
import { pathOf } from './edge-request.js';

const KEY = /^[\x21-\x7e]{1,255}$/;

/** @throws Refusal if the Idempotency-Key is not 1 to 255 visible ASCII characters. */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !KEY.test(key))
    throw requestInvalid([
      { field: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters, given once' },
    ]);
  return key;
}

/**
 * Returns the request context, with its Idempotency-Key bound to method, path and body. `proofs` are body fields that
 * are excluded: a client that repeats the same request with a new proof gets the same answer.
 */
export function idempotentContext(
  request: FastifyRequest,
  body: object,
  proofs: readonly string[] = [],
): RequestContext {
  const key = idempotencyKeyOf(request);
  if (key === undefined) return request.context;
  const intention = Object.fromEntries(Object.entries(body).filter(([name]) => !proofs.includes(name)));
  const fingerprint = createHash('sha256')
    .update(`${request.method} ${pathOf(request)}\n${canonicalJson(intention)}`)
    .digest('hex');
  return { ...request.context, idempotency: { key, fingerprint } };
}

export function markReplay(context: RequestContext, reply: FastifyReply): void {
  if (context.reply.idempotencyReplayed) reply.header('idempotency-replayed', 'true');
}

/** Returns JSON text that does not depend on the order of keys. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
