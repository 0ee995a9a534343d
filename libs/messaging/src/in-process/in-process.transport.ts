import { ClientProxy, Server, type CustomTransportStrategy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { ServiceName } from '@market/contracts';
import { firstValueFrom, isObservable } from 'rxjs';
import type { EventRecord } from '../envelope.js';
import type { EventSink, Link, Transport } from '../transport.js';

/** What crosses a process border survives JSON and nothing else does, also where there is no border. */
const overTheWire = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Nest hands out a promise of the answer, or of a stream of one. */
type RequestHandler = (envelope: unknown) => Promise<unknown>;

async function answerOf(handler: RequestHandler, envelope: unknown): Promise<unknown> {
  const answer = await handler(envelope);
  return isObservable(answer) ? firstValueFrom(answer) : answer;
}

class Broker {
  readonly handlers = new Map<string, RequestHandler>();
  readonly sinks = new Map<string, Set<EventSink>>();
  readonly listeners = new Map<string, Set<(payload: unknown) => void>>();
}

class InProcessServer extends Server implements CustomTransportStrategy {
  constructor(private readonly broker: Broker) {
    super();
  }

  listen(callback: (error?: unknown) => void): void {
    for (const [subject, handler] of this.messageHandlers) {
      this.broker.handlers.set(subject, handler as RequestHandler);
    }
    callback();
  }

  close(): void {
    for (const subject of this.messageHandlers.keys()) this.broker.handlers.delete(subject);
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
    const handler = this.broker.handlers.get(packet.pattern as string);
    const data: unknown = overTheWire(packet.data);
    // Never on the caller's stack: a hop is always asynchronous.
    setImmediate(() => {
      if (!handler) return settle({ err: new Error(`nobody serves ${String(packet.pattern)}`) });
      answerOf(handler, data).then(
        (response) => settle({ response: overTheWire(response), isDisposed: true }),
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
  private readonly undo: (() => void)[] = [];

  constructor(private readonly broker: Broker) {
    this.server = new InProcessServer(broker);
    this.client = new InProcessClient(broker);
  }

  async publishEvents(events: EventRecord[]): Promise<void> {
    for (const subject of new Set(events.map((event) => event.subject))) {
      const batch = events.filter((event) => event.subject === subject);
      for (const sink of this.broker.sinks.get(subject) ?? []) await sink(overTheWire(batch));
    }
  }

  async consumeEvents(subject: string, sink: EventSink): Promise<void> {
    this.register(this.broker.sinks, subject, sink);
  }

  signal(subject: string, payload: unknown): void {
    const copy = overTheWire(payload);
    setImmediate(() => this.broker.listeners.get(subject)?.forEach((listener) => listener(copy)));
  }

  async onSignal(subject: string, listener: (payload: unknown) => void): Promise<void> {
    this.register(this.broker.listeners, subject, listener);
  }

  async close(): Promise<void> {
    this.undo.splice(0).forEach((undo) => undo());
  }

  private register<T>(registry: Map<string, Set<T>>, subject: string, member: T): void {
    const members = registry.get(subject) ?? new Set<T>();
    members.add(member);
    registry.set(subject, members);
    this.undo.push(() => members.delete(member));
  }
}

/** The bus of a single process: the same contracts, JSON round trips, asynchronous hops and errors as over NATS. */
export function inProcessTransport(): Transport {
  const broker = new Broker();
  const links: InProcessLink[] = [];
  return {
    async connect(_service: ServiceName): Promise<Link> {
      const link = new InProcessLink(broker);
      links.push(link);
      return link;
    },
    async close() {
      await Promise.all(links.map((link) => link.close()));
    },
  };
}
