import { Limits, type Permit } from '@market/limits';
import { newRequestContext, Refusal, type RequestContext } from '@market/messaging';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { apiGatewayConfig, type ApiGatewayConfig } from '../config.js';
import { Authenticator } from './authenticator.js';
import { tooManyStreams } from './edge-refusals.js';

/** Of one account at a time, over all processes. */
const MAX_STREAMS = 5;
/** A client that lost its connection waits so long before it comes back. */
const RETRY_MS = 1_000;
/** Keeps proxies from closing a connection on which nothing happens. */
export const COMMENT = ':\n\n';

export interface OpenStream {
  /** Aborted when the client went or the process stops. */
  readonly signal: AbortSignal;
  /** Whether somebody still listens who still may. */
  isOpen(): Promise<boolean>;
  /** A context for the next request of the stream, with its own deadline. */
  context(): RequestContext;
}

/** HEAD has no body that could stay open. */
export const asksForStream = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && /\btext\/event-stream\b/i.test(headers.accept ?? '');

/** Answers that stay open until the client goes, its key or session ends or the process stops. */
@Injectable()
export class ServerSentEvents implements OnModuleDestroy {
  private readonly open = new Set<AbortController>();

  constructor(
    private readonly limits: Limits,
    private readonly authenticator: Authenticator,
    @Inject(apiGatewayConfig.token) private readonly config: ApiGatewayConfig,
  ) {}

  /** Clients reconnect to another process. */
  onModuleDestroy(): void {
    for (const stream of this.open) stream.abort();
  }

  /** @throws Refusal `too_many_streams`. */
  async send(
    request: FastifyRequest,
    reply: FastifyReply,
    follow: (stream: OpenStream) => AsyncIterable<string>,
  ): Promise<void> {
    const permit = await this.limits.acquire('edge.event-streams', request.context.principal!.accountId, MAX_STREAMS);
    if (!permit) throw tooManyStreams(MAX_STREAMS);
    const stream = new AbortController();
    this.open.add(stream);
    reply.raw.once('close', () => stream.abort());
    if (reply.raw.destroyed) stream.abort();
    void reply
      .type('text/event-stream')
      .header('x-accel-buffering', 'no')
      .send(Readable.from(this.frames(request, stream, permit, follow)));
  }

  private async *frames(
    request: FastifyRequest,
    stream: AbortController,
    permit: Permit,
    follow: (stream: OpenStream) => AsyncIterable<string>,
  ): AsyncGenerator<string, void, undefined> {
    const { signal } = stream;
    try {
      yield `retry: ${RETRY_MS}\n\n`;
      yield* follow({
        signal,
        isOpen: async () => !signal.aborted && (await this.isStillGood(request)),
        context: () => this.contextOf(request),
      });
    } finally {
      this.open.delete(stream);
      permit.release();
    }
  }

  private async isStillGood(request: FastifyRequest): Promise<boolean> {
    const credential = request.credential!;
    try {
      const principal =
        this.authenticator.known(credential) ?? (await this.authenticator.ask(credential, this.contextOf(request)));
      return !request.rules?.operators || principal.isOperator === true;
    } catch (error) {
      return !(error instanceof Refusal && error.declaration.kind === 'unauthenticated');
    }
  }

  private contextOf(request: FastifyRequest): RequestContext {
    const { requestId, traceparent, principal } = request.context;
    return newRequestContext({ requestId, traceparent, principal, budgetMs: this.config.requestBudgetMs });
  }
}
