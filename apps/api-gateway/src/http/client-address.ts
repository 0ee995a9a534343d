import { isIP, isIPv4 } from 'node:net';

const SITE_PREFIX_GROUPS = 4;

/**
 * Returns the key by which a client's address is counted: an IPv4 address, or the /64 of an IPv6 address, because one
 * site usually has a whole /64. Other text, which a proxy may send, is used unchanged.
 */
export function siteOf(address: string | undefined): string {
  // The address of a closed connection is unknown.
  if (address === undefined) return 'gone';
  if (!address.includes(':')) return address;
  const withoutPort =
    /^(\d+(?:\.\d+){3}):\d+$/.exec(address)?.[1] ?? /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? address;
  const [bare = ''] = withoutPort.split('%');
  if (isIP(bare) === 4) return bare;
  if (isIP(bare) === 0) return address.slice(0, 64);
  const groups = groupsOf(bare);
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  return `${groups
    .slice(0, SITE_PREFIX_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** Returns the eight groups of a valid IPv6 address in any notation. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const left = numbersOf(head);
  if (tail === undefined) return left;
  const right = numbersOf(tail);
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

const numbersOf = (text: string): number[] =>
  text === '' ? [] : text.split(':').flatMap((group) => (group.includes('.') ? pairOf(group) : [parseInt(group, 16)]));

/** Returns the last 32 bits, written as an IPv4 address. */
function pairOf(ipv4: string): [number, number] {
  const [a, b, c, d] = ipv4.split('.').map(Number) as [number, number, number, number];
  return [a * 256 + b, c * 256 + d];
}

/** Accepts `10.0.0.0/8`, `fd00::/8`, or a single address. */
export function isCidr(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  if (more.length > 0 || isIP(address) === 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv4(address) ? 32 : 128));
}
