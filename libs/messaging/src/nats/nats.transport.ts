import type { ServiceName, ServiceTopology } from '@market/contracts';
import { Logger } from '@nestjs/common';
import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import {
  connect,
  nkeyAuthenticator,
  type Msg,
  type NatsConnection,
  type NodeConnectionOptions,
  type Subscription,
} from '@nats-io/transport-node';
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { BrokerFailure } from './broker-failure.js';
import { EventStream, type StreamSettings } from './event-stream.js';
import type { EventRecord, ReplyEnvelope, RequestEnvelope } from '../envelope.js';
import { InFlight } from '../in-flight.js';
import { natsConnected, natsConnections, natsDisconnects } from '../metrics.js';
import { RequestLost, type EventSink, type Link, type Transport } from '../transport.js';
import { ForgedPrincipal, Principals, type SignedEnvelope } from './principals.js';
import { edgePrivateKey, edgePublicKey, natsKeys, parseEdgeKeys } from './service-keys.js';
import {
  LOST_AFTER_INTERVALS,
  serviceOf,
  servicesAsked,
  PROGRESS_INTERVAL_MS,
  progressSubject,
} from './requests-in-progress.js';

export interface NatsTransportOptions {
  servers: string[];
  /** This service's nkey seed ("SU…"). It may be absent only for a broker without authentication. */
  nkeySeed?: string;
  /** The edge's public keys, comma separated; needed by every service with a seed but the edge. */
  edgeKey?: string;
  stream?: StreamSettings;
  /** How long a closing service may take to finish accepted requests. */
  drainMs?: number;
}

/**
 * An answer has at most 4 MiB and is sent as text inside JSON, which escapes every byte in the worst case. The rest is
 * for the envelope.
 */
export const REQUIRED_MAX_PAYLOAD = 9 * 1024 * 1024;

const RECONNECT_WAIT_MS = 250;

/** The service that authenticates callers, and signs for whom each request is. */
const EDGE: ServiceName = 'api-gateway';

/** The broker's answer to a request on a subject without a subscriber. */
const NO_RESPONDERS = 503;

/**
 * Serves requests directly from the connection. Nest's own server would parse each subject as JSON and wrap each answer
 * in an observable. A request is identified by its reply subject.
 */
class NatsRequestServer extends Server implements CustomTransportStrategy {
  private readonly inFlight = new InFlight();
  private readonly inProgress = new Set<string>();
  private hasAnswered = false;
  private connection: NatsConnection | undefined;
  private taken: Subscription[] = [];

  constructor(
    private readonly options: NodeConnectionOptions,
    readonly service: ServiceName,
    private readonly drainMs: number,
    private readonly principals: Principals | undefined,
  ) {
    super();
  }

  /**
   * Calls back when the broker has processed the subscriptions, so that a service that is ready receives every request.
   */
  listen(callback: (error?: unknown) => void): void {
    this.start().then(() => callback(), callback);
  }

  /**
   * Stops accepting requests, finishes the accepted ones, then disconnects, so that a rolling restart loses no request.
   */
  async close(): Promise<void> {
    const { connection } = this;
    if (!connection || connection.isClosed()) return;
    await Promise.allSettled(this.taken.map((subscription) => subscription.drain()));
    await this.inFlight.finished(this.drainMs);
    await connection.drain().catch(() => undefined);
  }

  on(): void {}

  unwrap<T>(): T {
    return this.connection as T;
  }

  private async start(): Promise<void> {
    const connection = await connect(this.options);
    this.connection = connection;
    this.taken = [...this.messageHandlers].map(([subject, handler]) =>
      connection.subscribe(subject, {
        queue: this.service,
        callback: (error, message) =>
          error ? this.logger.error(error) : void this.inFlight.track(this.answer(subject, handler, message)),
      }),
    );
    void this.announceProgress(connection);
    await processed(connection);
  }

  private async answer(subject: string, handler: MessageHandler, message: Msg): Promise<void> {
    const { reply = '' } = message;
    this.inProgress.add(reply);
    try {
      message.respond(JSON.stringify(await this.replyTo(subject, handler, message.json())));
    } catch (error) {
      this.logger.error(error);
    } finally {
      this.hasAnswered = true;
      this.inProgress.delete(reply);
    }
  }

  private async replyTo(subject: string, handler: MessageHandler, envelope: SignedEnvelope): Promise<ReplyEnvelope> {
    try {
      return (await handler(this.principals?.receive(subject, envelope) ?? envelope)) as ReplyEnvelope;
    } catch (error) {
      if (!(error instanceof ForgedPrincipal)) throw error;
      this.logger.error(`${subject} [${envelope.meta.requestId}]: the principal is refused: ${error.message}`);
      return { failed: 'invalid_message' };
    }
  }

