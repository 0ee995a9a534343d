import type { ServiceName } from '@market/contracts';
import { Server, type CustomTransportStrategy } from '@nestjs/microservices';
import type { EventRecord, ReplyEnvelope, RequestEnvelope } from './envelope.js';
import { InFlight } from './in-flight.js';
import type { EventSink, Link, Transport } from './transport.js';

const DRAIN_TIMEOUT_MS = 10_000;

type RequestHandler = (message: RequestEnvelope) => Promise<ReplyEnvelope>;

/** A queue group. Its members receive messages in rotation. */
class Group<T> {
  private readonly members: T[] = [];

  /** @returns a function that leaves the group. */
  join(member: T): () => void {
    this.members.push(member);
    return () => {
      const index = this.members.indexOf(member);
      if (index >= 0) this.members.splice(index, 1);
    };
  }

  next(): T | undefined {
    const member = this.members.shift();
    if (member) this.members.push(member);
    return member;
  }
}

class Broker {
  readonly handlers = new Registry<string, Group<RequestHandler>>(() => new Group());
  /** Each service is a group of its own. */
  readonly sinks = new Registry<string, Registry<ServiceName, Group<EventSink>>>(() => new Registry(() => new Group()));
  readonly listeners = new Registry<string, Set<(payload: unknown) => void>>(() => new Set());
}

/** A map that creates missing values. */
class Registry<K, V> extends Map<K, V> {
  constructor(private readonly make: () => V) {
    super();
  }

  of(key: K): V {
    const value = this.get(key) ?? this.make();
    this.set(key, value);
    return value;
  }
}

class InProcessServer extends Server implements CustomTransportStrategy {
  private readonly inFlight = new InFlight();
  private leave: (() => void)[] = [];

  constructor(private readonly broker: Broker) {
    super();
  }

  listen(callback: (error?: unknown) => void): void {
    this.leave = [...this.messageHandlers].map(([subject, handler]) =>
      this.broker.handlers.of(subject).join((message) => this.inFlight.track(handler(message))),
    );
    callback();
  }

  /** Accepts no new requests and finishes the accepted ones. */
  async close(): Promise<void> {
    this.leave.forEach((leave) => leave());
    await this.inFlight.finished(DRAIN_TIMEOUT_MS);
  }

  on(): void {}

  unwrap<T>(): T {
    return this.broker as T;
  }
}

class InProcessLink implements Link {
  readonly disconnectedSince = null;
  readonly server: InProcessServer;
  private readonly leave: (() => void)[] = [];

  constructor(
    private readonly broker: Broker,
    private readonly service: ServiceName,
  ) {
    this.server = new InProcessServer(broker);
  }

  request(subject: string, message: RequestEnvelope): Promise<ReplyEnvelope> {
    // The handler never runs on the caller's stack, as over NATS.
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        const handler = this.broker.handlers.get(subject)?.next();
        if (handler) handler(message).then(resolve, reject);
        else reject(new Error(`nobody serves ${subject}`));
      });
    });
  }

  async publishEvents(events: EventRecord[]): Promise<void> {
    for (const subject of new Set(events.map((event) => event.subject))) {
      const ofSubject = events.filter((event) => event.subject === subject);
      for (const group of this.broker.sinks.of(subject).values()) await group.next()?.(ofSubject);
    }
  }

  async consumeEvents(subject: string, sink: EventSink): Promise<void> {
    this.leave.push(this.broker.sinks.of(subject).of(this.service).join(sink));
  }

  signal(subject: string, payload: unknown): void {
    setImmediate(() => this.broker.listeners.get(subject)?.forEach((listener) => listener(payload)));
  }

  async onSignal(subject: string, listener: (payload: unknown) => void): Promise<void> {
    const listeners = this.broker.listeners.of(subject);
    listeners.add(listener);
    this.leave.push(() => listeners.delete(listener));
  }

  async close(): Promise<void> {
    this.leave.splice(0).forEach((leave) => leave());
  }
}

/**
 * The bus of a single process. Calls are asynchronous, as they are over NATS. Messages are passed on unchanged. The
 * compiler, `FakeBus` and every distributed run check that they contain only what JSON can represent.
 */
export function inProcessTransport(): Transport {
  const broker = new Broker();
  const links: InProcessLink[] = [];
  return {
    async connect(service: ServiceName): Promise<Link> {
      const link = new InProcessLink(broker, service);
      links.push(link);
      return link;
    },
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}
