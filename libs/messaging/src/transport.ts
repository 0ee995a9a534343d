import type { ServiceName, ServiceTopology } from '@market/contracts';
import type { CustomTransportStrategy, Server } from '@nestjs/microservices';
import type { EventRecord, ReplyEnvelope, RequestEnvelope } from './envelope.js';

/** Receives events at least once, in any order. It resolves when they are handled and need not be delivered again. */
export type EventSink = (events: EventRecord[]) => Promise<void>;

/** Nest's own server base, as far as the bus uses it. */
export type RequestServer = CustomTransportStrategy & Pick<Server, 'addHandler' | 'getHandlers'>;

/** A request was sent and will get no reply. It may have been executed. */
export class RequestLost extends Error {
  override readonly name = 'RequestLost';
}

/** A service's connection to the bus. */
export interface Link {
  /** Serves this service's requests. It is passed to Nest. */
  readonly server: RequestServer;
  /**
   * Sends a request to one process of the service that serves the subject, and resolves with its reply. The receiver
   * owns each message and the sender must not change it afterwards. Messages contain only what JSON can represent. The
   * caller gives up after `withinMs`; the transport may then drop the request.
   * @throws RequestLost if no reply will come; another error if no process serves the subject or it cannot be reached.
   */
  request(subject: string, message: RequestEnvelope, withinMs: number): Promise<ReplyEnvelope>;
  /** Resolves when every event is stored or handled outside of this process. */
  publishEvents(events: EventRecord[]): Promise<void>;
  /** Passes the events of a subject to this service. The replicas of the service share them. */
  consumeEvents(subject: string, sink: EventSink): Promise<void>;
  signal(subject: string, payload: unknown): void;
  onSignal(subject: string, listener: (payload: unknown) => void): Promise<void>;
  /** When the connection to the broker was lost, in milliseconds since the epoch; null while there is one. */
  readonly disconnectedSince: number | null;
  close(): Promise<void>;
}

/** How messages are transported. The entry file of a process chooses the transport. */
export interface Transport {
  connect(service: ServiceName, topology: ServiceTopology): Promise<Link>;
  close(): Promise<void>;
}
