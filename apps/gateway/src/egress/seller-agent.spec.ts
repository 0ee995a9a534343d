import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { SellerAgent, type SellerAgentOptions } from './seller-agent.js';
import { SellerClient } from './seller-client.js';
import type { SellerOutcome } from './seller-outcome.js';

/** Self-signed for seller.example.com alone, valid until 2126. */
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

const running: (Server | SellerAgent)[] = [];
afterEach(() => running.splice(0).forEach((one) => void one.close()));

async function listen(server: Server, address = '127.0.0.1'): Promise<number> {
  server.listen(0, address);
  await once(server, 'listening');
  running.push(server);
  return (server.address() as AddressInfo).port;
}

function clientWith(options: Partial<SellerAgentOptions> = {}): { agent: SellerAgent; call: (url: string, timeoutMs?: number, signal?: AbortSignal) => Promise<SellerOutcome> } {
  const agent = new SellerAgent({ allowPrivate: true, ...options });
  running.push(agent);
  const client = new SellerClient(agent, new EndpointUrlPolicy({ allowPrivate: true, ownHosts: [] }));
  const call = (url: string, timeoutMs = 2_000, signal?: AbortSignal): Promise<SellerOutcome> =>
    client.call({ url, rawBody: '{}', headers: {}, timeoutMs, maxResponseBytes: 1_000, signal });
  return { agent, call };
}

/** A seller whose answers are given by the test, in its own time. */
async function patientSeller(): Promise<{ url: string; pending: ServerResponse[]; arrived: () => Promise<unknown>; sockets: Set<Socket> }> {
  const pending: ServerResponse[] = [];
  const sockets = new Set<Socket>();
  const server = createHttpServer((_request: IncomingMessage, response) => void pending.push(response));
  server.on('connection', (socket) => sockets.add(socket));
  const port = await listen(server);
  return { url: `http://127.0.0.1:${port}/`, pending, arrived: () => once(server, 'request'), sockets };
}

describe('SellerAgent, connecting', () => {
  it('dials the address that was resolved and keeps the name in the request', async () => {
    const hosts: (string | undefined)[] = [];
    const port = await listen(createHttpServer((request, response) => (hosts.push(request.headers.host), response.end('{}'))), '127.0.0.2');
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
    const { agent, call } = clientWith({ connectTimeoutMs: 100 });
    const outcome = await call(`https://127.0.0.1:${port}/`, 5_000);
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'unreachable', statusCode: 502 });
    expect(outcome.latencyMs).toBeLessThan(1_100);
    expect(agent.openConnections).toBe(0);
  });

  it('closes a connection still being made when the call’s own time is up', async () => {
    const server = createTcpServer();
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const { agent, call } = clientWith({ connectTimeoutMs: 60_000 });
    const outcome = call(`https://127.0.0.1:${await listen(server)}/`, 200);
    const [socket] = await accepted;
    const closed = new Promise((resolve) => socket.on('error', () => undefined).resume().once('close', resolve));
    expect(await outcome).toMatchObject({ reason: 'timeout', statusCode: 504 });
    await closed;
    expect(agent.openConnections).toBe(0);
  });

  it('does not wait for a name server longer than the call may last', async () => {
    const { agent, call } = clientWith({ lookup: () => new Promise(() => undefined), connectTimeoutMs: 60_000 });
    expect(await call('https://seller.example.com/', 100)).toMatchObject({ reason: 'timeout' });
    expect(agent.openConnections).toBe(0);
  });
});

describe('SellerAgent, TLS', () => {
  const lookup = (): Promise<string[]> => Promise.resolve(['127.0.0.1']);

  async function tlsSeller(): Promise<{ port: number; names: (string | false | null)[] }> {
    const names: (string | false | null)[] = [];
    const server = createTlsServer(certificate, (socket) => {
      names.push(socket.servername);
      socket.on('error', () => undefined).once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}'));
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

describe('SellerAgent, sharing connections', () => {
  it('opens no more than its maximum to one origin, and serves the rest in order of arrival', async () => {
    const { url, pending, arrived, sockets } = await patientSeller();
    const { agent, call } = clientWith({ maxConnectionsPerOrigin: 2 });
    const order: number[] = [];
    const calls = [0, 1, 2, 3, 4].map((index) => call(url).then(() => order.push(index)));
    for (let answered = 0; answered < 5; answered++) {
      if (pending.length <= answered) await arrived();
      expect(agent.openConnections).toBeLessThanOrEqual(2);
      pending[answered]!.end('{}');
      if (answered < 4 && pending.length <= answered + 1) await arrived();
    }
    await Promise.all(calls);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(sockets.size).toBe(2);
  });

  it('never sends a call that was given up while it waited', async () => {
    const { url, pending, arrived } = await patientSeller();
    const { call } = clientWith({ maxConnectionsPerOrigin: 1 });
    const request = arrived();
    const first = call(url);
    await request;
    expect(await call(url, 100)).toMatchObject({ reason: 'timeout' });
    const leaving = new AbortController();
    const left = call(url, 2_000, leaving.signal);
    leaving.abort();
    expect(await left).toMatchObject({ reason: 'timeout' });
    pending[0]!.end('{}');
    await first;
    const last = call(url);
    await arrived();
    expect(pending).toHaveLength(2);
    pending[1]!.end('{}');
    expect(await last).toMatchObject({ kind: 'answered' });
  });

  it('passes a place on when the connection before it is lost', async () => {
    const { url, pending, arrived } = await patientSeller();
    const { call } = clientWith({ maxConnectionsPerOrigin: 1 });
    const request = arrived();
    const [first, second] = [call(url), call(url)];
    await request;
    pending[0]!.destroy();
    expect(await first).toMatchObject({ reason: 'unreachable' });
    await arrived();
    pending[1]!.end('{}');
    expect(await second).toMatchObject({ kind: 'answered' });
  });

  it('lets a seller that hangs hold up nobody else', async () => {
    const [hung, good] = [await patientSeller(), await listen(createHttpServer((_request, response) => void response.end('{}')))];
    const { call } = clientWith({ maxConnectionsPerOrigin: 4 });
    const stuck = Array.from({ length: 50 }, () => call(hung.url, 600));
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => call(`http://127.0.0.1:${good}/`)));
    expect(outcomes.every(({ kind, latencyMs }) => kind === 'answered' && latencyMs < 500)).toBe(true);
    expect((await Promise.all(stuck)).map((outcome) => outcome.kind === 'failed' && outcome.reason)).toEqual(stuck.map(() => 'timeout'));
    expect(hung.sockets.size).toBeLessThanOrEqual(8);
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

  it('fails what is under way, what waits and what comes later once it is closed', async () => {
    const { url, arrived } = await patientSeller();
    const { agent, call } = clientWith({ maxConnectionsPerOrigin: 1 });
    const request = arrived();
    const calls = [call(url), call(url)];
    await request;
    agent.close();
    calls.push(call(url));
    expect((await Promise.all(calls)).map((outcome) => outcome.kind === 'failed' && outcome.reason)).toEqual(['unreachable', 'unreachable', 'unreachable']);
    expect(agent.openConnections).toBe(0);
  });
});
