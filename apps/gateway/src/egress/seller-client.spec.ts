import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { EndpointUrlPolicy } from './endpoint-url.policy.js';
import { SellerClient, type SellerRequest } from './seller-client.js';
import { SellerConnections } from './seller-connections.js';
import type { SellerReply } from './seller-outcome.js';

type Behaviour = (socket: Socket, request: Buffer) => void;

const sellers: RawSeller[] = [];

/** A seller that writes raw bytes. Its behaviour is called once per connection, with the whole first request. */
class RawSeller {
  readonly sockets: Socket[] = [];
  readonly requests: Buffer[] = [];
  private readonly server: Server;

  constructor(behaviour: Behaviour) {
    sellers.push(this);
    this.server = createServer((socket) => {
      this.sockets.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', (request) => {
        this.requests.push(request);
        behaviour(socket, request);
      });
    });
  }

  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/call`;
  }

  /** Resolves when the caller has closed all its connections. */
  async allClosed(): Promise<void> {
    await Promise.all(
      this.sockets
        .filter(({ closed }) => !closed)
        .map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    );
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

const say =
  (text: string | Buffer): Behaviour =>
  (socket) =>
    void socket.write(text);
const sayAndClose =
  (text: string | Buffer): Behaviour =>
  (socket) =>
    void socket.end(text);
const json = (body: string | Buffer, status = '200 OK', headers = ''): Buffer => {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${bytes.length}\r\n\r\n`,
    ),
    bytes,
  ]);
};
const chunked = (chunks: string): string => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`;
const repeatedly =
  (first: string, next: string, everyMs: number): Behaviour =>
  (socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(next), everyMs);
    socket.once('close', () => clearInterval(timer));
  };
/** Writes as fast as the caller reads. */
const flood =
  (first: string, next: string): Behaviour =>
  (socket) => {
    socket.write(first);
    const pour = (): void => {
      while (!socket.destroyed && socket.write(next));
    };
    socket.on('drain', pour);
    pour();
  };

const connections = new SellerConnections({ allowPrivate: true });
const client = new SellerClient(connections, new EndpointUrlPolicy({ allowPrivate: true, ownHosts: [] }));

async function callTo(
  behaviour: Behaviour,
  options: Partial<SellerRequest> = {},
): Promise<{ outcome: SellerReply; seller: RawSeller }> {
  const seller = new RawSeller(behaviour);
  const url = await seller.listen();
  const outcome = await client.call({
    listingId: 'a listing',
    url,
    rawBody: '{"a":1}',
    headers: {},
    timeoutMs: 4_000,
    maxResponseBytes: 10_000,
    ...options,
  });
  return { outcome, seller };
}

afterEach(() => sellers.splice(0).forEach((seller) => seller.close()));
afterAll(() => connections.close());

describe('SellerClient, answers', () => {
  it.each<[string, string | Buffer, number, string]>([
    ['an object', json('{"ok":true}'), 200, '{"ok":true}'],
    ['white space and odd spellings', json(' {"b" :1.0e0,"a":\t[ ]}\n'), 200, ' {"b" :1.0e0,"a":\t[ ]}\n'],
    [
      'numbers beyond a double',
      json('{"n":123456789012345678901234567890.000,"m":1e400}'),
      200,
      '{"n":123456789012345678901234567890.000,"m":1e400}',
    ],
    [
      'repeated and dangerous keys',
      json('{"a":1,"a":2,"__proto__":{"x":1}}'),
      200,
      '{"a":1,"a":2,"__proto__":{"x":1}}',
    ],
    ['escaped NUL and half a pair', json('["\\u0000","\\ud800"]'), 200, '["\\u0000","\\ud800"]'],
    ['every plane of Unicode', json('"é😀\u2028"'), 200, '"é😀\u2028"'],
    ['a scalar', json('null', '201 Created'), 201, 'null'],
    ['identity encoding', json('{}', '200 OK', 'Content-Encoding: Identity\r\n'), 200, '{}'],
    ['text/plain', 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}', 200, '{}'],
    [
      'chunks of one byte',
      chunked(`${[...'{"a":[1,2]}'].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`),
      200,
      '{"a":[1,2]}',
    ],
    ['an early hint before', `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${json('{}').toString()}`, 200, '{}'],
    ['exactly the size cap', json(`"${'x'.repeat(9_998)}"`), 200, `"${'x'.repeat(9_998)}"`],
    ['exactly the depth cap', json('['.repeat(64) + ']'.repeat(64)), 200, '['.repeat(64) + ']'.repeat(64)],
  ])('relays %s byte for byte', async (_name, bytes, statusCode, text) => {
    const { outcome } = await callTo(say(bytes));
    expect(outcome).toEqual({ kind: 'answered', statusCode, json: text, latencyMs: expect.any(Number) });
  });

  it('relays an answer that ends with its connection', async () => {
    const { outcome, seller } = await callTo(sayAndClose('HTTP/1.0 200 OK\r\n\r\n{"old":true}'));
    expect(outcome).toMatchObject({ kind: 'answered', json: '{"old":true}' });
    await seller.allClosed();
  });

  it('sends the raw body and the given headers, with nothing of its own but framing', async () => {
    const { seller } = await callTo(say(json('{}')), {
      rawBody: Buffer.from('{"é": 1.0}'),
      headers: { 'X-One': '1', Authorization: 'Bearer seller' },
    });
    const [head, body] = seller.requests[0]!.toString().split('\r\n\r\n');
    const [line, ...headers] = head!.split('\r\n');
    expect(line).toBe('POST /call HTTP/1.1');
    expect(headers.map((header) => header.toLowerCase()).sort()).toEqual([
      'authorization: bearer seller',
      'connection: keep-alive',
      'content-length: 11',
      expect.stringMatching(/^host: 127\.0\.0\.1:\d+$/),
      'x-one: 1',
    ]);
    expect(body).toBe('{"é": 1.0}');
  });

  it('reuses a connection after a good answer', async () => {
    const seller = new RawSeller((socket) => {
      socket.write(json('1'));
      socket.on('data', () => socket.write(json('2')));
    });
    const url = await seller.listen();
    const call = { listingId: 'a listing', url, rawBody: '{}', headers: {}, timeoutMs: 1_000, maxResponseBytes: 100 };
    expect(await client.call(call)).toMatchObject({ json: '1' });
    expect(await client.call(call)).toMatchObject({ json: '2' });
    expect(seller.sockets).toHaveLength(1);
  });

  it('never hands one call what a seller sent ahead of it', async () => {
    const seller = new RawSeller(say(Buffer.concat([json('"first"'), json('"smuggled"')])));
    const url = await seller.listen();
    const call = { listingId: 'a listing', url, rawBody: '{}', headers: {}, timeoutMs: 1_000, maxResponseBytes: 100 };
    expect(await client.call(call)).toMatchObject({ json: '"first"' });
    expect(await client.call(call)).toMatchObject({ json: '"first"' });
    expect(seller.sockets).toHaveLength(2);
  });
});

describe('SellerClient, failures', () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000, 0x20));
  type Failure = [string, Behaviour, string, number];

  /** Answers after which the connection cannot be reused. */
  const broken: Failure[] = [
    ['no answer at all', () => undefined, 'timeout', 504],
    ['headers that drip', repeatedly('HTTP/1.1 200 OK\r\n', 'X-A: b\r\n', 50), 'timeout', 504],
    ['a body that drips', repeatedly('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n', ' ', 50), 'timeout', 504],
    ['a body that stops', say('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{'), 'timeout', 504],
    ['chunk extensions without end', flood(chunked('1;'), 'x'.repeat(10_000)), 'timeout', 504],
    ['a trickle of 1xx', repeatedly('', 'HTTP/1.1 102 Processing\r\n\r\n', 100), 'timeout', 504],
    ['a flood of 1xx', flood('', 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(500)), 'protocol_error', 502],
    ['an unasked 100 Continue', say('HTTP/1.1 100 Continue\r\n\r\n'), 'protocol_error', 502],
    [
      'an unasked upgrade',
      say('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
      'protocol_error',
      502,
    ],
    ['headers without end', flood('HTTP/1.1 200 OK\r\n', `X-Long: ${'y'.repeat(1_000)}\r\n`), 'protocol_error', 502],
    ['one header without end', flood('HTTP/1.1 200 OK\r\nX-Long: ', 'y'.repeat(1_000)), 'protocol_error', 502],
    ['64 KB of headers', say(json('{}', '200 OK', `X-Big: ${'z'.repeat(65_536)}\r\n`)), 'protocol_error', 502],
    ['101 headers', say(json('{}', '200 OK', 'a: b\r\n'.repeat(99))), 'protocol_error', 502],
    ['a header name with a space', say(json('{}', '200 OK', 'Bad Name: 1\r\n')), 'protocol_error', 502],
    ['a control character in a header', say(json('{}', '200 OK', 'X: a\u0000b\r\n')), 'protocol_error', 502],
    ['an endless body', flood('HTTP/1.1 200 OK\r\n\r\n', 'x'.repeat(10_000)), 'too_large', 502],
    ['endless chunks', flood(chunked(''), `2710\r\n${'x'.repeat(10_000)}\r\n`), 'too_large', 502],
    ['a promise of 1 TB', say('HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n{'), 'too_large', 502],
    ['one byte over the cap', say(json(`"${'x'.repeat(9_999)}"`)), 'too_large', 502],
    ['a server error over the cap', say(json(`"${'x'.repeat(10_000)}"`, '500 Oops')), 'too_large', 500],
    ['a gzip bomb', say(json(bomb, '200 OK', 'Content-Encoding: gzip\r\n')), 'not_json', 502],
    ['a gzipped answer', say(json(gzipSync('{}'), '200 OK', 'Content-Encoding: gzip\r\n')), 'not_json', 502],
    ['a brotli answer', say(json(brotliCompressSync('{}'), '200 OK', 'Content-Encoding: br\r\n')), 'not_json', 502],
    [
      'a thousand encodings',
      say(json('{}', '200 OK', `Content-Encoding: ${'gzip,'.repeat(1_000)}gzip\r\n`)),
      'not_json',
      502,
    ],
    [
      'encodings in two headers',
      say(json('{}', '200 OK', 'Content-Encoding: identity\r\nContent-Encoding: gzip\r\n')),
      'not_json',
      502,
    ],
    [
      'a content length that cuts the body',
      say('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{"a":1}'),
      'not_json',
      502,
    ],
    [
      'a content length beyond the body',
      sayAndClose('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}'),
      'protocol_error',
      502,
    ],
    [
      'two content lengths',
      say('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'),
      'protocol_error',
      502,
    ],
    ['a negative content length', say('HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}'), 'protocol_error', 502],
    [
      'length and chunks at once',
      say('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'),
      'protocol_error',
      502,
    ],
    ['a chunk size that is no number', say(chunked('ZZ\r\n{}\r\n0\r\n\r\n')), 'protocol_error', 502],
    ['a chunk size beyond 64 bits', say(chunked(`${'F'.repeat(17)}\r\n{}\r\n`)), 'protocol_error', 502],
    ['a chunk longer than it says', say(chunked('1\r\n{}\r\n0\r\n\r\n')), 'protocol_error', 502],
    ['chunks without an end', sayAndClose(chunked('2\r\n{}\r\n')), 'protocol_error', 502],
    ['a close inside the headers', sayAndClose('HTTP/1.1 200 OK\r\nContent-Le'), 'protocol_error', 502],
    ['HTTP/0.9', sayAndClose('{"a":1}'), 'protocol_error', 502],
    ['HTTP/2', say(Buffer.from('000012040000000000', 'hex')), 'protocol_error', 502],
    ['a TLS alert', say(Buffer.from('15030100020228', 'hex')), 'protocol_error', 502],
    ['an SSH banner', say('SSH-2.0-OpenSSH_9.2\r\n'), 'protocol_error', 502],
    [
      'a reset in the body',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{', () => socket.resetAndDestroy()),
      'protocol_error',
      502,
    ],
    ['a close without a word', (socket) => void socket.end(), 'unreachable', 502],
    ['a reset without a word', (socket) => void socket.resetAndDestroy(), 'unreachable', 502],
  ];

  /** Complete answers that are not valid results; the connection can be reused. */
  const unfit: Failure[] = [
    ['a gzipped answer that does not say so', say(json(gzipSync('{}'))), 'not_json', 502],
    ['HTML', say(json('<!doctype html><title>Hi</title>')), 'not_json', 502],
    ['an HTML error page', say(json('<h1>Bad gateway</h1>', '500 Oops')), 'not_json', 500],
    ['an HTML refusal', say(json('<h1>No</h1>', '403 Forbidden')), 'seller_refused', 403],
    ['a refusal that is too deep', say(json('['.repeat(65) + ']'.repeat(65), '400 Bad')), 'seller_refused', 400],
    ['nothing', say(json('')), 'not_json', 502],
    ['204', say('HTTP/1.1 204 No Content\r\n\r\n'), 'not_json', 502],
    ['a byte order mark', say(json('\ufeff{}')), 'not_json', 502],
    ['NaN', say(json('{"a":NaN}')), 'not_json', 502],
    ['invalid UTF-8', say(json(Buffer.from([0x22, 0xff, 0x22]))), 'not_json', 502],
    ['two values', say(json('{}{}')), 'not_json', 502],
    ['a depth of 65', say(json('['.repeat(65) + ']'.repeat(65))), 'too_deep', 502],
    ['a depth of 5,000', say(json('['.repeat(5_000) + ']'.repeat(5_000))), 'too_deep', 502],
  ];

  it.each([...broken, ...unfit])('calls %s a failure, in time', async (_name, behaviour, reason, statusCode) => {
    const timeoutMs = reason === 'timeout' ? 400 : 4_000;
    const { outcome } = await callTo(behaviour, { timeoutMs });
    const contact =
      statusCode === 500 || ['timeout', 'unreachable', 'protocol_error'].includes(reason) ? 'broken' : 'answered';
    expect(outcome).toEqual({ kind: 'failed', reason, statusCode, contact, json: null, latencyMs: expect.any(Number) });
    expect(outcome.latencyMs).toBeLessThan(timeoutMs + 4_000);
  });

  it('closes every connection that carried a broken answer, and makes none in its place', async () => {
    const calls = await Promise.all(broken.map(([, behaviour]) => callTo(behaviour, { timeoutMs: 1_500 })));
    await Promise.all(calls.map(({ seller }) => seller.allClosed()));
    expect(calls.map(({ seller }) => seller.sockets.length)).toEqual(broken.map(() => 1));
  });

  it.each([301, 302, 303, 307, 308, 300, 304])('does not follow a %i', async (statusCode) => {
    const target = new RawSeller(say(json('{}')));
    const location = `Location: ${await target.listen()}\r\nRefresh: 0\r\n`;
    const { outcome } = await callTo(say(`HTTP/1.1 ${statusCode} Moved\r\n${location}Content-Length: 0\r\n\r\n`));
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'redirect', statusCode, contact: 'answered', json: null });
    expect(target.sockets).toHaveLength(0);
  });

  it.each([
    ['302 Found', 'redirect'],
    ['400 Bad', 'seller_refused'],
    ['429 Later', 'seller_refused'],
    ['499 No', 'seller_refused'],
    ['500 Oops', 'seller_error'],
    ['599 Oops', 'seller_error'],
  ])('relays what JSON came with %s, which is no delivery', async (status, reason) => {
    const { outcome } = await callTo(say(json('{"why": 1.0}', status, 'Location: file:///etc/passwd\r\n')));
    expect(outcome).toMatchObject({
      kind: 'failed',
      reason,
      statusCode: Number.parseInt(status),
      json: '{"why": 1.0}',
    });
  });

  it('calls a port where nobody listens unreachable', async () => {
    const seller = new RawSeller(() => undefined);
    const url = await seller.listen();
    seller.close();
    const outcome = await client.call({
      listingId: 'a listing',
      url,
      rawBody: '{}',
      headers: {},
      timeoutMs: 1_000,
      maxResponseBytes: 100,
    });
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'unreachable', statusCode: 502, contact: 'none' });
  });

  it('ends at once when the caller gives up, before or during the call', async () => {
    const gone = AbortSignal.abort();
    const { outcome: before, seller: untouched } = await callTo(say(json('{}')), { signal: gone });
    expect(before).toMatchObject({ reason: 'timeout', statusCode: 504 });
    expect(untouched.sockets).toHaveLength(0);

    const leaving = new AbortController();
    const { outcome: during, seller } = await callTo(() => leaving.abort(), {
      signal: leaving.signal,
      timeoutMs: 60_000,
    });
    expect(during).toMatchObject({ reason: 'timeout', statusCode: 504 });
    await seller.allClosed();
  });

  it('refuses headers that would break out of the message, without calling', async () => {
    const seller = new RawSeller(say(json('{}')));
    const url = await seller.listen();
    for (const [name, value] of [
      ['X-A', 'a\r\nX-B: c'],
      ['X A', 'a'],
      ['Transfer-Encoding', 'chunked'],
      ['Expect', '100-continue'],
    ] as const) {
      await expect(
        client.call({
          listingId: 'a listing',
          url,
          rawBody: '{}',
          headers: { [name]: value },
          timeoutMs: 500,
          maxResponseBytes: 100,
        }),
      ).rejects.toThrow();
    }
    expect(seller.requests).toHaveLength(0);
  });

  it('forgets a connection that its seller ends with the answer', async () => {
    const { seller } = await callTo(sayAndClose(json('{}', '200 OK', 'Connection: close\r\n')));
    await seller.allClosed();
    await new Promise(setImmediate);
    expect(connections.size).toBe(0);
  });

  it('holds no connection once every call is over and idle ones have closed', async () => {
    const idle = new RawSeller(say(json('{}')));
    await client.call({
      listingId: 'a listing',
      url: await idle.listen(),
      rawBody: '{}',
      headers: {},
      timeoutMs: 500,
      maxResponseBytes: 100,
    });
    await idle.allClosed();
    await new Promise(setImmediate);
    expect(connections.size).toBe(0);
  });
});
