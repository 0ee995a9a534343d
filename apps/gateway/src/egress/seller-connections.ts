import { Client, errors, type Dispatcher } from 'undici';
import type { Socket } from 'node:net';
import { SellerDialer } from './seller-dialer.js';
import { dnsLookup, systemLookup, type SellerLookup } from './seller-lookup.js';

export interface SellerConnectionsOptions {
  /** Sandbox and tests: dial private addresses too. */
  allowPrivate: boolean;
  /** By default DNS, or with `allowPrivate` the system's own resolution. */
  lookup?: SellerLookup;
  connectTimeoutMs?: number;
  /** Certificate authorities to trust instead of the public ones, PEM. */
  ca?: string;
}

/** Follows one exchange. An error before any connection comes without a controller. */
export interface SellerHandler extends Dispatcher.DispatchHandler {
  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void;
}

/** Identifies the connections that an exchange may use. Listings do not share connections, even at the same origin. */
export interface SellerTarget {
  listingId: string;
  origin: string;
}

/** An exchange's hold on its connection. */
export interface Lease {
  /**
   * To be called once, when the exchange is over, and not from within its handler, where the parser is still at work.
   * A connection that is not reusable is closed at once, even while it is being made.
   */
  end(reusable: boolean): void;
}

interface Connection {
  client: Client;
  socket: Socket | undefined;
}

/** Far more than any JSON API sends; the parser gives up beyond. */
const maxHeaderBytes = 16 * 1024;
/** Below the shortest common server default (2 s), so that we rather than the seller close an idle connection. */
const idleTimeoutMs = 1_500;
const maxIdleTimeoutMs = 30_000;

/**
 * Connections to sellers. Each carries one exchange at a time and is kept for its listing for a moment. An exchange never waits for
 * one: how many calls a listing takes at once is decided before (`SellerCapacity`). undici's Pool is not used because it cannot give
 * up an exchange that is connecting, and because it connects again on behalf of a request that was aborted (measured with 7.30.2).
 */
export class SellerConnections {
  private readonly dialer: SellerDialer;
  private readonly all = new Set<Connection>();
  /** By target. The last used is used next, so that a surplus closes. */
  private readonly idle = new Map<string, Connection[]>();
  private closed = false;

  constructor(options: SellerConnectionsOptions) {
    const { allowPrivate, lookup = allowPrivate ? systemLookup : dnsLookup(), connectTimeoutMs = 5_000, ca } = options;
    this.dialer = new SellerDialer({ allowPrivate, lookup, connectTimeoutMs, ca });
  }

  /** Starts an exchange. Every error reaches the handler, which ends the lease. */
  dispatch(target: SellerTarget, request: Dispatcher.DispatchOptions, handler: SellerHandler): Lease {
    if (this.closed) {
      queueMicrotask(() => handler.onResponseError(null, new errors.ClientClosedError()));
      return { end: () => undefined };
    }
    const key = `${target.listingId} ${target.origin}`;
    const connection = this.idle.get(key)?.pop() ?? this.connect(key, target.origin);
    connection.client.dispatch(request, handler);
    return {
      end: (reusable) =>
        reusable && connection.socket?.destroyed === false ? this.keep(key, connection) : this.discard(key, connection),
    };
  }

  /** Connections made or being made. */
  get size(): number {
    return this.all.size;
  }

  /** Closes every connection; exchanges under way fail. */
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
        // The exchange's own deadline covers both; these would only watch the gaps between bytes.
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

/** Ends a connection at once, also one still being made. */
function destroy({ client, socket }: Connection): void {
  void client.destroy();
  socket?.destroy();
}
