import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { dnsLookup, systemLookup } from './seller-lookup.js';

const recordTypes = { A: 1, AAAA: 28 } as const;
type Zone = (name: string, type: number) => Buffer[] | 'silence';

/** Starts a name server with the given records and a TTL of 0. */
async function nameServer(zone: Zone): Promise<{ address: string; close: () => void }> {
  const server: Socket = createSocket('udp4');
  server.on('message', (query, client) => {
    let at = 12;
    const labels: string[] = [];
    while (query[at] !== 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
      at += 1 + query[at]!;
    }
    const type = query.readUInt16BE(at + 1);
    const answers = zone(labels.join('.'), type);
    if (answers === 'silence') return;
    const header = Buffer.from([query[0]!, query[1]!, 0x81, 0x80, 0, 1, 0, answers.length, 0, 0, 0, 0]);
    const records = answers.map((data) =>
      Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data]),
    );
    server.send(Buffer.concat([header, query.subarray(12, at + 5), ...records]), client.port, client.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  return { address: `127.0.0.1:${server.address().port}`, close: () => server.close() };
}

describe('dnsLookup', () => {
  it('gives every address of both families', async () => {
    const loopback6 = Buffer.from('00000000000000000000000000000001', 'hex');
    const server = await nameServer((_name, type) =>
      type === recordTypes.AAAA ? [loopback6] : [Buffer.from([93, 184, 215, 14]), Buffer.from([10, 0, 0, 1])],
    );
    expect(await dnsLookup({ servers: [server.address] })('seller.example.com')).toEqual([
      '93.184.215.14',
      '10.0.0.1',
      '::1',
    ]);
    server.close();
  });

  it('is content with one family', async () => {
    const server = await nameServer((_name, type) => (type === recordTypes.A ? [Buffer.from([93, 184, 215, 14])] : []));
    expect(await dnsLookup({ servers: [server.address] })('seller.example.com')).toEqual(['93.184.215.14']);
    server.close();
  });

  it('asks anew each time', async () => {
    let queries = 0;
    const server = await nameServer((_name, type) =>
      type === recordTypes.A ? [Buffer.from([93, 184, 215, queries++])] : [],
    );
    const lookup = dnsLookup({ servers: [server.address] });
    expect([await lookup('a.example.com'), await lookup('a.example.com')]).toEqual([
      ['93.184.215.0'],
      ['93.184.215.1'],
    ]);
    server.close();
  });

  it('gives up on a name server that does not answer', async () => {
    const server = await nameServer(() => 'silence');
    const started = performance.now();
    await expect(
      dnsLookup({ servers: [server.address], timeoutMs: 100, tries: 1 })('seller.example.com'),
    ).rejects.toThrow();
    expect(performance.now() - started).toBeLessThan(4_000);
    server.close();
  });

  it('rejects for a name without an address', async () => {
    const server = await nameServer(() => []);
    await expect(dnsLookup({ servers: [server.address] })('seller.example.com')).rejects.toThrow();
    server.close();
  });
});

describe('systemLookup', () => {
  it('knows local names', async () => {
    const addresses = await systemLookup('localhost');
    expect(addresses.every((address) => ['127.0.0.1', '::1'].includes(address))).toBe(true);
    expect(addresses.length).toBeGreaterThan(0);
  });
});
