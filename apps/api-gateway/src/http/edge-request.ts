import type { RequestContext } from '@market/messaging';
import type { Span } from '@market/tracing';
import type { FastifyRequest } from 'fastify';
import type { Credential } from './bearer-key.js';
import type { RouteRules } from './route-rules.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The context of requests to services; the authentication hook of the route creates it. */
    context: RequestContext;
    /** The credential of the principal; undefined if none was needed. */
    credential: Credential | undefined;
    /** The rules of the matched route; undefined if no route matched. */
    rules: RouteRules | undefined;
    /** The body as it was sent; undefined if there was none. */
    sentBody: string | undefined;
    /** The reason of the refusal; undefined if the request was not refused. */
    outcome: string | undefined;
    /** What the headers say of a raw body, which the handler reads. */
    content?: { type?: string | undefined; length?: number | undefined; encoding?: string | undefined };
    /** The challenge of the Machine Payments Protocol that the request answers with a payment. */
    challengeId: string | undefined;
    /** Undefined if tracing is off. */
    span: Span | undefined;
  }
  interface FastifyContextConfig {
    rules?: RouteRules;
  }
}

/** Returns the path as it was sent, without its query. */
export function pathOf(request: FastifyRequest): string {
  const url = request.raw.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
