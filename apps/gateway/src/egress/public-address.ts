import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const globalIpv6 = ipaddr.IPv6.parseCIDR('2000::/3');
/** Azure's host agent: a public number that answers only from inside. Other clouds' metadata addresses lie in reserved ranges. */
const azureWireServer = '168.63.129.16';
/** ISATAP wraps an IPv4 address in the low half of any IPv6 prefix, behind this mark. */
const isatapMark = 0x5efe;

/**
 * Whether an address, in the form DNS and URL parsing give, is one that the whole internet may reach.
 * An IPv4 address wrapped in IPv6 (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) never is: sellers have no use for one.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes('%')) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv4) return parsed.toString() !== azureWireServer;
  return parsed.match(globalIpv6) && parsed.parts[5] !== isatapMark;
}
