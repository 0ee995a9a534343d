import { countOf } from '@market/test-servers/threats';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { isPublicAddress } from './public-address.js';
import { SellerClient } from './seller-client.js';
import { SellerConnections } from './seller-connections.js';

/**
 * IPv4 ranges that no seller may use: loopback, private, link-local and metadata, CGNAT, multicast, reserved,
 * documentation, benchmarks.
 */
const ipv4 = [
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.1',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '100.127.255.254',
  '127.0.0.1',
  '127.0.0.2',
  '127.1.2.3',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '169.254.170.2',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '192.31.196.1',
  '192.52.193.1',
  '192.88.99.1',
  '192.168.0.1',
  '192.168.255.255',
  '192.175.48.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
];
const ipv6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '0000:0000:0000:0000:0000:0000:0000:0001',
  '::0001',
  '100::1',
  '64:ff9b:1::1',
  'fc00::1',
  'fd00:ec2::254',
  'fd12:3456:789a::1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
  '2001::1',
  '2001:2::1',
  '2001:3::1',
  '2001:4:112::1',
  '2001:10::1',
  '2001:20::1',
  '2001:30::1',
  '2001:db8::1',
  '2620:4f:8000::1',
  '3fff::1',
  '5f00::1',
  '4000::1',
  '8000::1',
  '::ffff:0:1.2.3.4',
];
const names = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'api.localhost',
  'localhost.localdomain',
  'printer.local',
  'metadata.google.internal',
  'METADATA.GOOGLE.INTERNAL',
  'metadata',
  'intranet',
  'db',
  'kubernetes.default.svc.cluster.local',
  'router.lan',
  'nas.home',
  'host.docker.internal',
  'gateway.home.arpa',
  'wiki.corp',
  'a.test',
  'a.invalid',
  'x.onion',
];

function spellings(address: string): string[] {
  const octets = address.split('.').map(Number) as [number, number, number, number];
  const [a, b, c, d] = octets;
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (value: number, width = 0): string => value.toString(16).padStart(width, '0');
  const octal = (value: number): string => `0${value.toString(8)}`;
  const pair = (one: number, two: number): string => hex(one * 256 + two);
  const wrapped = `${pair(a, b)}:${pair(c, d)}`;
  const wide = (text: string): string =>
    [...text].map((digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0)).join('');
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${hex(whole)}`,
    `0X${hex(whole, 8).toUpperCase()}`,
    octal(whole),
    `${whole}.`,
    octets.map((octet) => `0x${hex(octet)}`).join('.'),
    octets.map(octal).join('.'),
    octets.map((octet) => `000${octal(octet)}`).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${hex(a)}.${octal(b)}.${c}.${d}`,
    `${octal(a)}.0x${hex((b * 256 + c) * 256 + d)}`,
    wide(address),
    octets.map((octet) => wide(String(octet))).join('\u3002'),
    octets.join('\uff61'),
    [...address].map((part) => `%${hex(part.charCodeAt(0))}`).join(''),
    `%30x${hex(whole)}`,
    `[::ffff:${address}]`,
    `[::FFFF:${wrapped.toUpperCase()}]`,
    `[0:0:0:0:0:ffff:${wrapped}]`,
    `[::${address}]`,
    `[::${wrapped}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b::${wrapped}]`,
    `[64:ff9b:1::${wrapped}]`,
    `[2002:${wrapped}::]`,
    `[2002:${wrapped}::1]`,
    `[2001:0:1:2:3:4:${hex((~whole >>> 16) & 0xffff)}:${hex(~whole & 0xffff)}]`,
    `[2001:0:${wrapped}:0:0:0:1]`,
    `[2606:4700::5efe:${wrapped}]`,
    `[2606:4700:0:0:200:5efe:${wrapped}]`,
    `[fe80::5efe:${wrapped}]`,
  ];
}

const hosts = [
  ...ipv4.flatMap(spellings),
  ...ipv6.flatMap((address) => [`[${address}]`, `[${address.toUpperCase()}]`]),
  ...names,
];

/** Listeners that no request may reach. */
class Canaries {
  touched = 0;
  private readonly servers: Server[] = [];

  async listen(): Promise<number> {
    const first = await this.open('127.0.0.1', 0);
    for (const address of ['127.0.0.2', '127.1.2.3', '127.255.255.254', '::1']) await this.open(address, first);
    return first;
  }

  close(): void {
    for (const server of this.servers) server.close();
  }

  private async open(address: string, port: number): Promise<number> {
    const server = createServer((socket) => {
      this.touched++;
      socket.destroy();
    });
    server.listen(port, address);
    await once(server, 'listening');
    this.servers.push(server);
    return (server.address() as AddressInfo).port;
  }
}