  /**
   * Announces to the callers which requests are still in progress. The broker answers in order. After the flush this
   * process has therefore read every earlier request, so that none is missing only because it was queued behind large
   * ones.
   */
  private async announceProgress(connection: NatsConnection): Promise<void> {
    while (!connection.isClosed()) {
      await delay(PROGRESS_INTERVAL_MS, undefined, { ref: false });
      if (this.inProgress.size === 0 && !this.hasAnswered) continue;
      await connection.flush().catch(() => undefined);
      if (connection.isClosed() || connection.isDraining()) return;
      this.hasAnswered = false;
      connection.publish(progressSubject(this.service), JSON.stringify([...this.inProgress].map(digestOf)));
    }
  }
}

/**
 * Resolves when the broker has processed the subscriptions. If the connection is lost meanwhile, the client sends them
 * again, and this continues to wait.
 */
async function processed(connection: NatsConnection): Promise<void> {
  while (
    !(await connection.flush().then(
      () => true,
      () => false,
    ))
  ) {
    if (connection.isClosed()) throw new Error('there is no connection to NATS');
    await delay(RECONNECT_WAIT_MS, undefined, { ref: false });
  }
}

/** What is published of the subject of an answer, which only the two who exchange it may know. */
const digestOf = (reply: string): string => createHash('sha256').update(reply).digest('base64url');

/** A request that has no answer yet. */
interface Waiting {
  resolve: (answer: ReplyEnvelope) => void;
  reject: (reason: Error) => void;
  service: string;
  /** Of the subject of its answer, once a progress signal was compared with it. */
  digest?: string;
  /** The number of intervals in which no process has announced it. */
  unnamed: number;
  /** When its caller gives up, by `performance.now`. */
  until: number;
}

class NatsLink implements Link {
  private readonly logger = new Logger('NATS');
  /** Requests by the subject of their answer. */
  private readonly waiting = new Map<string, Waiting>();
  /**
   * The services that have answered a request in this interval, and those that have announced their requests in
   * progress.
   */
  private readonly answering = new Set<string>();
  private readonly naming = new Set<string>();
  /** For each service that is asked, where it answers. No other service is told. */
  private readonly inboxes: ReadonlyMap<string, string>;
  private requests = 0;
  disconnectedSince: number | null = null;

  constructor(
    readonly server: NatsRequestServer,
    private readonly connection: NatsConnection,
    private readonly eventConnection: NatsConnection,
    private readonly events: EventStream,
    private readonly principals: Principals | undefined,
    service: ServiceName,
    topology: ServiceTopology,
  ) {
    this.inboxes = new Map(
      servicesAsked(topology).map((asked) => [
        asked,
        `${inboxPrefixOf(service)}.${randomBytes(16).toString('base64url')}.${asked}`,
      ]),
    );
    for (const inbox of this.inboxes.values())
      connection.subscribe(`${inbox}.*`, {
        callback: (error, message) => (error ? undefined : this.onReply(message)),
      });
    void this.watchConnection();
    void this.watchRequests();
    for (const service of servicesAsked(topology))
      connection.subscribe(progressSubject(service), {
        callback: (error, message) => (error ? undefined : this.onProgress(service, message.json())),
      });
  }

  /**
   * One subscription receives all answers of a service. The library's own request would create a timer, headers, and an error with a
   * stack for each request.
   */
  request(subject: string, message: RequestEnvelope, withinMs: number): Promise<ReplyEnvelope> {
    return new Promise((resolve, reject) => {
      if (this.disconnectedSince !== null) return reject(new Error('there is no connection to NATS'));
      const service = serviceOf(subject);
      const reply = `${this.inboxes.get(service)}.${(this.requests += 1)}`;
      this.connection.publish(subject, JSON.stringify(this.principals?.send(message) ?? message), { reply });
      const until = performance.now() + withinMs;
      this.waiting.set(reply, { resolve, reject, service, unnamed: 0, until });
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
    await processed(this.connection);
  }

  async close(): Promise<void> {
    natsConnections.delete(this.server.service);
    natsConnected.remove({ service: this.server.service });
    await this.events.close();
    if (!this.eventConnection.isClosed()) await this.eventConnection.drain().catch(() => undefined);
    if (!this.connection.isClosed()) await this.connection.drain().catch(() => undefined);
  }

  /** When the connection is lost, requests without a reply are rejected at once instead of at their deadline. */
  private async watchConnection(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === 'reconnect') this.setConnected(true);
      if (type !== 'disconnect') continue;
      this.setConnected(false);
      natsDisconnects.inc({ service: this.server.service });
      this.waiting.forEach(({ reject }) => reject(new RequestLost('the connection to NATS was lost')));
      this.waiting.clear();
    }
  }

  /** The log says once that the broker is away, and once that it is back. */
  private setConnected(isConnected: boolean): void {
    const { service } = this.server;
    natsConnected.set({ service }, Number(isConnected));
    if (isConnected && this.disconnectedSince !== null) {
      const seconds = ((Date.now() - this.disconnectedSince) / 1_000).toFixed(1);
      this.logger.warn(`NATS is back for ${service}, after ${seconds} s`);
    }
    if (!isConnected && this.disconnectedSince === null) this.logger.error(`${service} lost its connection to NATS`);
    this.disconnectedSince = isConnected ? null : (this.disconnectedSince ?? Date.now());
  }

