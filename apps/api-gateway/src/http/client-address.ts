import { isIP, isIPv4 } from 'node:net';

const SITE_PREFIX_GROUPS = 4;

/**
 * What a client's address is counted by: an IPv4 address itself, of an IPv6 address its /64, since one site has all of
 * that. Text that is no address, as a proxy might hand on, is counted by itself.
 */
export function siteOf(address: string | undefined): string {
  // The address of a connection that has ended already is unknown.
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

/** The eight groups of a valid IPv6 address in any of its spellings. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const left = numbersOf(head);
  if (tail === undefined) return left;
  const right = numbersOf(tail);
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right];
}

const numbersOf = (text: string): number[] =>
  text === '' ? [] : text.split(':').flatMap((group) => (group.includes('.') ? pairOf(group) : [parseInt(group, 16)]));

/** The last 32 bits, written as an IPv4 address. */
function pairOf(ipv4: string): [number, number] {
  const [a, b, c, d] = ipv4.split('.').map(Number) as [number, number, number, number];
  return [a * 256 + b, c * 256 + d];
}

/** `10.0.0.0/8`, `fd00::/8`, or a single address. */
export function isCidr(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  if (more.length > 0 || isIP(address) === 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIPv4(address) ? 32 : 128));
}
