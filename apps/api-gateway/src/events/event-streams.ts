import type { OutputOf } from '@market/contracts';
import { eventsAdded, listEvents, type AccountEvent } from '@market/contracts/reputation';
import { HandleSignal, MessageBus } from '@market/messaging';
import { Injectable, Logger } from '@nestjs/common';
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { COMMENT, type OpenStream } from '../http/server-sent-events.js';

const PAGE = 100;
/** A waiting stream reads again after this time, because a signal may be lost. */
const POLL_INTERVAL_MS = 5_000;

/** Sends streams of account events. Each stream reads the events in order when a signal announces new ones. */
@Injectable()
export class EventStreams {
  private readonly logger = new Logger('EventStreams');
  private readonly added = new EventEmitter().setMaxListeners(0);

  constructor(private readonly bus: MessageBus) {}

  @HandleSignal(eventsAdded)
  wake({ accountIds }: { accountIds: string[] }): void {
    for (const accountId of accountIds) this.added.emit(accountId);
  }

  /** Yields the events of the account after the id `after`. */
  async *follow(stream: OpenStream, accountId: string, after: string): AsyncGenerator<string, void, undefined> {
    let hasNew = false;
    let stopWaiting = (): void => undefined;
    const onAdded = (): void => {
      hasNew = true;
      stopWaiting();
    };
    this.added.on(accountId, onAdded);
    try {
      while (await stream.isOpen()) {
        hasNew = false;
        const page = await this.read(stream, after);
        for (const event of page.items) yield frameOf(event);
        after = page.items.at(-1)?.id ?? page.latest ?? after;
        if (page.hasMore || hasNew) continue;
        const waiting = new AbortController();
        stopWaiting = () => waiting.abort();
        await delay(POLL_INTERVAL_MS, undefined, { signal: AbortSignal.any([stream.signal, waiting.signal]) }).catch(
          () => undefined,
        );
        if (!hasNew && !stream.signal.aborted) yield COMMENT;
      }
    } finally {
      this.added.off(accountId, onAdded);
    }
  }

  /** While the service is unavailable, returns no events and keeps the connection open. */
  private async read(
    stream: OpenStream,
    after: string,
  ): Promise<Pick<OutputOf<typeof listEvents>, 'items' | 'hasMore'> & { latest?: string }> {
    const context = stream.context();
    try {
      return await this.bus.request(listEvents, { after, page: 1, limit: PAGE }, context);
    } catch (error) {
      this.logger.debug(`[${context.requestId}] events cannot be read: ${String(error)}`);
      return { items: [], hasMore: false };
    }
  }
}

const frameOf = ({ id, type, ...event }: AccountEvent): string =>
  `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, type, ...event })}\n\n`;
