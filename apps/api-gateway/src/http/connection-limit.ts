import { BlockList, isIPv4, type Server, type Socket } from 'node:net';
import { siteOf } from './client-address.js';

/** The limit for one process, for all addresses together. */
export const MAX_CONNECTIONS = 20_000;

/**
 * Closes connections immediately that exceed the limit of an address in this process. Trusted proxies are exempt,
 * because they connect for many clients.
 */
export function limitConnections(server: Server, maxPerAddress: number, trustedProxies: string[]): void {
  server.maxConnections = MAX_CONNECTIONS;
  const proxies = blockListOf(trustedProxies);
  const open = new Map<string, number>();
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket;
    if (address === undefined || proxies.check(address, familyOf(address))) return;
    const site = siteOf(address);
    const count = open.get(site) ?? 0;
    // `resetAndDestroy` would still process a request that has already arrived.
    if (count >= maxPerAddress) return void socket.destroy();
    open.set(site, count + 1);
    socket.once('close', () => {
      const left = open.get(site)! - 1;
      if (left === 0) open.delete(site);
      else open.set(site, left);
    });
  });
}

function blockListOf(cidrs: string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return list;
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6');
