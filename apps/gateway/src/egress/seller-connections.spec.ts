import { UnavailableError } from '@market/kernel';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { SellerClient } from './seller-client.js';
import { SellerConnections, type SellerConnectionsOptions } from './seller-connections.js';
import type { SellerReply } from './seller-outcome.js';

/** A self-signed certificate for seller.example.com, valid until 2126. */
const certificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgzevN9LiXeuJdyuer
tOP8bmacd0bMX7sPJ9y1JFaHzD2hRANCAARi+X238tWmhB2ZNwPdOEfbIpDXCpU1
iOwOzI/lV1dnJDGkeHrkQDSvMoYfQCQU5omzNBVuJPnd9i80BZRlYYJV
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBrzCCAVagAwIBAgIUE6y1+3fgwe/fsi/KVHsLpTdh0VowCgYIKoZIzj0EAwIw
HTEbMBkGA1UEAwwSc2VsbGVyLmV4YW1wbGUuY29tMCAXDTI2MTEyMTAyNTMxNloY
DzIxMjYxMDI4MDI1MzE2WjAdMRswGQYDVQQDDBJzZWxsZXIuZXhhbXBsZS5jb20w
WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARi+X238tWmhB2ZNwPdOEfbIpDXCpU1
iOwOzI/lV1dnJDGkeHrkQDSvMoYfQCQU5omzNBVuJPnd9i80BZRlYYJVo3IwcDAd
BgNVHQ4EFgQUBEuxdxUqDwPkEX5ZOvtVQ2+A37MwHwYDVR0jBBgwFoAUBEuxdxUq
DwPkEX5ZOvtVQ2+A37MwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHREEFjAUghJzZWxs
ZXIuZXhhbXBsZS5jb20wCgYIKoZIzj0EAwIDRwAwRAIgJQ/lUdG5UKhaSdpBmU8l
MUBE7Nve5jxrVMMFbWQkXDsCIBYf4zUvx3jabyHjnoN/ZO/ib0X0vQqdbIj35/D0
11AZ
-----END CERTIFICATE-----`,
};

const running: (Server | SellerConnections)[] = [];
afterEach(() => running.splice(0).forEach((one) => void one.close()));

async function listen(server: Server, address = '127.0.0.1'): Promise<number> {
  server.listen(0, address);
  await once(server, 'listening');
  running.push(server);
  return (server.address() as AddressInfo).port;
}

function clientWith(options: Partial<SellerConnectionsOptions> = {}): {
  connections: SellerConnections;
  call: (url: string, timeoutMs?: number, options?: { listingId: string }) => Promise<SellerReply>;
} {
  const connections = new SellerConnections({ allowPrivate: true, ...options });
  running.push(connections);
  const client = new SellerClient(connections, new EndpointUrlPolicy({ allowPrivate: true, ownHosts: [] }));
  const call = (url: string, timeoutMs = 2_000, { listingId } = { listingId: 'a listing' }): Promise<SellerReply> =>
    client.call({ listingId, url, rawBody: '{}', headers: {}, timeoutMs, maxResponseBytes: 1_000 });
  return { connections, call };
}

/** Starts a seller whose answers the test sends later. */
async function patientSeller(): Promise<{
  url: string;
  pending: ServerResponse[];
  arrived: () => Promise<unknown>;
  sockets: Set<Socket>;
}> {
  const pending: ServerResponse[] = [];
  const sockets = new Set<Socket>();
  const server = createHttpServer((_request: IncomingMessage, response) => void pending.push(response));
  server.on('connection', (socket) => sockets.add(socket));
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}/`, pending, arrived: () => once(server, 'request'), sockets };
}