describe('calls to addresses that are not public', () => {
  const strict = new EndpointUrlPolicy({ allowPrivate: false, ownHosts: [] });
  const anything = new EndpointUrlPolicy({ allowPrivate: true, ownHosts: [] });
  const canaries = new Canaries();
  let port = 0;
  let urls: string[] = [];

  beforeAll(async () => {
    port = await canaries.listen();
    urls = hosts.flatMap((host) => [
      `https://${host}:${port}/`,
      `HTTPS://${host}/a?b=c`,
      `http://${host}:${port}/x`,
      `https://${host}:8443`,
    ]);
  });
  afterAll(() => canaries.close());

  function clientWith(
    lookup: (name: string) => Promise<string[]>,
    connectTimeoutMs = 300,
  ): { client: SellerClient; connections: SellerConnections } {
    const connections = new SellerConnections({ allowPrivate: false, lookup, connectTimeoutMs });
    return { client: new SellerClient(connections, anything), connections };
  }
  const call = (client: SellerClient, url: string): ReturnType<SellerClient['call']> =>
    client.call({ listingId: 'a', url, rawBody: '{}', headers: {}, timeoutMs: 2_000, maxResponseBytes: 1_000 });

  it('refuses every spelling when it is registered', () => {
    expect(urls.length).toBeGreaterThan(4_000);
    expect(urls.filter((url) => strict.check(url).ok)).toEqual([]);
  });

  it('refuses every spelling when it is dialled, even past a policy that let it through', async () => {
    const { client, connections } = clientWith(() => Promise.resolve(['127.0.0.1']));
    const reached = [];
    for (const url of urls) {
      const outcome = await call(client, url);
      if (outcome.kind !== 'failed' || outcome.reason !== 'forbidden_address') reached.push({ url, outcome });
    }
    expect(reached).toEqual([]);
    expect(connections.size).toBe(0);
    expect(canaries.touched).toBe(0);
  }, 20_000);

  it('refuses literals without asking DNS', async () => {
    const asked: string[] = [];
    const { client } = clientWith((name) => (asked.push(name), Promise.resolve(['127.0.0.1'])));
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:7f00:1]']) {
      expect(await call(client, `http://${host}:${port}/`)).toMatchObject({ reason: 'forbidden_address' });
    }
    expect(asked).toEqual([]);
    expect(canaries.touched).toBe(0);
  });

  it.each<[string, string[]]>([
    ['a private answer', ['127.0.0.1']],
    ['a private answer among public ones', ['93.184.215.14', '93.184.215.15', '127.0.0.1']],
    ['a private IPv6 answer beside a public IPv4 one', ['93.184.215.14', '::1']],
    ['a mapped answer', ['::ffff:127.0.0.1']],
    ['a public address mapped', ['::ffff:93.184.215.14']],
    ['an answer with a zone', ['fe80::1%lo']],
    ['an answer that is a name', ['localhost']],
    ['an answer in decimal', ['2130706433']],
    ['no answer', []],
    ['more than 64 answers', Array.from({ length: 65 }, (_, index) => `93.184.215.${index}`)],
  ])('dials nothing for a name with %s', async (_name, addresses) => {
    const { client, connections } = clientWith(() => Promise.resolve(addresses));
    expect(await call(client, `http://seller.example.com:${port}/`)).toMatchObject({
      kind: 'failed',
      reason: 'forbidden_address',
      statusCode: 502,
    });
    expect(connections.size).toBe(0);
    expect(canaries.touched).toBe(0);
  });

  it('resolves once per connection and never dials the second answer of a name that changes', async () => {
    let queries = 0;
    // No registry ever assigned this prefix, so a connection to it leads nowhere.
    const { client } = clientWith(() => Promise.resolve([queries++ % 2 === 0 ? '3ffe:ffff::1' : '127.0.0.1']), 20);
    const reasons: string[] = [];
    for (let attempt = 0; attempt < countOf('rebinding'); attempt++) {
      const outcome = await call(client, `http://rebind.example.com:${port}/`);
      reasons.push(outcome.kind === 'failed' ? outcome.reason : outcome.kind);
    }
    expect(reasons).toEqual(reasons.map((_, attempt) => (attempt % 2 === 0 ? 'unreachable' : 'forbidden_address')));
    expect(queries).toBe(countOf('rebinding'));
    expect(canaries.touched).toBe(0);
  });

  it('calls a name that does not resolve unreachable', async () => {
    const { client } = clientWith(() => Promise.reject(new Error('ENOTFOUND')));
    expect(await call(client, 'https://nowhere.example.com/')).toMatchObject({
      reason: 'unreachable',
      statusCode: 502,
    });
  });
});

describe('isPublicAddress', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '100.63.255.255',
    '100.128.0.1',
    '172.32.0.1',
    '192.0.1.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450:4001::200e',
  ])('admits %s', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([...ipv4, ...ipv6, '', 'localhost', '1.1.1', '0x01010101', '1.1.1.1 ', '2606:4700::1111%eth0'])(
    'refuses "%s"',
    (address) => {
      expect(isPublicAddress(address)).toBe(false);
    },
  );
});
