import { errors, type Dispatcher } from 'undici';
import { SellerConnection } from './seller-connection.js';
import type { SellerDialer } from './seller-dialer.js';

/** Follows one exchange. An error before any connection comes without a controller. */
export interface SellerHandler extends Dispatcher.DispatchHandler {
  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void;
}

/** An exchange's hold on a connection, or on its place in the queue for one. */
export interface Lease {
  /**
   * To be called once, when the exchange is over, and not from within its handler, where the parser is still at work.
   * A connection that is not reusable is closed at once, even while it is being made.
   */
  end(reusable: boolean): void;
}

interface Exchange {
  request: Dispatcher.DispatchOptions;
  handler: SellerHandler;
  connection: SellerConnection | null;
}

/** The connections to one origin, at most `maximum`, and the exchanges that wait for one in order of arrival. */
export class SellerConnections {
  private readonly all = new Set<SellerConnection>();
  /** The last used is used next, so that a surplus falls idle and closes. */
  private readonly idle: SellerConnection[] = [];
  private readonly waiting = new Set<Exchange>();

  constructor(
    private readonly origin: string,
    private readonly dialer: SellerDialer,
    private readonly maximum: number,
    private readonly onEmpty: () => void,
  ) {}

  get open(): number {
    return this.all.size;
  }

  start(request: Dispatcher.DispatchOptions, handler: SellerHandler): Lease {
    const exchange: Exchange = { request, handler, connection: null };
    const connection = this.idle.pop() ?? (this.all.size < this.maximum ? this.connect() : undefined);
    if (connection) this.carry(connection, exchange);
    else this.waiting.add(exchange);
    return { end: (reusable) => this.end(exchange, reusable) };
  }

  close(): void {
    const abandoned = [...this.waiting];
    this.waiting.clear();
    for (const { handler } of abandoned) handler.onResponseError(null, new errors.ClientClosedError());
    for (const connection of [...this.all]) this.discard(connection);
  }

  private connect(): SellerConnection {
    const connection = new SellerConnection(this.origin, this.dialer, (closed) => this.forgetIdle(closed));
    this.all.add(connection);
    return connection;
  }

  private carry(connection: SellerConnection, exchange: Exchange): void {
    exchange.connection = connection;
    connection.carry(exchange.request, exchange.handler);
  }

  private end(exchange: Exchange, reusable: boolean): void {
    this.waiting.delete(exchange);
    const { connection } = exchange;
    if (!connection) return;
    if (reusable && connection.isOpen) this.release(connection);
    else this.discard(connection);
  }

  private release(connection: SellerConnection): void {
    const next = this.nextWaiting();
    if (next) this.carry(connection, next);
    else this.idle.push(connection);
  }

  private discard(connection: SellerConnection): void {
    if (!this.all.delete(connection)) return;
    connection.destroy();
    const next = this.nextWaiting();
    if (next) this.carry(this.connect(), next);
    else if (this.all.size === 0) this.onEmpty();
  }

  private forgetIdle(connection: SellerConnection): void {
    const index = this.idle.indexOf(connection);
    if (index === -1) return;
    this.idle.splice(index, 1);
    this.discard(connection);
  }

  private nextWaiting(): Exchange | undefined {
    const [next] = this.waiting;
    if (next) this.waiting.delete(next);
    return next;
  }
}
