import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyHttpOptions, FastifyReply, FastifyRequest } from 'fastify';
import type { Server } from 'node:http';
import { allowOrigin } from './cors.js';
import { requestMalformed } from './edge-refusals.js';
import type { ErrorFilter } from './error-filter.js';
import { readJsonBodies } from './json-body.js';
import { requestIdOf } from './request-id.js';

const DEFAULT_BODY_LIMIT = 256 * 1024;
/** Ids, slugs and relay ids are shorter; a longer parameter matches nothing. */
const MAX_PARAM_LENGTH = 200;

const SERVER_LIMITS = {
  bodyLimit: DEFAULT_BODY_LIMIT,
  requestTimeout: 30_000,
  /**
   * Longer than the 60 s for which load balancers commonly keep an idle connection, so that the load balancer closes it
   * first.
   */
  keepAliveTimeout: 72_000,
  http: {
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false,
  },
} satisfies FastifyHttpOptions<Server>;

/** Nest's Fastify adapter with limits for a public port. It reads bodies by the rules of the edge instead of Nest's. */
export class EdgeAdapter extends FastifyAdapter {
  /** Set before the first request; it also answers errors before routing. */
  errors: ErrorFilter | undefined;

  /** @param trustedProxies addresses whose X-Forwarded-For is trusted; none by default. */
  constructor(trustedProxies: string[] = []) {
    super({
      ...SERVER_LIMITS,
      trustProxy: trustedProxies.length > 0 && trustedProxies,
      // During a rolling restart, requests on open connections are completed instead of refused.
      return503OnClosing: false,
      genReqId: requestIdOf,
      skipMiddie: true,
      routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
      frameworkErrors: (error: { code: string }, request: FastifyRequest, reply: FastifyReply) =>
        this.answerUnrouted(error, request, reply),
    });
  }

  override registerParserMiddleware(): void {
    readJsonBodies(this.getInstance());
  }

  private answerUnrouted(error: { code: string }, request: FastifyRequest, reply: FastifyReply): void {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    if (request.headers.origin !== undefined) allowOrigin(reply);
    const refused =
      error.code === 'FST_ERR_MAX_PARAM_LENGTH'
        ? { statusCode: 404 }
        : requestMalformed('the path is not valid percent-encoding');
    this.errors?.answer(refused, request, reply);
  }
}
