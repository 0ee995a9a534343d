import { once } from 'node:events';
import { connect } from 'node:net';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, payFor, withRelayId } from '../support/buyer.js';
import { OURS } from '../support/fuzz/answer-check.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const mcpCall = (body: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_listing","arguments":{"listing":"x","body":${body}}}}`;

inEachMode('bad input', (harness) => {
  let agent: Agent;
  let shop: Shop;

  beforeAll(async () => {
    const seller = await registerAgent(harness);
    [agent, shop] = await Promise.all([registerAgent(harness), openShop(seller)]);
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  describe('as the body of a paid call', () => {
    const REFUSED: [string, string][] = [
      ['nothing', ''],
      ['no JSON', 'hello'],
      ['half of it', '{"a":'],
      ['a list', '[1]'],
      ['a string', '"text"'],
      ['null', 'null'],
      ['two objects', '{}{}'],
      ['65 levels', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`],
      ['400,000 levels', `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`],
      ['a trailing comma', '{"a":1,}'],
      ['a comment', '{"a":1}//'],
      ['a leading byte order mark', '\ufeff{"a":1}'],
      ['a key twice', '{"n":5000,"n":5}'],
      ['a key twice, deep, in two spellings', '{"a":[{"n":5000,"\\u006e":5}]}'],
    ];
    it.each(REFUSED)('is refused before anything is paid: %s', async (_what, body) => {
      const answer = await callOnce(agent, shop.listing, body);
      expect([answer.status, bodyOf(answer).error!.code]).toEqual([400, 'BAD_REQUEST']);
      expect(shop.requests).toEqual([]);
    });

    it('is refused when it is larger than any listing takes', async () => {
      const answer = await callOnce(agent, shop.listing, JSON.stringify({ text: 'x'.repeat(1_100_000) }));
      expect([answer.status, bodyOf(answer).error!.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    });

    const UNUSUAL = [
      ...[
        '{"id":1234567890123456789}',
        '{"n":1.10,"m":1e2,"z":-0.0}',
        '{"n":1e400}',
        '{"__proto__":1}',
        '{"a":[{"constructor":{"prototype":{}}}]}',
      ],
      ...[
        '{"":{}}',
        '{"t":"\\u0000"}',
        '{"t":"\\ud800"}',
        ' {\t"a" :\n1 } ',
        `{"deep":${'['.repeat(62)}${']'.repeat(62)}}`,
      ],
    ];
    it.each(UNUSUAL)('is carried unchanged when it is only unusual: %s', async (body) => {
      const answer = await callOnce(agent, shop.listing, body, withRelayId(await payFor(agent, shop.listing, body)));
      expect(bodyOf(answer).data).toMatchObject({ billable: true });
      expect(shop.requests.splice(0).map(({ rawBody }) => rawBody.toString())).toEqual([body]);
      expect(shop.deliveries.timesCalled((bodyOf(answer).data as { request_id: string }).request_id)).toBe(1);
    });

    it('is another one when a number differs that no double holds', async () => {
      const paid = await payFor(agent, shop.listing, '{"user_id":1234567890123456789}');
      const other = await callOnce(agent, shop.listing, '{"user_id":1234567890123456788}', withRelayId(paid));
      expect([other.status, bodyOf(other).error!.details!.reason]).toEqual([409, 'request_body_mismatch']);
      const own = await callOnce(agent, shop.listing, '{"user_id":1234567890123456789}', withRelayId(paid));
      expect(bodyOf(own).data).toMatchObject({ billable: true });
      expect(shop.requests.splice(0).map(({ rawBody }) => rawBody.toString())).toEqual([
        '{"user_id":1234567890123456789}',
      ]);
    });

    it.each([
      ['without a key, where the price comes first', '/x402/LISTING', '{"n":5000,"n":5}'],
      ['of the edge itself', '/listings', '{"name":"A","name":"B"}'],
      ['of the edge itself, deep in it', '/listings', '{"name":"A","example_input":{"n":1,"n":2}}'],
      ['of the edge itself, which would be rounded', '/listings', '{"example_input":{"id":1234567890123456789}}'],
      ['of an operation that anyone may ask for', '/register', '{"wallet_address":"a","wallet_address":"b"}'],
      ['of MCP', '/mcp', mcpCall('{"n":5000,"n":5}')],
      ['of MCP, which would be rounded', '/mcp', mcpCall('{"n":1234567890123456789}')],
      ['of MCP for one listing', '/mcp/LISTING', mcpCall('{"n":5000,"n":5}')],
    ])('is 400 when it can be read in two ways: %s', async (_what, path, body) => {
      const url = `${harness.baseUrl}${path.startsWith('/mcp') ? '' : '/api/v1'}${path}`;
      const answer = await fetch(url.replace('LISTING', shop.listing.id), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${agent.registration.api_key}`,
        },
        body,
      });
      const { error } = (await answer.json()) as { error: { code: string; details: { problem: string } } };
      expect([answer.status, error.code]).toEqual([400, 'BAD_REQUEST']);
      expect(error.details.problem).toMatch(/duplicate_key|repeats the key|not exact/);
      expect(shop.requests).toEqual([]);
    });

    it.each([
      ['text/plain', 415],
      ['application/json; charset=utf-8', 402],
    ])('is read as %s: %i', async (type, status) => {
      expect((await callOnce(agent, shop.listing, '{"a":1}', { 'content-type': type })).status).toBe(status);
    });

    it('is not unpacked', async () => {
      expect((await callOnce(agent, shop.listing, '{"a":1}', { 'content-encoding': 'gzip' })).status).toBe(415);
    });
  });

  describe('on the wire', () => {
    const head = (more: string): string => `POST /api/v1/register HTTP/1.1\r\nhost: localhost\r\n${more}`;
    it.each([
      ['two lengths', head('content-type: application/json\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}')],
      [
        'a length and chunks',
        head('content-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
      ],
      ['headers of 100 kB', head(`x-long: ${'x'.repeat(100_000)}\r\n\r\n`)],
      ['a path of 100 kB', `GET /${'x'.repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
      ['a path out of the tree', 'GET /api/v1/../../etc/passwd HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
      ['a broken escape in the path', 'GET /api/v1/listings/%E0%A4%A HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
      ['TRACE', 'TRACE /api/v1/health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'],
      ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'],
    ])('is refused, or hung up on: %s', async (_what, bytes) => {
      const { hostname, port } = new URL(harness.baseUrl);
      const socket = connect({ host: hostname, port: Number(port) });
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
      await once(socket, 'connect');
      socket.end(bytes);
      await once(socket, 'close');
      const status = /^HTTP\/1\.1 (\d{3})/.exec(Buffer.concat(chunks).toString())?.[1];
      if (status !== undefined) expect(Number(status)).toBeGreaterThanOrEqual(400);
      if (status !== undefined) expect(Number(status)).toBeLessThan(500);
      expect(Buffer.concat(chunks).toString()).not.toMatch(OURS);
      expect((await fetch(`${harness.baseUrl}/api/v1/health`)).status).toBe(200);
    });
  });
});