describe('SellerConnections, connecting', () => {
  it('dials the address that was resolved and keeps the name in the request', async () => {
    const hosts: (string | undefined)[] = [];
    const port = await listen(
      createHttpServer((request, response) => (hosts.push(request.headers.host), response.end('{}'))),
      '127.0.0.2',
    );
    const asked: string[] = [];
    const { call } = clientWith({ lookup: (name) => (asked.push(name), Promise.resolve(['127.0.0.2'])) });
    expect(await call(`http://seller.example.com:${port}/`)).toMatchObject({ kind: 'answered' });
    expect(await call(`http://seller.example.com:${port}/`)).toMatchObject({ kind: 'answered' });
    expect(hosts).toEqual([`seller.example.com:${port}`, `seller.example.com:${port}`]);
    expect(asked).toEqual(['seller.example.com']);
  });

  it('tries the next address when one refuses', async () => {
    const port = await listen(createHttpServer((_request, response) => void response.end('{}')));
    const { call } = clientWith({ lookup: () => Promise.resolve(['::1', '127.0.0.3', '127.0.0.1']) });
    expect(await call(`http://seller.example.com:${port}/`)).toMatchObject({ kind: 'answered' });
  });

  it('gives up on a connection that is not made in time', async () => {
    const port = await listen(createTcpServer());
    const { connections, call } = clientWith({ connectTimeoutMs: 100 });
    const outcome = await call(`https://127.0.0.1:${port}/`, 5_000);
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'unreachable', statusCode: 502, contact: 'none' });
    expect(outcome.latencyMs).toBeLessThan(4_000);
    expect(connections.size).toBe(0);
  });

  it('closes a connection still being made when the call’s own time is up', async () => {
    const server = createTcpServer();
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const { connections, call } = clientWith({ connectTimeoutMs: 60_000 });
    const outcome = call(`https://127.0.0.1:${await listen(server)}/`, 200);
    const [socket] = await accepted;
    const closed = new Promise((resolve) =>
      socket
        .on('error', () => undefined)
        .resume()
        .once('close', resolve),
    );
    expect(await outcome).toMatchObject({ reason: 'timeout', statusCode: 504, contact: 'none' });
    await closed;
    expect(connections.size).toBe(0);
  });

  it('blames no seller for a lack of sockets of its own', async () => {
    const { connections, call } = clientWith({
      lookup: () => Promise.reject(Object.assign(new Error('too many open files'), { code: 'EMFILE' })),
    });
    await expect(call('https://seller.example.com/')).rejects.toThrow(UnavailableError);
    expect(connections.size).toBe(0);
  });

  it('does not wait for a name server longer than the call may last', async () => {
    const { connections, call } = clientWith({ lookup: () => new Promise(() => undefined), connectTimeoutMs: 60_000 });
    expect(await call('https://seller.example.com/', 100)).toMatchObject({ reason: 'timeout' });
    expect(connections.size).toBe(0);
  });
});

describe('SellerConnections, TLS', () => {
  const lookup = (): Promise<string[]> => Promise.resolve(['127.0.0.1']);

  async function tlsSeller(): Promise<{ port: number; names: (string | false | null)[] }> {
    const names: (string | false | null)[] = [];
    const server = createTlsServer(certificate, (socket) => {
      names.push(socket.servername);
      socket
        .on('error', () => undefined)
        .once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}'));
    });
    server.on('tlsClientError', () => undefined);
    return { port: await listen(server), names };
  }

  it('names the host to the seller and checks its certificate against it', async () => {
    const { port, names } = await tlsSeller();
    const { call } = clientWith({ lookup, ca: certificate.cert });
    expect(await call(`https://seller.example.com:${port}/`)).toMatchObject({ kind: 'answered', json: '{}' });
    expect(names).toEqual(['seller.example.com']);
    expect(await call(`https://other.example.com:${port}/`)).toMatchObject({ kind: 'failed', reason: 'unreachable' });
    expect(await call(`https://127.0.0.1:${port}/`)).toMatchObject({ kind: 'failed', reason: 'unreachable' });
  });

  it('refuses a certificate that nobody vouches for', async () => {
    const { port } = await tlsSeller();
    const { call } = clientWith({ lookup });
    expect(await call(`https://seller.example.com:${port}/`)).toMatchObject({ kind: 'failed', reason: 'unreachable' });
  });

  it('calls a seller that speaks plain HTTP where TLS is due unreachable', async () => {
    const port = await listen(createHttpServer((_request, response) => void response.end('{}')));
    const { call } = clientWith();
    expect(await call(`https://127.0.0.1:${port}/`)).toMatchObject({ kind: 'failed', reason: 'unreachable' });
  });
});

