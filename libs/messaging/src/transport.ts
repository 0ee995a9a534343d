import type { ServiceName, ServiceTopology } from '@market/contracts';
import type { CustomTransportStrategy } from '@nestjs/microservices';
import type { EventRecord } from './envelope.js';

/** Takes events at least once, in any order; resolves when they need not come again. */
export type EventSink = (events: EventRecord[]) => Promise<void>;

/** Nest's own server base, as far as the bus needs to know it. */
export type RequestServer = CustomTransportStrategy & { getHandlers(): Map<string, unknown> };

/** A request was sent and will get no reply: whoever took it may have done it. */
export class RequestLost extends Error {
  override readonly name = 'RequestLost';
}

/** One service's way onto the bus. */
export interface Link {
  /** Serves this service's requests; given to Nest. */
  readonly server: RequestServer;
  /**
   * Hands an encoded request to one process of the service that serves the subject, and resolves with its encoded reply.
   * Whoever asks gives up after `withinMs`; a transport may forget the request then.
   * @throws RequestLost when its reply will not come; any other error when nobody serves the subject, or there is no way there.
   */
  request(subject: string, message: string, withinMs: number): Promise<string>;
  /** Resolves when every event is kept (or handled) beyond this process. */
  publishEvents(events: EventRecord[]): Promise<void>;
  /** Feeds a subject's events to this service, shared among its replicas. */
  consumeEvents(subject: string, sink: EventSink): Promise<void>;
  signal(subject: string, payload: unknown): void;
  onSignal(subject: string, listener: (payload: unknown) => void): Promise<void>;
  close(): Promise<void>;
}

/** How contracts travel. Which one a process uses is decided in its entry file and nowhere else. */
export interface Transport {
  connect(service: ServiceName, topology: ServiceTopology): Promise<Link>;
  close(): Promise<void>;
}
