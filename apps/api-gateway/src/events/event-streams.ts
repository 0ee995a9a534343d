import type { OutputOf } from '@market/contracts';
import { eventsAdded, listEvents, type AccountEvent } from '@market/contracts/reputation';
import { Limits, type Permit } from '@market/limits';
import { HandleSignal, MessageBus, newRequestContext, Refusal } from '@market/messaging';
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { apiGatewayConfig, type ApiGatewayConfig } from '../config.js';
import { Authenticator } from '../http/authenticator.js';
import { tooManyStreams } from '../http/edge-refusals.js';

/** Of one account at a time, over all processes. */
const MAX_STREAMS = 5;
const PAGE = 100;
/** A signal may get lost: whoever waits looks by itself after this time, and sends a comment, which keeps proxies from closing the connection. */
const POLL_INTERVAL_MS = 5_000;
/** A client that lost its connection waits so long before it comes back. */
const RETRY_MS = 1_000;

/** Server-sent events: each stream reads the account's events in their order, when it is told that there are more. */
@Injectable()
export class EventStreams implements OnModuleDestroy {
  private readonly logger = new Logger('EventStreams');
  private readonly added = new EventEmitter().setMaxListeners(0);
  private readonly open = new Set<AbortController>();

  constructor(
    private readonly bus: MessageBus,
    private readonly limits: Limits,
    private readonly authenticator: Authenticator,
    @Inject(apiGatewayConfig.token) private readonly config: ApiGatewayConfig,
  ) {}

  /** Clients come back to another process, with the id of the last event that they saw. */
  onModuleDestroy(): void {
    for (const stream of this.open) stream.abort();
  }

  @HandleSignal(eventsAdded)
  wake({ accountIds }: { accountIds: string[] }): void {
    for (const accountId of accountIds) this.added.emit(accountId);
  }

  /** Answers with a stream of the events behind `after`, until the client goes, its key or session ends or the process stops. @throws Refusal `too_many_streams`. */
  async send(request: FastifyRequest, reply: FastifyReply, after: string): Promise<void> {
    const { accountId } = request.context.principal!;
    const permit = await this.limits.acquire('edge.event-streams', accountId, MAX_STREAMS);
    if (!permit) throw tooManyStreams(MAX_STREAMS);
    const stream = new AbortController();
    this.open.add(stream);
    reply.raw.once('close', () => stream.abort());
    if (reply.raw.destroyed) stream.abort();
    void reply
      .type('text/event-stream')
      .header('x-accel-buffering', 'no')
      .send(Readable.from(this.follow(request, accountId, after, stream, permit)));
  }

  private async *follow(
    request: FastifyRequest,
    accountId: string,
    after: string,
    stream: AbortController,
    permit: Permit,
  ): AsyncGenerator<string, void, undefined> {
    const { signal } = stream;
    let isTold = false;
    let stopWaiting = (): void => undefined;
    const onAdded = (): void => {
      isTold = true;
      stopWaiting();
    };
    this.added.on(accountId, onAdded);
    try {
      yield `retry: ${RETRY_MS}\n\n`;
      while (!signal.aborted && (await this.isStillGood(request))) {
        isTold = false;
        const page = await this.read(request, after);
        for (const event of page.items) yield frameOf(event);
        after = page.items.at(-1)?.id ?? page.latest ?? after;
        if (page.hasMore || isTold) continue;
        const waiting = new AbortController();
        stopWaiting = () => waiting.abort();
        await delay(POLL_INTERVAL_MS, undefined, { signal: AbortSignal.any([signal, waiting.signal]) }).catch(
          () => undefined,
        );
        if (!isTold && !signal.aborted) yield ':\n\n';
      }
    } finally {
      this.added.off(accountId, onAdded);
      this.open.delete(stream);
      permit.release();
    }
  }

  /** What cannot be read now is read when its service is back: the connection stays. */
  private async read(request: FastifyRequest, after: string): Promise<OutputOf<typeof listEvents>> {
    try {
      return await this.bus.request(listEvents, { after, limit: PAGE }, this.contextOf(request));
    } catch (error) {
      this.logger.debug(`[${request.id}] events cannot be read: ${String(error)}`);
      return { items: [], hasMore: false };
    }
  }

  private async isStillGood(request: FastifyRequest): Promise<boolean> {
    const credential = request.credential!;
    if (this.authenticator.known(credential)) return true;
    try {
      await this.authenticator.ask(credential, this.contextOf(request));
      return true;
    } catch (error) {
      return !(error instanceof Refusal && error.declaration.kind === 'unauthenticated');
    }
  }

  private contextOf(request: FastifyRequest) {
    const { requestId, traceparent, principal } = request.context;
    return newRequestContext({ requestId, traceparent, principal, budgetMs: this.config.requestBudgetMs });
  }
}

const frameOf = ({ id, type, ...event }: AccountEvent): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, type, ...event })}\n\n`;
