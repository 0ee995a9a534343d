import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { SellerConnections } from './seller-connections.js';
import { newSigningSecret } from './signing-secret.js';
import { WebhookSender, type WebhookOutcome } from './webhook-sender.js';

describe('WebhookSender', () => {
  let server: Server;
  let port: number;
  let answer: (socket: Socket) => void;
  const requests: string[] = [];
  const sockets: Socket[] = [];

  beforeAll(async () => {
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', (request) => {
        requests.push(request.toString());
        answer(socket);
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  beforeEach(() => void requests.splice(0));
  afterAll(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  });

  const send = async (
    url = `http://127.0.0.1:${port}/hook?a=1`,
    { allowPrivate = true, signal = new AbortController().signal, addresses = ['127.0.0.1'] } = {},
  ): Promise<Omit<WebhookOutcome, 'latencyMs'>> => {
    const connections = new SellerConnections({ allowPrivate, lookup: async () => addresses });
    const policy = new EndpointUrlPolicy({ allowPrivate, ownHosts: [] });
    const { latencyMs, ...outcome } = await new WebhookSender(connections, policy).send(
      { webhookId: 'w', url, secrets: [newSigningSecret()], messageId: 'evt_1', rawBody: '{"id":"1"}' },
      signal,
    );
    expect(latencyMs).toBeGreaterThanOrEqual(0);
    // No connection outlives its event.
    expect(connections.size).toBe(0);
    return outcome;
  };

  it('sends the body to path and query, and reads no more than the head of the answer', async () => {
    // The body never ends.
    answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n<html>');
    expect(await send()).toEqual({ statusCode: 200, failure: null });
    expect(requests[0]).toMatch(/^POST \/hook\?a=1 HTTP\/1\.1\r\n/);
    expect(requests[0]).toMatch(/\r\nwebhook-signature: v1,\S{44}\r\n[^]*\r\n\r\n\{"id":"1"\}$/);
  });

  it.each([
    ['HTTP/1.1 204 No Content\r\n\r\n', { statusCode: 204, failure: null }],
    ['HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n', { statusCode: 202, failure: null }],
    [
      'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
      { statusCode: 302, failure: 'bad_status' },
    ],
    ['HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n', { statusCode: 404, failure: 'bad_status' }],
    ['SSH-2.0-OpenSSH_9.6\r\n', { statusCode: null, failure: 'unreachable' }],
  ])('understands %j', async (text, outcome) => {
    answer = (socket) => void socket.end(text);
    expect(await send()).toEqual(outcome);
    expect(requests).toHaveLength(1);
  });

  it('gives up when it is told to, before and during the exchange', async () => {
    answer = () => undefined;
    expect(await send(undefined, { signal: AbortSignal.timeout(100) })).toEqual({
      statusCode: null,
      failure: 'timeout',
    });
    expect(requests).toHaveLength(1);
    expect(await send(undefined, { signal: AbortSignal.abort() })).toEqual({ statusCode: null, failure: 'timeout' });
    expect(requests).toHaveLength(1);
  });

  it.each([
    ['a private address', 'https://10.0.0.1/', undefined],
    ['an address without encryption', 'http://hooks.example.com/', undefined],
    ['a name that is given a private address once it is dialled', 'https://hooks.example.com/', ['127.0.0.1']],
    ['a name with a private address beside a public one', 'https://hooks.example.com/', ['93.184.216.34', '10.0.0.1']],
  ])('does not call %s', async (_what, url, addresses) => {
    expect(await send(url, { allowPrivate: false, addresses })).toEqual({ statusCode: null, failure: 'unreachable' });
    expect(requests).toEqual([]);
  });
});
