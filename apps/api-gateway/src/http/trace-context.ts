import { isUuid } from '@market/kernel';
import { randomUUID } from 'node:crypto';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(?:-.*)?$/;

/**
 * The W3C `traceparent` of this hop: a child of the one that came in, else a trace of our own, named by the request id
 * where that is a uuid.
 */
export function traceparentFor(incoming: string | string[] | undefined, requestId: string): string {
  const random = randomUUID();
  const spanId = random.slice(0, 8) + random.slice(-8);
  const parent = typeof incoming === 'string' && incoming.length <= 512 ? TRACEPARENT.exec(incoming) : null;
  if (parent) return `00-${parent[1]!}-${spanId}-${parent[2]!}`;
  const traceId = isUuid(requestId) ? requestId.replaceAll('-', '').toLowerCase() : randomUUID().replaceAll('-', '');
  return `00-${traceId}-${spanId}-00`;
}
