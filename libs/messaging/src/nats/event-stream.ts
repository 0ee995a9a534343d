import type { ServiceName, ServiceTopology } from '@market/contracts';
import { AckPolicy, jetstream, jetstreamManager, JetStreamApiError, RetentionPolicy, StorageType, type ConsumerMessages, type JetStreamClient, type JetStreamManager, type JsMsg } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import type { EventRecord } from '../envelope.js';
import type { EventSink } from '../transport.js';

export const EVENT_STREAM = 'EVENTS';
const BATCH = 256;
const RETRY_DELAY_MS = 1_000;
const WEEK_NANOS = 7 * 24 * 3600 * 1_000_000_000;

/** A durable consumer's name; its replicas share it and so share the events. */
export const consumerName = (service: ServiceName, subject: string): string => `${service}__${subject.replaceAll('.', '_')}`;

/** Events over JetStream: kept until each consumer has them, delivered at least once. */
export class EventStream {
  private readonly logger = new Logger('EventStream');
  private readonly running: ConsumerMessages[] = [];
  private closing = false;

  private constructor(
    private readonly service: ServiceName,
    private readonly client: JetStreamClient,
    private readonly manager: JetStreamManager,
  ) {}

  static async open(connection: NatsConnection, service: ServiceName, topology: ServiceTopology, replicas: number): Promise<EventStream> {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    if (topology.emits.length > 0 || topology.consumes.length > 0) await ensureStream(manager, replicas);
    return new EventStream(service, jetstream(connection), manager);
  }

  async publish(events: EventRecord[]): Promise<void> {
    await Promise.all(
      events.map((event) => {
        const head = headers();
        head.set('X-Request-Id', event.requestId);
        if (event.traceparent) head.set('traceparent', event.traceparent);
        return this.client.publish(event.subject, JSON.stringify(event.payload), { msgID: event.id, headers: head, timeout: 5_000 });
      }),
    );
  }

  async consume(subject: string, sink: EventSink): Promise<void> {
    const name = consumerName(this.service, subject);
    await this.manager.consumers.add(EVENT_STREAM, { durable_name: name, filter_subject: subject, ack_policy: AckPolicy.Explicit, ack_wait: 30 * 1_000_000_000, max_ack_pending: 4 * BATCH });
    const consumer = await this.client.consumers.get(EVENT_STREAM, name);
    const waiting: JsMsg[] = [];
    let working = false;
    const work = async (): Promise<void> => {
      if (working) return;
      working = true;
      while (waiting.length > 0 && !this.closing) await this.deliver(waiting.splice(0, BATCH), sink);
      working = false;
    };
    this.running.push(
      await consumer.consume({
        max_messages: 2 * BATCH,
        callback: (message) => {
          waiting.push(message);
          setImmediate(() => void work());
        },
      }),
    );
  }

  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(this.running.map((messages) => messages.close()));
  }

  private async deliver(batch: JsMsg[], sink: EventSink): Promise<void> {
    try {
      await sink(batch.map(toRecord));
      batch.forEach((message) => message.ack());
    } catch (error) {
      this.logger.warn(`events come again in ${RETRY_DELAY_MS} ms: ${String(error)}`);
      batch.forEach((message) => message.nak(RETRY_DELAY_MS));
    }
  }
}

function toRecord(message: JsMsg): EventRecord {
  const head = message.headers;
  return {
    id: head?.get('Nats-Msg-Id') ?? '',
    subject: message.subject,
    payload: message.json(),
    requestId: head?.get('X-Request-Id') ?? '',
    traceparent: head?.get('traceparent') || undefined,
  };
}

async function ensureStream(manager: JetStreamManager, replicas: number): Promise<void> {
  try {
    await manager.streams.info(EVENT_STREAM);
  } catch (error) {
    if (!(error instanceof JetStreamApiError)) throw error;
    await manager.streams.add({
      name: EVENT_STREAM,
      subjects: ['evt.>'],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      max_age: WEEK_NANOS,
      duplicate_window: 120 * 1_000_000_000,
      num_replicas: replicas,
    });
  }
}
