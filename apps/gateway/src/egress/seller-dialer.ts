import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { buildConnector } from 'undici';
import { isPublicAddress } from './public-address.js';
import type { SellerLookup } from './seller-lookup.js';

/** The host is, or resolves to, an address that is not public. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

export interface SellerDialerOptions {
  allowPrivate: boolean;
  lookup: SellerLookup;
  /** Name resolution, TCP and TLS together. */
  connectTimeoutMs: number;
  /** Certificate authorities to trust instead of the public ones, PEM. */
  ca?: string | undefined;
}

/** More answers than this are not a host but a probe. */
const maxAddresses = 64;
/** How long one of several addresses may stay silent before the next is tried. */
const addressAttemptTimeoutMs = 1_000;

/**
 * Opens connections to sellers. A name is resolved once per connection, every answer is checked, and only the checked answers are
 * dialled; literals, which resolution never sees, are checked themselves.
 */
export class SellerDialer {
  constructor(private readonly options: SellerDialerOptions) {}

  /**
   * Begins one connection and calls `done` with the outcome.
   * @returns the socket, to be destroyed to give up early; nothing when the address was refused without one.
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
