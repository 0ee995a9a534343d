import type { RequestContext } from '@market/messaging';
import type { Span } from '@market/tracing';
import type { FastifyRequest } from 'fastify';
import type { Credential } from './bearer-key.js';
import type { RouteRules } from './route-rules.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Created by the route's authentication hook. Services are called under it. */
    context: RequestContext;
    /** The credential by which its context's principal is known; undefined where none was needed. */
    credential: Credential | undefined;
    /** What the matched route declares; undefined where no route matched. */
    rules: RouteRules | undefined;
    /** Why the request was refused; undefined where it was not. */
    outcome: string | undefined;
    /** Undefined where nothing is traced. */
    span: Span | undefined;
  }
  interface FastifyContextConfig {
    rules?: RouteRules;
  }
}

/** The path as it was sent, without its query. */
export function pathOf(request: FastifyRequest): string {
  const url = request.raw.url ?? '/';
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
