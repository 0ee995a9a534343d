import { Logger } from '@nestjs/common';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { traceIdOf } from '@market/messaging';
import { Histogram } from 'prom-client';
import { endTrace } from './trace-context.js';

const requestSeconds = new Histogram({
  name: 'http_server_request_duration_seconds',
  help: 'Requests at the edge by method, route template and status',
  labelNames: ['http_request_method', 'http_route', 'http_response_status_code'] as const,
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
});

const logger = new Logger('HttpRequest');

/**
 * Writes one log line and one observation per answered request: the caller, the route template and the outcome. To keep
 * secrets out of logs, it omits the raw path, the query, headers and bodies.
 */
export function logRequests(instance: FastifyInstance): void {
  instance.decorateRequest('outcome');
  instance.decorateRequest('span');
  instance.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const route = request.routeOptions.url ?? 'unmatched';
    const status = reply.statusCode;
    recordRequest({ method, route, status, ms: reply.elapsedTime }, contextOf(request));
    endTrace(request, `${method} ${route}`, status);
    done();
  });
}

export function recordRequest(
  { method, route, status, ms }: { method: string; route: string; status: number; ms: number },
  context: Record<string, unknown>,
): void {
  requestSeconds.observe(
    { http_request_method: method, http_route: route, http_response_status_code: status },
    ms / 1_000,
  );
  logger.log({ msg: 'request', method, route, status, ms: Math.round(ms * 10) / 10, ...context });
}

function contextOf(request: FastifyRequest): Record<string, unknown> {
  const { requestId = request.id, traceparent, principal } = request.context ?? {};
  return {
    request_id: requestId,
    trace_id: traceIdOf(traceparent),
    account_id: principal?.accountId,
    key_id: principal?.keyId,
    owner_id: principal?.ownerId,
    params: namesIn(request.params),
    outcome: request.outcome,
  };
}

/**
 * The characters of ids and slugs. Credentials contain underscores, so a credential sent in a path by mistake is not
 * logged.
 */
const NAME = /^[A-Za-z0-9-]{1,100}$/;

const namesIn = (params: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(params ?? {}).filter(([, value]) => NAME.test(String(value))));
