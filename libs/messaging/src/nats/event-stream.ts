import { topology as marketplace, type ServiceName, type ServiceTopology } from '@market/contracts';
import {
  AckPolicy,
  DiscardPolicy,
  jetstream,
  jetstreamManager,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type ConsumerMessages,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import { isReported } from '@market/kernel';
import { Logger } from '@nestjs/common';
import { headers, RequestError, type NatsConnection } from '@nats-io/transport-node';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventRecord } from '../envelope.js';
import type { EventSink } from '../transport.js';
import { InFlight } from '../in-flight.js';
import { consumerPending, streamBytes, streamMaxBytes } from '../metrics.js';

export const EVENT_STREAM = 'EVENTS';
const BATCH = 256;
const RETRY_DELAY_MS = 1_000;
/** How long a pull waits at the server. A consumer also notices within this time that a broker has returned. */
const PULL_EXPIRES_MS = 5_000;
const CLOSE_TIMEOUT_MS = 10_000;
const NANOS_PER_SECOND = 1_000_000_000;

/** The bounds of the stream. A process that starts with others changes it. */
export interface StreamSettings {
  /** How many copies JetStream keeps of each event. */
  replicas: number;
  maxBytes: number;
  maxAgeSeconds: number;
  /** How often events that every service has handled are removed. */
  tidyIntervalMs?: number;
}

const DEFAULTS: StreamSettings = { replicas: 1, maxBytes: 1_073_741_824, maxAgeSeconds: 7 * 24 * 3600 };

/** The service that changes the stream, and removes events that every service has handled. No other may. */
export const STREAM_KEEPER: ServiceName = 'payments-ledger';
const TIDY_INTERVAL_MS = 15_000;

/** The name of a durable consumer. The replicas of a service share it and thereby the events. */
export const consumerName = (service: ServiceName, subject: string): string =>
  `${service}__${subject.replaceAll('.', '_')}`;

/** The consumers that the services of this build have. */
const EXPECTED = new Set(
  Object.entries(marketplace).flatMap(([service, { consumes }]) =>
    consumes.map(({ subject }) => consumerName(service as ServiceName, subject)),
  ),
);

/**
 * Events over JetStream. They are kept until each consumer has handled them, and are delivered at least once. A full
 * stream refuses further events, which wait in the outboxes of their services.
 */
export class EventStream {
  private readonly logger = new Logger('EventStream');
  private readonly running = new Map<string, ConsumerMessages>();
  private readonly inFlight = new InFlight();
  private closing = false;
  private tidying: NodeJS.Timeout | undefined;

  private constructor(
    private readonly service: ServiceName,
    private readonly client: JetStreamClient,
    private readonly manager: JetStreamManager,
    private readonly settings: StreamSettings,
  ) {}

  static async open(
    connection: NatsConnection,
    service: ServiceName,
    topology: ServiceTopology,
    settings = DEFAULTS,
  ): Promise<EventStream> {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const events = new EventStream(service, jetstream(connection), manager, settings);
    if (topology.emits.length > 0 || topology.consumes.length > 0) await events.ensureStream();
    if (service === STREAM_KEEPER) await events.keep();
    return events;
  }

  async publish(events: EventRecord[]): Promise<void> {
    try {
      await Promise.all(
        events.map((event) => {
          const head = headers();
          head.set('X-Request-Id', event.requestId);
          if (event.traceparent) head.set('traceparent', event.traceparent);
          return this.client.publish(event.subject, JSON.stringify(event.payload), {
            msgID: event.id,
            headers: head,
            timeout: 5_000,
          });
        }),
      );
    } catch (error) {
      // No stream stored the event, because the broker lost its data. Creates the stream for the next attempt of the
      // outbox.
      if (isUnheard(error)) await this.ensureStream().catch(() => undefined);
      throw error;
    }
  }

  /** Delivers to a sink until this is closed, also after the broker was restarted without its data. */
  async consume(subject: string, sink: EventSink): Promise<void> {
    const messages = await this.attach(subject, sink);
    this.running.set(subject, messages);
    void messages.closed().then((reason) => {
      if (this.closing || !(reason instanceof Error)) return undefined;
      this.logger.warn(`the consumer of ${subject} stopped and is set up again: ${reason.message}`);
      return this.consumeAgain(subject, sink);
    });
  }

  async close(): Promise<void> {
    this.closing = true;
    clearInterval(this.tidying);
    await Promise.all([...this.running.values()].map((messages) => messages.close()));
    await this.inFlight.finished(CLOSE_TIMEOUT_MS);
  }

  private async consumeAgain(subject: string, sink: EventSink): Promise<void> {
    while (!this.closing) {
      try {
        await this.ensureStream();
        return await this.consume(subject, sink);
      } catch (error) {
        this.logger.debug(`the consumer of ${subject} is not back yet: ${String(error)}`);
        await delay(RETRY_DELAY_MS, undefined, { ref: false });
      }
    }
  }

