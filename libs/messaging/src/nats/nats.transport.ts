import type { ServiceName, ServiceTopology } from '@market/contracts';
import { ServerNats, type NatsOptions, type WritePacket } from '@nestjs/microservices';
import {
  connect,
  headers,
  nkeyAuthenticator,
  nuid,
  type Msg,
  type NatsConnection,
  type NodeConnectionOptions,
  type Subscription,
} from '@nats-io/transport-node';
import { setTimeout as delay } from 'node:timers/promises';
import { EventStream } from './event-stream.js';
import type { EventRecord, ReplyEnvelope, RequestEnvelope } from '../envelope.js';
import { InFlight } from '../in-flight.js';
import { RequestLost, type EventSink, type Link, type Transport } from '../transport.js';
import {
  LOST_AFTER_INTERVALS,
  REQUEST_ID_HEADER,
  serviceOf,
  servicesAsked,
  PROGRESS_INTERVAL_MS,
  progressSubject,
} from './requests-in-progress.js';

export interface NatsTransportOptions {
  servers: string[];
  /** This service's nkey seed ("SU…"); absent only against a broker without authentication. */
  nkeySeed?: string;
  /** How many copies JetStream keeps of each event. */
  streamReplicas?: number;
  /** How long a closing service may finish the requests it has taken. */
  drainMs?: number;
}

/** An answer has 4 MiB at most and travels as text inside JSON, which at worst escapes every byte; the rest is for what stands around it. */
export const REQUIRED_MAX_PAYLOAD = 9 * 1024 * 1024;

/** How long a request that was given up is remembered. */
const FORGOTTEN_AFTER_MS = 1_000;

type ServerOptions = Required<NatsOptions>['options'];

/** On the wire is the envelope alone, without Nest's packet around it; that there is an id makes Nest reply. */
const WIRE_FORMAT: Pick<ServerOptions, 'serializer' | 'deserializer'> = {
  deserializer: { deserialize: (message: Msg) => ({ id: '', data: message.json() }) },
  serializer: { serialize: ({ response }: WritePacket) => ({ data: JSON.stringify(response) }) },
};

class DrainingNatsServer extends ServerNats {
  private readonly taken: Subscription[] = [];
  private readonly inFlight = new InFlight();
  private readonly inProgress = new Set<string>();
  private hasAnswered = false;

  constructor(
    options: ServerOptions,
    private readonly service: ServiceName,
    private readonly drainMs: number,
  ) {
    super(options);
  }

  override bindEvents(connection: NatsConnection): void {
    super.bindEvents({
      subscribe: (...args: Parameters<NatsConnection['subscribe']>) => this.subscribe(connection, ...args),
    });
  }

  /** Resolves when the broker has processed the subscriptions, so that a ready service gets every request. */
  override start(callback: (error?: unknown) => void): void {
    void this.announceProgress();
    super.start(
      (error) =>
        void this.unwrap<NatsConnection>()
          .flush()
          .then(() => callback(error), callback),
    );
  }

  override getMessageHandler(channel: string) {
    const handle = super.getMessageHandler(channel) as (error: object | undefined, message: Msg) => Promise<unknown>;
    return (error: object | undefined, message: Msg) => {
      const id = message.headers?.get(REQUEST_ID_HEADER) ?? '';
      this.inProgress.add(id);
      return this.inFlight.track(
        handle.call(this, error, message).finally(() => {
          this.hasAnswered = true;
          this.inProgress.delete(id);
        }),
      );
    };
  }

  /** Accepts nothing new, finishes what was accepted, then disconnects, so that a rolling restart loses no request. */
  override async close(): Promise<void> {
    const connection = this.unwrap<NatsConnection>();
    if (connection.isClosed()) return;
    await Promise.allSettled(this.taken.map((subscription) => subscription.drain()));
    await this.inFlight.finished(this.drainMs);
    await connection.drain().catch(() => undefined);
  }

  /**
   * Tells the callers which requests are still in progress. The broker answers in order: this process has then read every request that was
   * on its way to it, so that none of them is missing only because large ones stood before it.
   */
  private async announceProgress(): Promise<void> {
    const connection = this.unwrap<NatsConnection>();
    while (!connection.isClosed()) {
      await delay(PROGRESS_INTERVAL_MS, undefined, { ref: false });
      if (this.inProgress.size === 0 && !this.hasAnswered) continue;
      await connection.flush().catch(() => undefined);
      if (connection.isClosed()) return;
      this.hasAnswered = false;
      connection.publish(progressSubject(this.service), JSON.stringify([...this.inProgress]));
    }
  }

  private subscribe(connection: NatsConnection, ...args: Parameters<NatsConnection['subscribe']>): Subscription {
    const subscription = connection.subscribe(...args);
    this.taken.push(subscription);
    return subscription;
  }
}

class NatsLink implements Link {
  /** Requests without a reply, by id: how to reject them, whom they ask, and for how many intervals no process has named them. */
  private readonly waiting = new Map<string, { giveUp: (reason: Error) => void; service: string; unnamed: number }>();
  /** The services that have answered a request in this interval, and those that have named what they work on. */
  private readonly answering = new Set<string>();
  private readonly naming = new Set<string>();
  private readonly idPrefix = `${nuid.next()}.`;
  private requests = 0;
  private connected = true;

