import { Client, type Dispatcher } from 'undici';
import type { Socket } from 'node:net';
import type { SellerDialer } from './seller-dialer.js';

/** Far more than any JSON API sends; the parser gives up beyond. */
const maxHeaderBytes = 16 * 1024;
/** Below the shortest common server default (2 s), so that we rather than the seller close an idle connection. */
const idleTimeoutMs = 1_500;
const maxIdleTimeoutMs = 30_000;

/** A connection that carries one exchange at a time. */
export class SellerConnection {
  private readonly client: Client;
  private socket: Socket | undefined;

  constructor(origin: string, dialer: SellerDialer, onClosed: (connection: SellerConnection) => void) {
    this.client = new Client(origin, {
      connect: (target, done) => {
        this.socket = dialer.dial(target, done);
      },
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: idleTimeoutMs,
      keepAliveMaxTimeout: maxIdleTimeoutMs,
      // The exchange's own deadline covers both; these would only watch the gaps between bytes.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.client.on('disconnect', () => onClosed(this));
  }

  carry(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.client.dispatch(request, handler);
  }

  get isOpen(): boolean {
    return this.socket !== undefined && !this.socket.destroyed;
  }

  /** Ends the connection at once, also one still being made. */
  destroy(): void {
    void this.client.destroy();
    this.socket?.destroy();
  }
}
