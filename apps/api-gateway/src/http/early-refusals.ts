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
/** The stack is that of the first one, since making a stack costs more than all the rest. */
export const overloaded = refuse(executeCall, 'overloaded', { retry_after_seconds: RETRY_SECONDS });

/**
 * Refuses the calls that `admission` holds back before Fastify sees them. Where ten times as many calls come as can be carried, what their
 * refusals cost is taken from those that are carried, so a refusal is text that is made once. It is the answer that the hooks and the error
 * filter would make; a browser's request, which needs further headers, is left to them.
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
