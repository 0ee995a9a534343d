import { randomBytes } from 'node:crypto';
import { isUuid } from '@market/kernel';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(?:-.*)?$/;

/**
 * The W3C `traceparent` of this hop: a child of the one that came in, else a trace of our own, named by the request id
 * where that is a uuid.
 */
export function traceparentFor(incoming: string | string[] | undefined, requestId: string): string {
  const spanId = randomBytes(8).toString('hex');
  const parent = typeof incoming === 'string' && incoming.length <= 512 ? TRACEPARENT.exec(incoming) : null;
  if (parent) return `00-${parent[1]!}-${spanId}-${parent[2]!}`;
  const traceId = isUuid(requestId) ? requestId.replaceAll('-', '').toLowerCase() : randomBytes(16).toString('hex');
  return `00-${traceId}-${spanId}-00`;
}
