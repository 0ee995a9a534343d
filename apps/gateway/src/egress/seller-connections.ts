import { Client, errors, type Dispatcher } from 'undici';
import type { Socket } from 'node:net';
import { SellerDialer } from './seller-dialer.js';
import { dnsLookup, systemLookup, type SellerLookup } from './seller-lookup.js';

export interface SellerConnectionsOptions {
  /** In the sandbox and in tests, also connects to private addresses. */
  allowPrivate: boolean;
  /** The default is DNS, or with `allowPrivate` the resolver of the system. */
  lookup?: SellerLookup;
  connectTimeoutMs?: number;
  /** Certificate authorities in PEM that replace the public ones. */
  ca?: string;
}

/** Handles the events of one exchange. If an error occurs before there is a connection, the controller is null. */
export interface SellerHandler extends Dispatcher.DispatchHandler {
  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void;
}

/** Identifies the connections that an exchange may use. Listings do not share connections, even at the same origin. */
export interface SellerTarget {
  listingId: string;
  origin: string;
}

/** The right of an exchange to use its connection. */
export interface Lease {
  /** Whether the connection has carried another exchange before. */
  readonly isReused: boolean;
  /**
   * Must be called once after the exchange, and not from within its handler, where the parser is still running. A
   * connection that is not reusable is closed immediately, even while it is connecting.
   */
  end(reusable: boolean): void;
}

interface Connection {
  client: Client;
  socket: Socket | undefined;
}

/** Far more than any JSON API sends; the parser rejects more. */
const maxHeaderBytes = 16 * 1024;
/**
 * Below the shortest common server default (2 s), so that the gateway closes an idle connection before the seller does.
 */
const idleTimeoutMs = 1_500;
const maxIdleTimeoutMs = 30_000;

/**
 * Connections to sellers. Each carries one exchange at a time and is kept briefly for its listing. An exchange never
 * waits for a connection: `SellerCapacity` limits the concurrent calls of a listing. undici's Pool is not used, because
 * it cannot abort an exchange that is connecting, and because it reconnects for a request that was aborted (measured
 * with 7.30.2).
 */
export class SellerConnections {
  private readonly dialer: SellerDialer;
  private readonly all = new Set<Connection>();
  /** Idle connections by target. The last used connection is used first, so that surplus ones time out. */
  private readonly idle = new Map<string, Connection[]>();
  private closed = false;

  constructor(options: SellerConnectionsOptions) {
    const { allowPrivate, lookup = allowPrivate ? systemLookup : dnsLookup(), connectTimeoutMs = 5_000, ca } = options;
    this.dialer = new SellerDialer({ allowPrivate, lookup, connectTimeoutMs, ca });
  }

  /**
   * Starts an exchange. All errors are reported to the handler, which ends the lease.
   * @param isFresh whether it must have a connection of its own.
   */
  dispatch(target: SellerTarget, request: Dispatcher.DispatchOptions, handler: SellerHandler, isFresh = false): Lease {
    if (this.closed) {
      queueMicrotask(() => handler.onResponseError(null, new errors.ClientClosedError()));
      return { isReused: false, end: () => undefined };
    }
    const key = `${target.listingId} ${target.origin}`;
    const kept = isFresh ? undefined : this.idle.get(key)?.pop();
    const connection = kept ?? this.connect(key, target.origin);
    connection.client.dispatch(request, handler);
    return {
      isReused: kept !== undefined,
      end: (reusable) =>
        reusable && connection.socket?.destroyed === false ? this.keep(key, connection) : this.discard(key, connection),
    };
  }

  /** The number of connections that are open or connecting. */
  get size(): number {
    return this.all.size;
  }

  /** Closes all connections; exchanges in progress fail. */
  close(): void {
    this.closed = true;
    this.idle.clear();
    this.all.forEach(destroy);
    this.all.clear();
  }

  private connect(key: string, origin: string): Connection {
    const connection: Connection = {
      socket: undefined,
      client: new Client(origin, {
        connect: (target, done) => {
          connection.socket = this.dialer.dial(target, done);
        },
        maxHeaderSize: maxHeaderBytes,
        keepAliveTimeout: idleTimeoutMs,
        keepAliveMaxTimeout: maxIdleTimeoutMs,
        // The deadline of the exchange includes both; these timeouts would only limit the gaps between bytes.
        headersTimeout: 0,
        bodyTimeout: 0,
      }),
    };
    connection.client.on('disconnect', () => {
      if (this.idle.get(key)?.includes(connection)) this.discard(key, connection);
    });
    this.all.add(connection);
    return connection;
  }

  private keep(key: string, connection: Connection): void {
    const idle = this.idle.get(key);
    if (idle) idle.push(connection);
    else this.idle.set(key, [connection]);
  }

  private discard(key: string, connection: Connection): void {
    destroy(connection);
    this.all.delete(connection);
    const idle = this.idle.get(key)?.filter((other) => other !== connection) ?? [];
    if (idle.length > 0) this.idle.set(key, idle);
    else this.idle.delete(key);
  }
}

/** Closes a connection immediately, even while it is connecting. */
function destroy({ client, socket }: Connection): void {
  void client.destroy();
  socket?.destroy();
}