  constructor(
    readonly server: DrainingNatsServer,
    private readonly connection: NatsConnection,
    private readonly events: EventStream,
    topology: ServiceTopology,
  ) {
    void this.watchConnection();
    void this.watchRequests();
    for (const service of servicesAsked(topology))
      connection.subscribe(progressSubject(service), {
        callback: (error, message) => (error ? undefined : this.hear(service, message.json())),
      });
  }

  request(subject: string, message: RequestEnvelope, withinMs: number): Promise<ReplyEnvelope> {
    return new Promise((resolve, reject) => {
      if (!this.connected) return reject(new Error('there is no connection to NATS'));
      const id = `${this.idPrefix}${(this.requests += 1)}`;
      const head = headers();
      head.set(REQUEST_ID_HEADER, id);
      const service = serviceOf(subject);
      this.waiting.set(id, { giveUp: reject, service, unnamed: 0 });
      this.connection
        .request(subject, JSON.stringify(message), { timeout: withinMs + FORGOTTEN_AFTER_MS, headers: head })
        .then((reply) => {
          this.answering.add(service);
          resolve(reply.json());
        }, reject)
        .finally(() => this.waiting.delete(id));
    });
  }

  publishEvents(events: EventRecord[]): Promise<void> {
    return this.events.publish(events);
  }

  consumeEvents(subject: string, sink: EventSink): Promise<void> {
    return this.events.consume(subject, sink);
  }

  signal(subject: string, payload: unknown): void {
    if (!this.connection.isClosed()) this.connection.publish(subject, JSON.stringify(payload));
  }

  async onSignal(subject: string, listener: (payload: unknown) => void): Promise<void> {
    this.connection.subscribe(subject, {
      callback: (error, message) => (error ? undefined : listener(message.json())),
    });
    await this.connection.flush();
  }

  async close(): Promise<void> {
    await this.events.close();
    if (!this.connection.isClosed()) await this.connection.drain().catch(() => undefined);
  }

  /** When the connection is lost, requests without a reply are rejected at once instead of at their deadline. */
  private async watchConnection(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === 'reconnect') this.connected = true;
      if (type !== 'disconnect') continue;
      this.connected = false;
      this.waiting.forEach(({ giveUp }) => giveUp(new RequestLost('the connection to NATS was lost')));
    }
  }

  private hear(service: string, ids: string[]): void {
    this.naming.add(service);
    for (const id of ids) {
      const request = this.waiting.get(id);
      if (request) request.unnamed = 0;
    }
  }

  /**
   * An interval counts once the broker has answered after it. The broker answers in order, so this process has then read all that was
   * on its way to it, however large that is and however long it was busy or paused itself. A broker that stands still counts as silence.
   */
  private async watchRequests(): Promise<void> {
    while (!this.connection.isClosed()) {
      await delay(PROGRESS_INTERVAL_MS, undefined, { ref: false });
      await Promise.race([
        this.connection.flush(),
        delay(LOST_AFTER_INTERVALS * PROGRESS_INTERVAL_MS, undefined, { ref: false }),
      ]).catch(() => undefined);
      this.rejectLost();
      this.answering.clear();
      this.naming.clear();
    }
  }

  /** A service that answers and has named nothing yet is sending large answers, and what it works on comes after them. */
  private rejectLost(): void {
    for (const [id, request] of this.waiting) {
      if (this.answering.has(request.service) && !this.naming.has(request.service)) continue;
      if ((request.unnamed += 1) < LOST_AFTER_INTERVALS) continue;
      this.waiting.delete(id);
      request.giveUp(new RequestLost('the process that took it is gone'));
    }
  }
}

/** The bus over NATS: core request-reply in queue groups, JetStream for events, core publish for signals. */
export function natsTransport(optionsFor: (service: ServiceName) => NatsTransportOptions): Transport {
  const links: NatsLink[] = [];
  return {
    async connect(service: ServiceName, topology: ServiceTopology): Promise<Link> {
      const options = optionsFor(service);
      const common: NodeConnectionOptions = {
        servers: options.servers,
        name: service,
        inboxPrefix: inboxPrefixOf(service),
        maxReconnectAttempts: -1,
        reconnectTimeWait: 250,
        timeout: 10_000,
        noAsyncTraces: true,
        ...(options.nkeySeed ? { authenticator: nkeyAuthenticator(new TextEncoder().encode(options.nkeySeed)) } : {}),
      };
      const connection = await connect(common);
      assertCarriesPaidBodies(connection);
      const server = new DrainingNatsServer(
        { ...(common as ServerOptions), ...WIRE_FORMAT, queue: service },
        service,
        options.drainMs ?? 10_000,
      );
      const link = new NatsLink(
        server,
        connection,
        await EventStream.open(connection, service, topology, options.streamReplicas ?? 1),
        topology,
      );
      links.push(link);
      return link;
    },
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}

/** Each service receives its answers under a prefix of its own, which no other service may subscribe to. */
export const inboxPrefixOf = (service: ServiceName): string => `_INBOX_${service.replaceAll('-', '_')}`;

function assertCarriesPaidBodies(connection: NatsConnection): void {
  const carries = connection.info?.max_payload ?? 0;
  if (carries < REQUIRED_MAX_PAYLOAD) {
    throw new Error(
      `NATS at ${connection.getServer()} carries messages of at most ${carries} bytes; set max_payload to ${REQUIRED_MAX_PAYLOAD} (see deploy/nats)`,
    );
  }
}
