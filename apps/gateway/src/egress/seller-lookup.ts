import { lookup, Resolver } from 'node:dns/promises';

/** Returns all IPv4 and IPv6 addresses of a host name. Rejects if there are none. */
export type SellerLookup = (hostname: string) => Promise<string[]>;

export interface DnsLookupOptions {
  /** Name servers, `address` or `address:port`; defaults to those of the system. */
  servers?: readonly string[];
  timeoutMs?: number;
  tries?: number;
}

/**
 * Resolves names with DNS directly. The system's getaddrinfo would block one of the process's few threads until the
 * seller's name server answers. It would also read the hosts file and search domains, which contain only private names.
 */
export function dnsLookup({ servers, timeoutMs = 1_500, tries = 2 }: DnsLookupOptions = {}): SellerLookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries });
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw new Error('The host name has no address');
    return addresses;
  };
}

/** The resolver of the system with its hosts file, for sellers on a private network. */
export const systemLookup: SellerLookup = async (hostname) => {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
};
