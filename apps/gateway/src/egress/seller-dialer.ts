import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.js';
import type { SellerLookup } from './seller-lookup.js';

/** The host is an address that is not public, or resolves to one. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

export interface SellerDialerOptions {
  allowPrivate: boolean;
  lookup: SellerLookup;
  /** The time limit for name resolution, TCP and TLS together. */
  connectTimeoutMs: number;
  /** Certificate authorities in PEM that replace the public ones. */
  ca?: string | undefined;
}

/** A name with more addresses than this is refused as an attack. */
const maxAddresses = 64;
/** If one of several addresses does not answer within this time, the next one is tried. */
const addressAttemptTimeoutMs = 1_000;

/**
 * Opens connections to sellers. It resolves a name once per connection, checks every address, and connects only to
 * checked addresses. Addresses in URLs are not resolved, so they are checked directly.
 */
export class SellerDialer {
  constructor(private readonly options: SellerDialerOptions) {}

  /**
   * Starts one connection and calls `done` with the outcome.
   * @returns the socket, which the caller destroys to abort early; undefined if the address was refused before there
   * was a socket.
   */
  dial(
    { protocol, hostname, port, servername }: buildConnector.Options,
    done: buildConnector.Callback,
  ): Socket | undefined {
    if (isIP(hostname) !== 0 && !this.admits([hostname])) {
      queueMicrotask(() => done(new ForbiddenAddress(), null));
      return undefined;
    }
    const secure = protocol === 'https:';
    const target = {
      host: hostname,
      port: Number(port) || (secure ? 443 : 80),
      lookup: this.checkedLookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: addressAttemptTimeoutMs,
    };
    const name = servername ?? (isIP(hostname) === 0 ? hostname : '');
    const identity = { servername: name, ca: this.options.ca, ALPNProtocols: ['http/1.1'], rejectUnauthorized: true };
    const socket = secure ? connectTls({ ...target, ...identity }) : connectTcp(target);
    this.report(socket, secure ? 'secureConnect' : 'connect', done);
    return socket;
  }

  private report(socket: Socket, success: string, done: buildConnector.Callback): void {
    const timer = setTimeout(
      () => socket.destroy(new Error('The connection was not made in time')),
      this.options.connectTimeoutMs,
    );
    const failed = (error: Error): void => done(error, null);
    socket
      .setNoDelay(true)
      .once('close', () => clearTimeout(timer))
      .once('error', failed)
      .once(success, () => {
        clearTimeout(timer);
        socket.off('error', failed);
        done(null, socket);
      });
  }

  private readonly checkedLookup: LookupFunction = (hostname, _options, answer) => {
    this.options.lookup(hostname).then(
      (addresses) => {
        if (addresses.length === 0 || addresses.length > maxAddresses || !this.admits(addresses))
          answer(new ForbiddenAddress(), []);
        else
          answer(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          );
      },
      (error: NodeJS.ErrnoException) => answer(error, []),
    );
  };

  private admits(addresses: string[]): boolean {
    return addresses.every((address) => (this.options.allowPrivate ? isIP(address) !== 0 : isPublicAddress(address)));
  }
}
