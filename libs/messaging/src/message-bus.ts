import type {
  OutputOf,
  PayloadOf,
  PlatformReason,
  RequestContract,
  RequestOf,
  ServiceTopology,
  SignalContract,
} from '@market/contracts';
import { currentSpan, SpanKind, keep, startSpan } from '@market/tracing';
import { DEFAULT_BUDGET_MS, type RequestContext } from './request-context.js';
import { toRequestEnvelope, type ReplyEnvelope, type RequestEnvelope } from './envelope.js';
import { clientSeconds } from './metrics.js';
import { declarationOf, Refusal, refusePlatform } from './refuse.js';
import { traceOutcome } from './trace-outcome.js';
import { RequestLost, type Link } from './transport.js';

/** An unexpected error in the other service. The log of that service has the cause under the same request id. */
export class BusFailure extends Error {
  override readonly name = 'BusFailure';
}

/** How many times a request is sent if its answer is lost. */
const ATTEMPTS = 4;

/** Sends requests and signals to other services. A service may only send what the topology declares for it. */
export class MessageBus {
  private readonly allowed: ReadonlySet<string>;

  constructor(
    private readonly link: Pick<Link, 'request' | 'signal'>,
    topology: ServiceTopology,
  ) {
    this.allowed = new Set([...topology.calls, ...topology.signals].map((contract) => contract.subject));
  }

  /**
   * Sends one request and returns its answer, within the context's deadline.
   * @throws Refusal as the other service declared it, or `dependency_unavailable`, `answer_lost` or
   * `deadline_exceeded`; BusFailure for an unexpected error there.
   */
  async request<C extends RequestContract>(
    contract: C,
    input: RequestOf<C>,
    context: RequestContext,
  ): Promise<OutputOf<C>> {
    this.assertDeclared(contract.subject);
    const stop = clientSeconds.startTimer({ rpc_method: contract.subject });
    // The context of a request by a job contains no trace.
    const run = context.traceparent === undefined ? currentSpan() : undefined;
    keep(run);
    const span = startSpan(contract.subject, SpanKind.Client, run?.traceparent ?? context.traceparent);
    try {
      const output = await this.exchange(
        contract,
        input,
        span ? { ...context, traceparent: span.traceparent } : context,
      );
      if (context.reply.traceKept) keep(span);
      stop({ outcome: 'ok' });
      return output;
    } catch (error) {
      const outcome = error instanceof Refusal ? error.reason : 'failed';
      stop({ outcome });
      traceOutcome(span, outcome);
      throw error;
    } finally {
      span?.end();
    }
  }

  private async exchange<C extends RequestContract>(
    contract: C,
    input: RequestOf<C>,
    context: RequestContext,
  ): Promise<OutputOf<C>> {
    const reply = await this.replyTo(contract, input, context);
    if ('ok' in reply) {
      Object.assign(context.reply, reply.notes);
      return reply.ok as OutputOf<C>;
    }
    if ('failed' in reply) throw new BusFailure(`${contract.subject} failed: ${reply.failed}`);
    const declaration = declarationOf(contract, reply.refused.reason);
    if (!declaration)
      throw new BusFailure(`${contract.subject} refused with ${reply.refused.reason}, which it does not declare`);
    throw new Refusal(reply.refused.reason, declaration, reply.refused.details);
  }

  /**
   * Sends a request again if its answer was lost and its contract allows that. Once an answer is lost, a later failure
   * does not prove that nothing was done, so the loss is reported.
   */
  private async replyTo(
    { subject, waitsForSeller, repeatable }: RequestContract,
    input: unknown,
    context: RequestContext,
  ): Promise<ReplyEnvelope> {
    const giveUpAt = Math.min(context.deadlineAt, waitsForSeller ? Infinity : Date.now() + DEFAULT_BUDGET_MS);
    let lost: unknown;
    for (let attempt = 1; ; attempt += 1) {
      const remainingMs = giveUpAt - Date.now();
      if (remainingMs <= 0) throw lost ?? refusePlatform('deadline_exceeded', { retry_after_seconds: 1 });
      try {
        return await this.send(subject, toRequestEnvelope(context, remainingMs, input), remainingMs);
      } catch (error) {
        const isLost = error instanceof Refusal && error.reason === 'answer_lost';
        if (!isLost) throw lost ?? error;
        lost = error;
        if (!repeatable || attempt === ATTEMPTS) throw lost;
      }
    }
  }

  signal<C extends SignalContract>(contract: C, payload: PayloadOf<C>): void {
    this.assertDeclared(contract.subject);
    this.link.signal(contract.subject, payload);
  }

  private send(subject: string, message: RequestEnvelope, withinMs: number): Promise<ReplyEnvelope> {
    return new Promise((resolve, reject) => {
      const giveUp = (reason: PlatformReason): void => reject(refusePlatform(reason, { retry_after_seconds: 1 }));
      const timer = setTimeout(giveUp, withinMs, 'deadline_exceeded');
      this.link
        .request(subject, message, withinMs)
        .then(resolve, (error: unknown) =>
          giveUp(error instanceof RequestLost ? 'answer_lost' : 'dependency_unavailable'),
        )
        .finally(() => clearTimeout(timer));
    });
  }

  private assertDeclared(subject: string): void {
    if (!this.allowed.has(subject)) throw new Error(`${subject} is not declared in the topology of this service`);
  }
}
