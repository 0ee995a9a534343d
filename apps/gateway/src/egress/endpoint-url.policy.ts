import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { isPublicAddress } from './public-address.js';

export type EndpointUrlRefusal =
  | 'invalid_url'
  | 'url_too_long'
  | 'scheme_not_allowed'
  | 'userinfo_not_allowed'
  | 'fragment_not_allowed'
  | 'port_not_allowed'
  | 'host_not_public'
  | 'own_host';

export type EndpointUrlCheck = { ok: true; url: URL } | { ok: false; reason: EndpointUrlRefusal };

export interface EndpointUrlPolicyOptions {
  /** In the sandbox and in tests, also allows http, private addresses and local names. */
  allowPrivate: boolean;
  /**
   * The marketplace's own hosts, `host` (any port) or `host:port`. A call to them would return to the marketplace. One
   * local address stands for all addresses of this machine.
   */
  ownHosts: readonly string[];
}

const maxUrlLength = 2_048;

/** Ports of services that a POST could harm, and ports that no seller uses for HTTP. */
const forbiddenPorts = new Set([
  0,
  1,
  7,
  9,
  19,
  21,
  22,
  23,
  25,
  53,
  110,
  111,
  135,
  139,
  143,
  389,
  445,
  465,
  514,
  587,
  636,
  993,
  995, // system and mail
  1433,
  1521,
  3306,
  5432,
  6379,
  6380,
  9042,
  9200,
  9300,
  11211,
  27017, // data stores
  2049,
  2375,
  2376,
  2379,
  2380,
  3389,
  5900,
  6443,
  10250, // machines and their managers
  4222,
  5672,
  6222,
  8222,
  9092, // buses
]);

/** Top-level labels that are never public. */
const privateSuffixes = new Set([
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'arpa',
  'test',
  'example',
  'invalid',
  'onion',
  'alt',
]);

/** Decides which URLs a seller may register. The addresses of a host are checked again when it is dialled. */
export class EndpointUrlPolicy {
  private readonly ownHosts: ReadonlySet<string>;

  constructor(private readonly options: EndpointUrlPolicyOptions) {
    this.ownHosts = new Set(options.ownHosts.map((host) => local(host.toLowerCase())));
  }

  /** Returns the normalised URL, or why it is refused. A host outside ASCII must be given in punycode. */
  check(raw: string): EndpointUrlCheck {
    if (raw.length > maxUrlLength) return refused('url_too_long');
    // URL parsers treat blanks, control characters and backslashes differently, so such URLs are refused.
    if (!/^[\x21-\x7e]+$/.test(raw) || raw.includes('\\')) return refused('invalid_url');
    const authority = /^https?:\/\/([^/?#]+)/i.exec(raw)?.[1];
    if (authority === undefined)
      return refused(/^(?!https?:)[a-z][a-z0-9+.-]*:/i.test(raw) ? 'scheme_not_allowed' : 'invalid_url');
    if (authority.includes('@')) return refused('userinfo_not_allowed');
    if (raw.includes('#')) return refused('fragment_not_allowed');
    if (!URL.canParse(raw)) return refused('invalid_url');
    return this.checkParsed(new URL(raw));
  }

  private checkParsed(url: URL): EndpointUrlCheck {
    if (url.protocol === 'http:' && !this.options.allowPrivate) return refused('scheme_not_allowed');
    if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
    const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
    if (forbiddenPorts.has(Number(port))) return refused('port_not_allowed');
    if (this.ownHosts.has(url.hostname) || this.ownHosts.has(local(`${url.hostname}:${port}`)))
      return refused('own_host');
    const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(literal) === 0) return this.checkName(url);
    return this.options.allowPrivate || isPublicAddress(literal) ? { ok: true, url } : refused('host_not_public');
  }

  private checkName(url: URL): EndpointUrlCheck {
    const labels = url.hostname.split('.');
    if (url.hostname.length > 253 || !labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)))
      return refused('invalid_url');
    if (this.options.allowPrivate) return { ok: true, url };
    const isLocal = labels.length === 1 || privateSuffixes.has(labels[labels.length - 1]!);
    return isLocal ? refused('host_not_public') : { ok: true, url };
  }
}

/** Maps every address of this machine to the same value. */
function local(host: string): string {
  const { name, port } = /^(?<name>\[.*\]|[^:]*)(?<port>:\d+)?$/.exec(host)?.groups ?? {};
  const literal = name?.replace(/^\[(.*)\]$/, '$1') ?? '';
  const isLocal =
    isIP(literal) === 0
      ? literal === 'localhost' || literal.endsWith('.localhost') || literal === hostname()
      : isOfThisMachine(literal);
  return isLocal ? `localhost${port ?? ''}` : host;
}

function isOfThisMachine(literal: string): boolean {
  const address = ipaddr.process(literal);
  return (
    ['loopback', 'unspecified'].includes(address.range()) ||
    Object.values(networkInterfaces()).some((all) => all!.some((one) => one.address === address.toString()))
  );
}

function refused(reason: EndpointUrlRefusal): EndpointUrlCheck {
  return { ok: false, reason };
}
