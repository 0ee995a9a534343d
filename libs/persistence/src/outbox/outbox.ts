import type { EventContract, PayloadOf } from '@market/contracts';
import { newId } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { currentSpan } from '@market/tracing';
import type { Tx } from '../database.js';
import { sql } from '../statement.js';

const insert = sql(
  'outbox.insert',
  `INSERT INTO outbox (id, subject, payload, request_id, traceparent)
   SELECT * FROM unnest($1::uuid[], $2::text[], $3::jsonb[], $4::text[], $5::text[])`,
);

export interface OutgoingEvent<C extends EventContract = EventContract> {
  contract: C;
  payload: PayloadOf<C>;
  context: Pick<RequestContext, 'requestId' | 'traceparent'>;
}

/**
 * Stores events in the transaction of the change that they report. The caller does not wait for the statement; if it
 * fails, the transaction fails.
 */
export class Outbox {
  private wake: () => void = () => {};

  add<C extends EventContract>(tx: Tx, contract: C, payload: PayloadOf<C>, context: OutgoingEvent['context']): void {
    this.addAll(tx, [{ contract, payload, context }]);
  }

  addAll(tx: Tx, events: OutgoingEvent[]): void {
    if (events.length === 0) return;
    tx.send(insert, [
      events.map(() => newId()),
      events.map((event) => event.contract.subject),
      events.map((event) => JSON.stringify(event.payload)),
      events.map((event) => event.context.requestId),
      // The context of a job contains no trace.
      events.map((event) => event.context.traceparent ?? currentSpan()?.traceparent ?? null),
    ]);
    tx.afterCommit(() => this.wake());
  }

  /** Registers the relay, which is woken after every commit, so that events do not wait for its next poll. */
  onCommit(wake: () => void): void {
    this.wake = wake;
  }
}
