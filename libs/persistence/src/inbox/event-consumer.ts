import type { EventContract } from '@market/contracts';
import type { EventRecord, ReceivedEvent } from '@market/messaging';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Tx } from '../database.js';
import { sql } from '../statement.js';

const recordNew = sql('inbox.record', 'INSERT INTO inbox (subject, event_id) SELECT $1, unnest($2::uuid[]) ON CONFLICT DO NOTHING RETURNING event_id');
const bury = sql('inbox.bury', 'INSERT INTO dead_letters (subject, event_id, payload, error) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING');

const ATTEMPTS = 5;

export type EventHandler = (events: ReceivedEvent<EventContract>[], tx: Tx) => Promise<void>;

/**
 * Gives a handler each event once, however often it is delivered: the event's id and the handler's effect are one
 * commit. A batch that fails is tried event by event, so that poison does not hold up its neighbours; an event that
 * keeps failing ends in `dead_letters`.
 */
export class EventConsumer {
  private readonly logger = new Logger('EventConsumer');

  constructor(
    private readonly database: Database,
    private readonly contract: EventContract,
    private readonly handler: EventHandler,
    private readonly retryDelayMs = 50,
  ) {}

  async deliver(events: EventRecord[]): Promise<void> {
    try {
      await this.handle(events);
    } catch (error) {
      if (events.length === 1) return this.retry(events[0]!, error);
      const failed: { event: EventRecord; error: unknown }[] = [];
      for (const event of events) {
        await this.handle([event]).catch((reason: unknown) => failed.push({ event, error: reason }));
      }
      for (const { event, error: reason } of failed) await this.retry(event, reason);
    }
  }

  private async handle(events: EventRecord[]): Promise<void> {
    await this.database.transaction(async (tx) => {
      const recorded = await tx.query<{ event_id: string }>(recordNew, [this.contract.subject, events.map((event) => event.id)]);
      const fresh = new Set(recorded.map((row) => row.event_id));
      const received = events
        .filter((event) => fresh.delete(event.id))
        .map((event) => ({ id: event.id, requestId: event.requestId, payload: this.contract.payload.parse(event.payload) }));
      if (received.length > 0) await this.handler(received, tx);
    });
  }

  private async retry(event: EventRecord, firstError: unknown): Promise<void> {
    let error = firstError;
    for (let attempt = 2; attempt <= ATTEMPTS; attempt += 1) {
      await delay(this.retryDelayMs * 2 ** attempt);
      try {
        return await this.handle([event]);
      } catch (reason) {
        error = reason;
      }
    }
    if (isOutage(error)) throw error;
    this.logger.error(`event ${event.id} (${event.subject}) is buried in dead_letters: ${String(error)}`);
    await this.database.transaction(async (tx) => {
      await tx.query(recordNew, [this.contract.subject, [event.id]]);
      await tx.query(bury, [this.contract.subject, event.id, JSON.stringify(event.payload), String(error)]);
    });
  }
}

/** An outage is no fault of the event: it must come again instead. */
const isOutage = (error: unknown): boolean => error instanceof Error && error.name === 'UnavailableError';
