import { lookup, Resolver } from 'node:dns/promises';

/** Every address, IPv4 and IPv6, of a host name. Rejects when there is none. */
export type SellerLookup = (hostname: string) => Promise<string[]>;

export interface DnsLookupOptions {
  /** Name servers, `address` or `address:port`; the system's by default. */
  servers?: readonly string[];
  timeoutMs?: number;
  tries?: number;
}

/**
 * Asks DNS itself. The system's getaddrinfo would hold one of the process's few threads for as long as a seller's name server
 * pleases, and would also read the hosts file and search domains, where only private names are found.
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

/** The system's own resolution with its hosts file, for sellers on a private network. */
export const systemLookup: SellerLookup = async (hostname) => {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
};
