import { ClientProxy, Server, type CustomTransportStrategy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { ServiceName } from '@market/contracts';
import { firstValueFrom, isObservable } from 'rxjs';
import type { EventRecord } from '../envelope.js';
import { InFlight } from '../in-flight.js';
import type { EventSink, Link, Transport } from '../transport.js';
import { jsonCopy } from './json-copy.js';

const DRAIN_MS = 10_000;

/** Nest hands out a promise of the answer, or of a stream of one. */
type RequestHandler = (envelope: unknown) => Promise<unknown>;

async function answerOf(handler: RequestHandler, envelope: unknown): Promise<unknown> {
  const answer = await handler(envelope);
  return isObservable(answer) ? firstValueFrom(answer) : answer;
}

/** The members of a queue group take turns. */
class Group<T> {
  private readonly members: T[] = [];

  /** @returns how to leave. */
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

/** A map that makes what it does not have. */
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
      this.broker.handlers.of(subject).join((envelope) => this.inFlight.track(answerOf(handler as RequestHandler, envelope))),
    );
    callback();
  }

  /** Takes nothing new and finishes what it has. */
  async close(): Promise<void> {
    this.leave.forEach((leave) => leave());
    await this.inFlight.finished(DRAIN_MS);
  }

  on(): void {}

  unwrap<T>(): T {
    return this.broker as T;
  }
}

class InProcessClient extends ClientProxy {
  constructor(private readonly broker: Broker) {
    super();
  }

  async connect(): Promise<void> {}

  close(): void {}

  unwrap<T>(): T {
    return this.broker as T;
  }

  protected publish(packet: ReadPacket, callback: (packet: WritePacket) => void): () => void {
    let open = true;
    const settle = (answer: WritePacket): void => {
      if (open) callback(answer);
    };
    const data: unknown = jsonCopy(packet.data);
    // Never on the caller's stack: a hop is always asynchronous.
    setImmediate(() => {
      const handler = this.broker.handlers.get(packet.pattern as string)?.next();
      if (!handler) return settle({ err: new Error(`nobody serves ${String(packet.pattern)}`) });
      handler(data).then(
        (response) => settle({ response: jsonCopy(response), isDisposed: true }),
        (error: unknown) => settle({ err: error }),
      );
    });
    return () => {
      open = false;
    };
  }

  protected async dispatchEvent(): Promise<never> {
    throw new Error('events go through the outbox, not through the client');
  }
}

class InProcessLink implements Link {
  readonly server: InProcessServer;
  readonly client: InProcessClient;
  private readonly leave: (() => void)[] = [];

  constructor(
    private readonly broker: Broker,
    private readonly service: ServiceName,
  ) {
    this.server = new InProcessServer(broker);
    this.client = new InProcessClient(broker);
  }

  async publishEvents(events: EventRecord[]): Promise<void> {
    for (const subject of new Set(events.map((event) => event.subject))) {
      const batch = events.filter((event) => event.subject === subject);
      for (const group of this.broker.sinks.of(subject).values()) await group.next()?.(jsonCopy(batch));
    }
  }

  async consumeEvents(subject: string, sink: EventSink): Promise<void> {
    this.leave.push(this.broker.sinks.of(subject).of(this.service).join(sink));
  }

  signal(subject: string, payload: unknown): void {
    const copy = jsonCopy(payload);
    setImmediate(() => this.broker.listeners.get(subject)?.forEach((listener) => listener(copy)));
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

/** The bus of a single process: the same contracts, JSON round trips, asynchronous hops and errors as over NATS. */
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
