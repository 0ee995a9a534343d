import { executeCall } from '@market/contracts/gateway';
import { refuse } from '@market/messaging';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Admission } from './admission.js';
import { JSON_TYPE } from './envelope.js';
import { toHttpError, type GuidanceLinks } from './error-body.js';
import { requestIdOf } from './request-id.js';
import { recordRequest } from './request-log.js';
import type { RouteTable } from './route-table.js';

const RETRY_SECONDS = 1;
/** Created once, because creating a stack trace is the most expensive part of a refusal. */
export const overloaded = refuse(executeCall, 'overloaded', { retry_after_seconds: RETRY_SECONDS });

/**
 * Refuses the calls that `admission` does not admit, before Fastify handles them. Under overload, refusals take time
 * from accepted calls, so the body is serialized once. The answer is the same as that of the hooks and the error
 * filter. Requests of browsers, which need further headers, are left to those.
 */
export function refuseEarly(server: Server, admission: Admission, routes: RouteTable, links: GuidanceLinks): void {
  const { status, body } = toHttpError(overloaded, '', links);
  const text = JSON.stringify(body);
  const headers = {
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'retry-after': String(RETRY_SECONDS),
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(text),
  };
  const routeOf = ({ method, url, headers: { origin, host } }: IncomingMessage): string | undefined =>
    origin === undefined && host !== undefined ? routes.callAt(method!, url!) : undefined;
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const route = admission.isFull() ? routeOf(request) : undefined;
    if (route === undefined) return handlers.forEach((handle) => handle.call(server, request, response));
    const requestId = requestIdOf(request);
    response.writeHead(status, { 'x-request-id': requestId, ...headers }).end(text);
    recordRequest(
      { method: request.method!, route, status, ms: 0 },
      { request_id: requestId, outcome: overloaded.reason },
    );
  });
}
