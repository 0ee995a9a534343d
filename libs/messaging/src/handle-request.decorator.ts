import { Logger } from '@nestjs/common';
import type { InputOf, OutputOf, RequestContract } from '@market/contracts';
import { ContentionError, UnavailableError } from '@market/kernel';
import { isKept, SpanKind, startSpan, within } from '@market/tracing';
import { traceIdOf, type RequestContext } from './request-context.js';
import { toRequestContext, type ReplyEnvelope, type RequestEnvelope } from './envelope.js';
import { serverSeconds } from './metrics.js';
import { declarationOf, Refusal, refusePlatform } from './refuse.js';
import { read, register } from './registrations.js';
import { traceOutcome } from './trace-outcome.js';
import type { RequestServer } from './transport.js';

type Handler<C extends RequestContract> = (
  input: InputOf<C>,
  context: RequestContext,
) => OutputOf<C> | Promise<OutputOf<C>>;

const REQUEST_HANDLERS = Symbol('request handlers');

const SUMMARY_AFTER_MS = 10_000;

const logger = new Logger('HandleRequest');
const requestLog = new Logger('BusRequest');

/**
 * Serves a request contract with a method `(input, context) => output` of any provider; another signature does not
 * compile. The method itself stays as it is.
 */
export function HandleRequest<C extends RequestContract>(contract: C) {
  return <M extends Handler<C>>(
    target: object,
    method: string | symbol,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void => register(target, REQUEST_HANDLERS, { contract, method });
}

/** Adds the `@HandleRequest` methods of instances to a server. */
export function serveRequests(server: RequestServer, instances: Iterable<object>): void {
  for (const instance of instances)
    for (const { contract, method } of read<RequestContract>(instance, REQUEST_HANDLERS)) {
      const methods = instance as Record<string | symbol, Handler<RequestContract>>;
      serveRequest(server, contract, (input, context) => methods[method]!(input, context));
    }
}

/**
 * Serves a request contract with a function. Input is parsed by the contract's schema, an expired request is dropped, a
 * declared refusal is sent with its details, and any other error is logged here and reported as `internal`.
 */
export function serveRequest<C extends RequestContract>(server: RequestServer, contract: C, handler: Handler<C>): void {
  server.addHandler(contract.subject, async (envelope: RequestEnvelope): Promise<ReplyEnvelope> => {
    const stop = serverSeconds.startTimer({ rpc_method: contract.subject });
    const span = envelope?.meta && startSpan(contract.subject, SpanKind.Server, envelope.meta.traceparent);
    if (span) envelope.meta.traceparent = span.traceparent;
    const reply = await within(span, () => replyTo(contract, handler, envelope));
    const outcome = outcomeOf(reply);
    traceOutcome(span, outcome);
    if ('ok' in reply && isKept(span)) reply.notes = { ...reply.notes, traceKept: true };
    span?.end();
    const seconds = stop({ outcome });
    const { requestId: request_id, traceparent, principal } = envelope?.meta ?? {};
    requestLog.log({
      msg: contract.subject,
      outcome,
      ms: Math.round(seconds * 10_000) / 10,
      request_id,
      trace_id: traceIdOf(traceparent),
      account_id: principal?.accountId,
    });
    return reply;
  });
}

async function replyTo<C extends RequestContract>(
  contract: C,
  handler: Handler<C>,
  envelope: RequestEnvelope,
): Promise<ReplyEnvelope> {
  try {
    const parsed = contract.input.safeParse(envelope?.data);
    if (!parsed.success || typeof envelope.meta?.remainingMs !== 'number') {
      const problems = parsed.error?.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; ');
      logger.error(`${contract.subject}: message does not fit the contract: ${problems ?? 'no meta'}`);
      return { failed: 'invalid_message' };
    }
    const context = toRequestContext(envelope);
    if (envelope.meta.remainingMs <= 0) throw refusePlatform('deadline_exceeded', { retry_after_seconds: 1 });
    const output = await handler(parsed.data as InputOf<C>, context);
    return { ok: output, notes: context.reply };
  } catch (error) {
    return toReply(contract, error, envelope?.meta?.requestId);
  }
}

/**
 * Returns the kind of an answer that has several kinds, so that a claim that is `pending` is distinguished from a
 * `claimed` one.
 */
function outcomeOf(reply: ReplyEnvelope): string {
  if ('refused' in reply) return reply.refused.reason;
  if ('failed' in reply) return 'failed';
  const { outcome } = (reply.ok ?? {}) as { outcome?: unknown };
  return typeof outcome === 'string' ? outcome : 'ok';
}

/** How many requests what is unavailable cost after the one that is in the log. */
const refused = new Map<string, number>();

/** One line for the first request that an absent dependency costs, and one for those of the next ten seconds. */
function warnOf(message: string, request: string): void {
  const further = refused.get(message);
  refused.set(message, further === undefined ? 0 : further + 1);
  if (further !== undefined) return;
  logger.warn(`${request}: ${message}`);
  setTimeout(() => {
    if (refused.get(message)! > 0) logger.warn(`${refused.get(message)} further requests: ${message}`);
    refused.delete(message);
  }, SUMMARY_AFTER_MS).unref();
}

function toReply(contract: RequestContract, error: unknown, requestId: string | undefined): ReplyEnvelope {
  if (error instanceof Refusal && declarationOf(contract, error.reason))
    return { refused: { reason: error.reason, details: error.details } };
  if (error instanceof UnavailableError) {
    if (!error.isReported) warnOf(error.message, `${contract.subject} [${requestId}]`);
    const reason = error instanceof ContentionError ? 'concurrent_changes' : 'dependency_unavailable';
    return { refused: { reason, details: { retry_after_seconds: 1 } } };
  }
  logger.error(`${contract.subject} [${requestId}] failed`, error instanceof Error ? error.stack : String(error));
  return { failed: 'internal' };
}
