import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const globalIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');
/**
 * Azure's host agent has a public address that answers only from inside. The metadata addresses of other clouds are in
 * reserved ranges.
 */
const azureWireServer = '168.63.129.16';
/** ISATAP embeds an IPv4 address in the low half of any IPv6 prefix, after this marker. */
const isatapMark = 0x5efe;

/**
 * Whether an address, in the form that DNS and URL parsing return, is public.
 * An IPv4 address embedded in IPv6 (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) is never accepted, because sellers
 * do not need one.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv4) return parsed.toString() !== azureWireServer;
  return parsed.match(globalIpv6) && parsed.parts[5] !== isatapMark;
}
