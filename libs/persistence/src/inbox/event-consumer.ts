import type { EventContract } from '@market/contracts';
import { UnavailableError } from '@market/kernel';
import type { EventRecord, ReceivedEvent } from '@market/messaging';
import { SpanKind, startSpan, withinOneOf } from '@market/tracing';
import { Logger } from '@nestjs/common';
import type { Database, Tx } from '../database.js';
import { sql } from '../statement.js';

const recordNew = sql(
  'inbox.record',
  'INSERT INTO inbox (subject, event_id) SELECT $1, unnest($2::uuid[]) ON CONFLICT DO NOTHING RETURNING event_id',
);
const park = sql(
  'parked.add',
  `INSERT INTO parked_events (subject, event_id, payload, request_id, error, attempts, retry_at)
   VALUES ($1, $2, $3, $4, $5, 1, now() + $6 * interval '1 millisecond') ON CONFLICT DO NOTHING`,
);
const findDue = sql(
  'parked.due',
  `SELECT subject, event_id, payload, request_id, attempts FROM parked_events
   WHERE subject = ANY($1) AND retry_at <= now() ORDER BY retry_at LIMIT 100`,
);
const unpark = sql(
  'parked.remove',
  'DELETE FROM parked_events WHERE subject = $1 AND event_id = $2 RETURNING event_id',
);
const postpone = sql(
  'parked.postpone',
  `UPDATE parked_events SET attempts = $3, error = $4, retry_at = now() + $5 * interval '1 millisecond'
   WHERE subject = $1 AND event_id = $2 AND attempts = $3 - 1`,
);
const insertDeadLetter = sql(
  'dead-letters.add',
  'INSERT INTO dead_letters (subject, event_id, payload, error) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
);

const ATTEMPTS = 5;

export type EventHandler = (events: ReceivedEvent<EventContract>[], tx: Tx) => Promise<void>;

interface ParkedRow {
  subject: string;
  event_id: string;
  payload: unknown;
  request_id: string;
  attempts: number;
}

/**
 * Passes each event to its handler once, even if it is delivered repeatedly: the event's id is recorded in the
 * transaction of the handler. If a batch fails, its events are handled one by one. An event that fails alone is parked
 * and retried by `retryParked`, so that it does not block others. After the last attempt it is moved to `dead_letters`.
 */
export class EventConsumer {
  private readonly logger = new Logger('EventConsumer');

  /** @param retryDelayMs the delay before the second attempt. Each further delay is four times as long. */
  constructor(
    private readonly database: Database,
    private readonly contract: EventContract,
    private readonly handler: EventHandler,
    private readonly retryDelayMs = 250,
  ) {}

  /** Resolves when no event needs to be delivered again. @throws UnavailableError if all events must be. */
  async deliver(events: EventRecord[]): Promise<void> {
    try {
      await this.handle(events);
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      for (const event of events) await this.handleAlone(event);
    }
  }

  get subject(): string {
    return this.contract.subject;
  }

  /** Handles a parked event again, unless another process has done so meanwhile. */
  async retry({ event_id, payload, request_id, attempts }: ParkedRow): Promise<void> {
    const event = { id: event_id, subject: this.subject, payload, requestId: request_id };
    try {
      await this.database.transaction(async (tx) => {
        const [mine] = await tx.query(unpark, [event.subject, event.id]);
        if (mine) await this.handleIn(tx, [event]);
      });
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      await this.failedAgain(event, attempts + 1, error);
    }
  }

  /** Handles the events in the traces of the requests that emitted them. */
  private async handle(events: EventRecord[]): Promise<void> {
    const handled = events.map(({ subject, traceparent }) => ({
      span: traceparent === undefined ? undefined : startSpan(subject, SpanKind.Consumer, traceparent),
    }));
    try {
      await withinOneOf(handled, () => this.database.transaction((tx) => this.handleIn(tx, events)));
    } catch (error) {
      // The events of a failed batch are handled again one by one.
      if (events.length === 1) handled[0]!.span?.fail(error instanceof Error ? error.name : 'failed');
      throw error;
    } finally {
      handled.forEach(({ span }) => span?.end());
    }
  }

  private async handleIn(tx: Tx, events: EventRecord[]): Promise<void> {
    // The ids are sorted, so that two deliveries of the same events do not deadlock.
    const ids = events.map((event) => event.id).sort();
    const recorded = await tx.query<{ event_id: string }>(recordNew, [this.contract.subject, ids]);
    const fresh = new Set(recorded.map((row) => row.event_id));
    const received = events
      .filter((event) => fresh.delete(event.id))
      .map((event) => ({
        id: event.id,
        requestId: event.requestId,
        payload: this.contract.payload.parse(event.payload),
      }));
    if (received.length > 0) await this.handler(received, tx);
  }

  private async handleAlone(event: EventRecord): Promise<void> {
    try {
      await this.handle([event]);
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      this.logger.warn(`event ${event.id} (${event.subject}) failed and is tried again: ${String(error)}`);
      await this.database.query(park, [
        event.subject,
        event.id,
        JSON.stringify(event.payload),
        event.requestId,
        String(error),
        this.retryDelayMs,
      ]);
    }
  }

  private async failedAgain(event: EventRecord, attempts: number, error: unknown): Promise<void> {
    if (attempts < ATTEMPTS) {
      await this.database.query(postpone, [
        event.subject,
        event.id,
        attempts,
        String(error),
        this.retryDelayMs * 4 ** (attempts - 1),
      ]);
      return;
    }
    this.logger.error(`event ${event.id} (${event.subject}) was moved to dead_letters: ${String(error)}`);
    await this.database.transaction(async (tx) => {
      const [mine] = await tx.query(unpark, [event.subject, event.id]);
      if (!mine) return;
      // The event is recorded as handled, because a further delivery would park it again.
      await tx.query(recordNew, [event.subject, [event.id]]);
      await tx.query(insertDeadLetter, [event.subject, event.id, JSON.stringify(event.payload), String(error)]);
    });
  }
}

/** Retries the parked events of these consumers that are due. It must be called repeatedly. */
export async function retryParked(database: Database, consumers: EventConsumer[]): Promise<void> {
  const bySubject = new Map(consumers.map((consumer) => [consumer.subject, consumer]));
  for (const row of await database.query<ParkedRow>(findDue, [[...bySubject.keys()]]))
    await bySubject.get(row.subject)!.retry(row);
}
