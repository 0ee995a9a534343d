import { isReported } from '@market/kernel';
import type { EventRecord, Link } from '@market/messaging';
import { within } from '@market/tracing';
import { Logger } from '@nestjs/common';
import type { Database } from '../database.js';
import { setTimeout as delay } from 'node:timers/promises';
import { batchSql, sql } from '../statement.js';
import type { Outbox } from './outbox.js';

const take = sql(
  'outbox.take',
  `SELECT id, subject, payload, request_id, traceparent
   FROM outbox WHERE published_at IS NULL ORDER BY id LIMIT 256 FOR UPDATE SKIP LOCKED`,
);
/** The relay waits for a slow broker while it holds the rows, because another process would only publish them twice. */
const waitForBroker = batchSql('SET LOCAL idle_in_transaction_session_timeout = 30000');
const markPublished = sql('outbox.mark-published', 'UPDATE outbox SET published_at = now() WHERE id = ANY($1::uuid[])');

interface OutboxRow {
  id: string;
  subject: string;
  payload: unknown;
  request_id: string;
  traceparent: string | null;
}

const BATCH = 256;
const POLL_INTERVAL_MS = 1_000;
/** The interval at which a series of events is published. A batch costs the consumers hardly more than one event. */
const MIN_INTERVAL_MS = 100;

/**
 * Publishes committed events to the bus, at least once, in batches. Each commit of this process wakes it, at most ten
 * times a second. It also polls every second for events of crashed processes. Published rows are kept for three days,
 * so that they can be published again to a broker that lost its data.
 */
export class OutboxRelay {
  private readonly logger = new Logger('OutboxRelay');
  private draining: Promise<void> | undefined;
  private again = false;
  private readonly stopped = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
    private readonly link: Pick<Link, 'publishEvents'>,
  ) {}

  start(): void {
    this.outbox.onCommit(() => this.wake());
    this.timer = setInterval(() => this.wake(), POLL_INTERVAL_MS);
    this.wake();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    clearInterval(this.timer);
    await this.draining;
  }

  private wake(): void {
    this.again = true;
    if (this.draining || this.stopped.signal.aborted) return;
    // The relay's work is not part of the request that wakes it, so it runs outside of the request's trace.
    this.draining = Promise.all([within(undefined, () => this.drain()), this.pause()]).then(() => {
      this.draining = undefined;
      if (this.again && !this.stopped.signal.aborted) this.wake();
    });
  }

  /** Ends early when the relay is stopped. */
  private pause(): Promise<void> {
    return delay(MIN_INTERVAL_MS, undefined, { signal: this.stopped.signal }).catch(() => undefined);
  }

  private async drain(): Promise<void> {
    try {
      let published: number;
      do {
        this.again = false;
        published = await this.publishBatch();
        if (published > 0) this.worked();
      } while (published === BATCH && !this.stopped.signal.aborted);
    } catch (error) {
      this.again = false;
      this.failed(error);
    }
  }

  /** The bus may be away for long, and the relay tries once a second: only the first failure is worth a line. */
  private failed(error: unknown): void {
    if (isReported(error)) return;
    this.failures += 1;
    if (this.failures === 1)
      this.logger.warn(`events wait in the outbox: ${error instanceof Error ? error.message : String(error)}`);
  }

  private worked(): void {
    if (this.failures > 0) this.logger.warn(`events leave the outbox again, after ${this.failures} attempts`);
    this.failures = 0;
  }

  private publishBatch(): Promise<number> {
    return this.database.transaction(async (tx) => {
      const rows = await tx.query<OutboxRow>(take);
      if (rows.length === 0) return 0;
      tx.send(waitForBroker);
      await this.link.publishEvents(rows.map(toRecord));
      tx.send(markPublished, [rows.map((row) => row.id)]);
      return rows.length;
    });
  }
}

const toRecord = (row: OutboxRow): EventRecord => ({
  id: row.id,
  subject: row.subject,
  payload: row.payload,
  requestId: row.request_id,
  traceparent: row.traceparent ?? undefined,
});
