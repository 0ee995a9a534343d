import { isUuid } from '@market/kernel';
import { SpanKind, startTrace, type Origin } from '@market/tracing';
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/**
 * Returns the incoming trace with its flags, or a new trace. The id of a new trace is the request id if that is a uuid.
 */
function originOf(incoming: string | string[] | undefined, requestId: string): Origin & { flags: string } {
  const given = typeof incoming === 'string' && incoming.length <= 512 ? TRACEPARENT.exec(incoming) : null;
  if (given) return { traceId: given[1]!, parentId: given[2]!, flags: given[3]! };
  const id = isUuid(requestId) ? requestId.toLowerCase() : randomUUID();
  return { traceId: id.replaceAll('-', ''), flags: '00' };
}

/** Returns the W3C `traceparent` of this hop: that of the new span, or without tracing a child of the incoming one. */
export function traceRequest(request: Pick<FastifyRequest, 'headers' | 'id' | 'method' | 'span'>): string {
  const { flags, ...origin } = originOf(request.headers.traceparent, request.id);
  request.span = startTrace(request.method, SpanKind.Server, origin);
  if (request.span) return request.span.traceparent;
  const random = randomUUID();
  return `00-${origin.traceId}-${random.slice(0, 8) + random.slice(-8)}-${flags}`;
}

/** Ends the span when the request has been answered. */
export function endTrace({ span, id, context, outcome }: FastifyRequest, name: string, status: number): void {
  if (!span) return;
  const [http_method, http_route] = name.split(' ');
  span.name = name;
  span.set({
    'http.request.method': http_method,
    'http.route': http_route,
    'http.response.status_code': status,
    'market.request_id': id,
    'market.account_id': context?.principal?.accountId,
  });
  if (status >= 500) span.fail(outcome ?? String(status));
  span.end();
}
