import { authenticate } from '@market/contracts/identity';
import { Limits } from '@market/limits';
import { newRequestContext, Refusal, type RequestContext } from '@market/messaging';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { apiGatewayConfig, type ApiGatewayConfig } from '../config.js';
import { Authenticator } from './authenticator.js';
import { tooManyStreams } from './edge-refusals.js';

/** The limit per account, over all processes. */
const MAX_STREAMS = 5;
/** The time after which a client reconnects. */
const RETRY_MS = 1_000;
/** Keeps proxies from closing an idle connection. */
export const COMMENT = ':\n\n';

export interface OpenStream {
  /** Aborted when the client disconnects or the process stops. */
  readonly signal: AbortSignal;
  /** Whether the client is still connected and its credential is still valid. */
  isOpen(): Promise<boolean>;
  /** Returns a context for the next request of the stream, with its own deadline. */
  context(): RequestContext;
}

/** HEAD is excluded, because it has no body. */
export const asksForStream = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && /\btext\/event-stream\b/i.test(headers.accept ?? '');

/** Sends answers that stay open until the client disconnects, its credential ends or the process stops. */
@Injectable()
export class ServerSentEvents implements OnModuleDestroy {
  private readonly open = new Set<AbortController>();

  constructor(
    private readonly limits: Limits,
    private readonly authenticator: Authenticator,
    @Inject(apiGatewayConfig.token) private readonly config: ApiGatewayConfig,
  ) {}

  /** Closes all streams; clients reconnect to another process. */
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
    // A generator that was never read runs no `finally`, so the permit ends with the socket.
    const end = (): void => {
      stream.abort();
      this.open.delete(stream);
      permit.release();
    };
    reply.raw.once('close', end);
    if (request.raw.socket.destroyed || reply.raw.destroyed) return end();
    void reply
      .type('text/event-stream')
      .header('x-accel-buffering', 'no')
      .send(Readable.from(this.frames(request, stream.signal, follow)));
  }

  private async *frames(
    request: FastifyRequest,
    signal: AbortSignal,
    follow: (stream: OpenStream) => AsyncIterable<string>,
  ): AsyncGenerator<string, void, undefined> {
    yield `retry: ${RETRY_MS}\n\n`;
    yield* follow({
      signal,
      isOpen: async () => !signal.aborted && (await this.isStillGood(request)),
      context: () => this.contextOf(request),
    });
  }

  private async isStillGood(request: FastifyRequest): Promise<boolean> {
    const credential = request.credential!;
    try {
      const principal =
        this.authenticator.known(credential) ?? (await this.authenticator.ask(credential, this.contextOf(request)));
      return !request.rules?.operators || principal.isOperator === true;
    } catch (error) {
      // Identity that cannot be asked ends no stream.
      return !(error instanceof Refusal && error.reason in authenticate.refusals);
    }
  }

  private contextOf(request: FastifyRequest): RequestContext {
    const { requestId, traceparent, principal } = request.context;
    return newRequestContext({ requestId, traceparent, principal, budgetMs: this.config.requestBudgetMs });
  }
}