  private async attach(subject: string, sink: EventSink): Promise<ConsumerMessages> {
    const name = consumerName(this.service, subject);
    await this.manager.consumers.add(EVENT_STREAM, {
      durable_name: name,
      filter_subject: subject,
      ack_policy: AckPolicy.Explicit,
      ack_wait: 30 * NANOS_PER_SECOND,
      max_ack_pending: 4 * BATCH,
    });
    const consumer = await this.client.consumers.get(EVENT_STREAM, name);
    const waiting: JsMsg[] = [];
    let working = false;
    const work = async (): Promise<void> => {
      if (working) return;
      working = true;
      while (waiting.length > 0 && !this.closing) await this.deliver(waiting.splice(0, BATCH), sink);
      working = false;
    };
    return consumer.consume({
      max_messages: 2 * BATCH,
      expires: PULL_EXPIRES_MS,
      abort_on_missing_resource: true,
      callback: (message) => {
        waiting.push(message);
        setImmediate(() => void this.inFlight.track(work()));
      },
    });
  }

  private async deliver(batch: JsMsg[], sink: EventSink): Promise<void> {
    const readable = batch.filter((message) => this.isReadable(message));
    try {
      if (readable.length > 0) await sink(readable.map(toRecord));
      readable.forEach((message) => message.ack());
    } catch (error) {
      if (!isReported(error)) this.logger.warn(`events come again in ${RETRY_DELAY_MS} ms: ${String(error)}`);
      readable.forEach((message) => message.nak(RETRY_DELAY_MS));
    }
  }

  /**
   * Only services can publish here. An unreadable message is dropped, because it would otherwise be redelivered for
   * ever.
   */
  private isReadable(message: JsMsg): boolean {
    try {
      message.json();
      if (message.headers?.get('Nats-Msg-Id')) return true;
    } catch {
      // fall through: not JSON
    }
    this.logger.error(`message ${message.seq} of ${message.subject} is not an event and is dropped`);
    message.term();
    return false;
  }

  private async ensureStream(): Promise<void> {
    try {
      await this.manager.streams.info(EVENT_STREAM);
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) throw error;
      await this.manager.streams.add({
        name: EVENT_STREAM,
        subjects: ['evt.>'],
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        duplicate_window: 120 * NANOS_PER_SECOND,
        ...this.bounds,
      });
    }
  }

  private get bounds() {
    const { replicas, maxBytes, maxAgeSeconds } = this.settings;
    return {
      discard: DiscardPolicy.New,
      num_replicas: replicas,
      max_bytes: maxBytes,
      max_age: maxAgeSeconds * NANOS_PER_SECOND,
    };
  }

  /** Gives an existing stream the bounds of this process, and keeps it tidy until this is closed. */
  private async keep(): Promise<void> {
    const { config } = await this.manager.streams.info(EVENT_STREAM);
    const changed = Object.entries(this.bounds).filter(
      ([name, value]) => config[name as keyof typeof config] !== value,
    );
    if (changed.length > 0)
      await this.manager.streams.update(EVENT_STREAM, this.bounds).then(
        () => this.logger.log(`the stream ${EVENT_STREAM} has new bounds: ${changed.map(String).join(' ')}`),
        (error: unknown) => this.logger.error(`the stream ${EVENT_STREAM} keeps its bounds: ${String(error)}`),
      );
    this.tidying = setInterval(
      () => void this.inFlight.track(this.tidy().catch((error: unknown) => this.logger.debug(String(error)))),
      this.settings.tidyIntervalMs ?? TIDY_INTERVAL_MS,
    ).unref();
  }

  /** Removes events that every consumer has handled, so that only what somebody lacks takes space. */
  private async tidy(): Promise<void> {
    const { state, config } = await this.manager.streams.info(EVENT_STREAM);
    streamBytes.set(state.bytes);
    streamMaxBytes.set(config.max_bytes);
    consumerPending.reset();
    const handled = new Map<string, number>();
    for await (const consumer of this.manager.consumers.list(EVENT_STREAM)) {
      const {
        name,
        num_pending: pending,
        num_ack_pending: unacknowledged,
        num_waiting: pulls,
        ack_floor: floor,
      } = consumer;
      consumerPending.set({ consumer: name }, pending + unacknowledged);
      // A consumer of an earlier release that nobody asks any more needs nothing. One of a later release does.
      if (EXPECTED.has(name) || pulls > 0)
        handled.set(name, pending + unacknowledged === 0 ? state.last_seq : floor.stream_seq);
    }
    if ([...EXPECTED].some((name) => !handled.has(name))) return;
    const upTo = Math.min(...handled.values());
    if (upTo >= state.first_seq) await this.manager.streams.purge(EVENT_STREAM, { seq: upTo + 1 });
  }
}

const isUnheard = (error: unknown): boolean =>
  error instanceof Error && error.cause instanceof RequestError && error.cause.isNoResponders();

function toRecord(message: JsMsg): EventRecord {
  const head = message.headers;
  return {
    id: head!.get('Nats-Msg-Id'),
    subject: message.subject,
    payload: message.json(),
    requestId: head!.get('X-Request-Id'),
    traceparent: head!.get('traceparent') || undefined,
  };
}