  private onReply(message: Msg): void {
    const request = this.waiting.get(message.subject);
    if (!request) return;
    this.waiting.delete(message.subject);
    if (message.headers?.code === NO_RESPONDERS) return request.reject(new Error(`nobody serves ${request.service}`));
    this.answering.add(request.service);
    request.resolve(message.json());
  }

  private onProgress(service: string, digests: string[]): void {
    this.naming.add(service);
    const named = new Set(digests);
    for (const [reply, request] of this.waiting)
      if (request.service === service && named.has((request.digest ??= digestOf(reply)))) request.unnamed = 0;
  }

  /**
   * Counts an interval once the broker has answered after it. The broker answers in order. This process has then read
   * all earlier messages, even if they are large or if it was busy or paused itself. If the broker does not answer, the
   * interval counts too.
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

  /**
   * A service that has answered but not announced anything in this interval is sending large answers. Its announcement
   * follows them, so its requests are not counted as missing.
   */
  private rejectLost(): void {
    for (const [reply, request] of this.waiting) {
      if (request.until < performance.now()) {
        this.waiting.delete(reply);
        continue;
      }
      if (this.answering.has(request.service) && !this.naming.has(request.service)) continue;
      if ((request.unnamed += 1) < LOST_AFTER_INTERVALS) continue;
      this.waiting.delete(reply);
      request.reject(new RequestLost('the process that took it is gone'));
    }
  }
}

/** The bus over NATS: core request-reply in queue groups, JetStream for events, core publish for signals. */
export function natsTransport(optionsFor: (service: ServiceName) => NatsTransportOptions): Transport {
  const links: NatsLink[] = [];
  const open = async (service: ServiceName, topology: ServiceTopology): Promise<Link> => {
    const options = optionsFor(service);
    const principals = principalsOf(service, topology, options);
    const common: NodeConnectionOptions = {
      servers: options.servers,
      name: service,
      inboxPrefix: inboxPrefixOf(service),
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_WAIT_MS,
      timeout: 10_000,
      noAsyncTraces: true,
      ...authenticated(options.nkeySeed, 'requests'),
    };
    const connection = await connect(common);
    assertCarriesPaidBodies(connection);
    const eventConnection = await connect({ ...common, ...authenticated(options.nkeySeed, 'events') });
    const link = new NatsLink(
      new NatsRequestServer(common, service, options.drainMs ?? 10_000, principals),
      connection,
      eventConnection,
      await EventStream.open(eventConnection, service, topology, options.stream),
      principals,
      service,
      topology,
    );
    links.push(link);
    natsConnections.set(service, connection);
    natsConnected.set({ service }, 1);
    return link;
  };
  return {
    connect: (service, topology) =>
      open(service, topology).catch((error: unknown) => {
        throw new BrokerFailure(optionsFor(service).servers, error);
      }),
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}

/** Where the broker asks for no keys, the processes trust each other. */
function principalsOf(
  service: ServiceName,
  topology: ServiceTopology,
  { nkeySeed, edgeKey }: NatsTransportOptions,
): Principals | undefined {
  if (nkeySeed === undefined) return undefined;
  if (service === EDGE)
    return new Principals({ sign: edgePrivateKey(nkeySeed), verify: parseEdgeKeys(edgePublicKey(nkeySeed)) }, topology);
  if (edgeKey === undefined) throw new Error(`${service} has a key and not that of the edge (NATS_EDGE_KEY)`);
  return new Principals({ verify: parseEdgeKeys(edgeKey) }, topology);
}

/** How a service proves to the broker that it is a user of this account. */
export const authenticated = (
  nkeySeed: string | undefined,
  account: 'requests' | 'events',
): Pick<NodeConnectionOptions, 'authenticator'> =>
  nkeySeed ? { authenticator: nkeyAuthenticator(natsKeys(nkeySeed)[account].getSeed()) } : {};

/** Each service receives its answers under its own prefix. No other service may subscribe to it. */
export const inboxPrefixOf = (service: ServiceName): string => `_INBOX_${service.replaceAll('-', '_')}`;

/**
 * The subjects under which `service` answers `caller`: inbox of a process, the answering service, number of the
 * request. A service may publish answers only under its own name, so it cannot answer for another one.
 */
export const answersOf = (service: ServiceName, caller: ServiceName): string =>
  `${inboxPrefixOf(caller)}.*.${service}.*`;

function assertCarriesPaidBodies(connection: NatsConnection): void {
  const carries = connection.info?.max_payload ?? 0;
  if (carries < REQUIRED_MAX_PAYLOAD) {
    throw new Error(
      `it carries messages of at most ${carries} bytes; set its max_payload to ${REQUIRED_MAX_PAYLOAD}, see deploy/nats`,
    );
  }
}