describe('SellerConnections, keeping connections', () => {
  it('carries one exchange on each, and uses them again for their own listing alone', async () => {
    const { url, pending, arrived, sockets } = await patientSeller();
    const { connections, call } = clientWith();
    const answerAll = async (calls: Promise<SellerReply>[]): Promise<void> => {
      while (pending.length < calls.length) await arrived();
      pending.splice(0).forEach((response) => void response.end('{}'));
      expect((await Promise.all(calls)).map(({ kind }) => kind)).toEqual(calls.map(() => 'answered'));
    };
    await answerAll([call(url), call(url), call(url)]);
    await answerAll([call(url), call(url)]);
    expect([sockets.size, connections.size]).toEqual([3, 3]);
    await answerAll([call(url, 2_000, { listingId: 'another' })]);
    expect([sockets.size, connections.size]).toEqual([4, 4]);
  });

  it('lets listings that hang hold up no other one, not even at their own origin', async () => {
    const server = createHttpServer((request, response) => (request.url === '/hangs' ? undefined : response.end('{}')));
    const origin = `http://127.0.0.1:${await listen(server)}`;
    const { call } = clientWith();
    const stuck = ['first', 'second'].flatMap((listingId) =>
      Array.from({ length: 70 }, () => call(`${origin}/hangs`, 2_500, { listingId })),
    );
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => call(`${origin}/`, 2_000, { listingId: 'healthy' })),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(outcomes.map(() => 'answered'));
    expect((await Promise.all(stuck)).map((outcome) => outcome.kind === 'failed' && outcome.reason)).toEqual(
      stuck.map(() => 'timeout'),
    );
  });

  it('calls on a new connection when the seller has closed the idle one', async () => {
    const sockets: Socket[] = [];
    const server = createHttpServer((request, response) => (sockets.push(request.socket), response.end('{}')));
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const { call } = clientWith();
    for (let round = 0; round < 20; round++) {
      expect(await call(url)).toMatchObject({ kind: 'answered' });
      const closed = once(sockets[round]!, 'close');
      server.closeIdleConnections();
      await closed;
    }
    expect(new Set(sockets).size).toBe(20);
  });

  /** Answers the first request on each connection, and ends the connection with these bytes at the second. */
  async function forgetfulSeller(last: string, first = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}') {
    const seen: number[] = [];
    const server = createTcpServer((socket) => {
      let requests = 0;
      socket
        .on('error', () => undefined)
        .on('data', () => {
          requests += 1;
          seen.push(requests);
          if (requests === 1 && first !== '') socket.write(first);
          else socket.end(last, () => socket.destroy());
        });
    });
    return { url: `http://127.0.0.1:${await listen(server)}/`, seen };
  }

  it('sends a request once more, on a new connection, if a kept one is closed without a byte of an answer', async () => {
    const { url, seen } = await forgetfulSeller('');
    const { call, connections } = clientWith();
    for (let n = 0; n < 4; n += 1) expect(await call(url)).toMatchObject({ kind: 'answered', statusCode: 200 });
    expect(seen).toEqual([1, 2, 1, 2, 1, 2, 1]);
    expect(connections.size).toBe(1);
  });

  it.each([
    ['an answer had begun', 'HTTP/1.1 2', undefined, 'protocol_error', [1, 2]],
    ['the connection was new', '', '', 'unreachable', [1]],
  ] as const)('sends no request again if %s', async (_name, last, first, reason, expected) => {
    const { url, seen } = await forgetfulSeller(last, first);
    const { call } = clientWith();
    if (first !== '') expect(await call(url)).toMatchObject({ kind: 'answered' });
    expect(await call(url)).toMatchObject({ kind: 'failed', reason });
    expect(seen).toEqual(expected);
  });

  it('fails what is under way and what comes later once it is closed', async () => {
    const { url, arrived } = await patientSeller();
    const { connections, call } = clientWith();
    const request = arrived();
    const calls = [call(url)];
    await request;
    connections.close();
    calls.push(call(url));
    expect((await Promise.all(calls)).map((outcome) => outcome.kind === 'failed' && outcome.reason)).toEqual([
      'unreachable',
      'unreachable',
    ]);
    expect(connections.size).toBe(0);
  });
});
