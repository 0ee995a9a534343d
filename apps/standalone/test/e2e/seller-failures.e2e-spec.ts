import { sandboxPayer } from '@market/sdk';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { listServer, rogueServer, type RogueServer } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

type Behaviour = (request: IncomingMessage, response: ServerResponse, socket: Socket) => void;

const answering =
  (
    status: number,
    body: string | Buffer,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);
const saying =
  (bytes: string): Behaviour =>
  (_request, _response, socket) =>
    void socket.end(bytes);
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

/** Failures of sellers, and the status that the buyer sees. */
const FAILURES: [name: string, behaviour: Behaviour, sellerStatusCode: number][] = [
  ['500 with JSON', answering(500, '{"error":"broken"}'), 500],
  ['503 without a body', answering(503, ''), 503],
  ['599', answering(599, '{}'), 599],
  ['HTML', answering(200, '<html>hello</html>', { 'content-type': 'text/html' }), 502],
  ['an empty body', answering(200, ''), 502],
  ['204', answering(204, ''), 502],
  ['half of a JSON object', answering(200, '{"half":'), 502],
  ['two JSON values', answering(200, '{} {}'), 502],
  ['NaN', answering(200, '{"n":NaN}'), 502],
  ['JSON nested 5,000 deep', answering(200, nested(5_000)), 502],
  ['bytes that are no UTF-8', answering(200, Buffer.from([0x22, 0xff, 0xfe, 0x22])), 502],
  ['more than it may', answering(200, JSON.stringify('x'.repeat(1_100_000))), 502],
  [
    'gzip that nobody asked for',
    answering(200, gzipSync('{"zipped":true}'), { 'content-type': 'application/json', 'content-encoding': 'gzip' }),
    502,
  ],
  ['a redirect', answering(302, '{}', { location: 'http://127.0.0.1:1/', 'content-type': 'application/json' }), 302],
  [
    'a permanent redirect to a file',
    answering(308, '{}', { location: 'file:///etc/passwd', 'content-type': 'application/json' }),
    308,
  ],
  ['nothing: it closes the connection', (_request, _response, socket) => void socket.destroy(), 502],
  ['no HTTP', saying('SSH-2.0-OpenSSH\r\n\r\n'), 502],
  [
    'a head and half a body',
    saying('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"half":'),
    502,
  ],
  ['a broken chunk', saying('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'), 502],
  ['100,000 bytes of headers', saying(`HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(100_000)}\r\n\r\n{}`), 502],
  ['silence', () => undefined, 504],
  [
    'a byte now and then',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(drip));
    },
    504,
  ],
];

inEachMode('a seller that fails', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let server: RogueServer;
  let behave: Behaviour;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    server = await rogueServer((...args) => behave(...args));
  });
  afterAll(async () => {
    await expectBooksInOrder(harness);
    await server.close();
  });

  it.each(FAILURES)(
    'with %s is not paid, and the payment stays good until it delivers',
    async (name, failure, sellerStatusCode) => {
      const listing = await listServer(seller, server.url);
      await seller.market.endpoint.update(listing, { timeout_ms: 1_000 });
      behave = failure;
      const relayRequestId = await payFor(buyer, listing, { name });
      const failed = await callOnce(buyer, listing, { name }, withRelayId(relayRequestId));
      expect(failed.status).toBe(200);
      expect(resultOf(failed)).toMatchObject({
        billable: false,
        charged_amount: { amount_cents: 0, currency: 'USD' },
        fees: { fee_amount_cents: 0, seller_receives_cents: 0 },
        seller_status_code: sellerStatusCode,
        recovery: { next_action: 'retry_same_request', keep: expect.arrayContaining(['X-Market-Relay-Request-Id']) },
      });

      behave = answering(200, '{"at":"last"}');
      const delivered = await callOnce(buyer, listing, { name }, withRelayId(relayRequestId));
      expect(resultOf(delivered)).toMatchObject({
        request_id: resultOf(failed).request_id,
        billable: true,
        charged_amount: { amount_cents: 25 },
        seller_response: { at: 'last' },
      });
    },
  );

  it('by being gone is not paid', async () => {
    const gone = await rogueServer(answering(200, '{}'));
    const listing = await listServer(seller, gone.url);
    await gone.close();
    const relayRequestId = await payFor(buyer, listing, { gone: true });
    const failed = resultOf(await callOnce(buyer, listing, { gone: true }, withRelayId(relayRequestId)));
    expect(failed).toMatchObject({ billable: false, charged_amount: { amount_cents: 0 }, seller_status_code: 502 });
    expect(
      await buyer.market.receipts
        .list({ role: 'buyer', limit: 50 })
        .then(({ data }) => data.filter((receipt) => receipt.listing.id === listing.id)),
    ).toEqual([]);
  });

  it('by answering one request a connection, and dropping the next without a word, fails no call', async () => {
    const used = new WeakSet<Socket>();
    let [answers, drops] = [0, 0];
    const forgetful = await rogueServer((request, response, socket) => {
      if (used.has(socket)) {
        drops += 1;
        return void socket.destroy();
      }
      used.add(socket);
      answers += 1;
      answering(200, '{"ok":true}')(request, response, socket);
    });
    const listing = await listServer(seller, forgetful.url);
    for (let n = 0; n < 20; n += 1) {
      const result = await buyer.market.call(listing, { n }, { pay: sandboxPayer(buyer.market), retries: 0 });
      expect(result).toMatchObject({ billable: true, seller_response: { ok: true } });
    }
    expect(answers).toBe(20);
    expect(drops).toBeGreaterThan(0);
    const { data } = await seller.market.gatewayRequests.list({ role: 'seller', listing_id: listing.id, limit: 100 });
    expect(data.filter(({ status }) => status !== 'succeeded')).toEqual([]);
    await forgetful.close();
  });

  it('shows in the history of both sides, with what failed and no body', async () => {
    const listing = await listServer(seller, server.url);
    behave = answering(500, '{"error":"a secret of the seller"}');
    const relayRequestId = await payFor(buyer, listing, { secret: 'of the buyer' });
    await callOnce(buyer, listing, { secret: 'of the buyer' }, withRelayId(relayRequestId));
    for (const [agent, role] of [
      [buyer, 'buyer'],
      [seller, 'seller'],
    ] as const) {
      const { data } = await agent.market.gatewayRequests.list({ role, listing_id: listing.id });
      expect(data).toMatchObject([
        {
          role,
          status: 'seller_failed',
          billable: false,
          seller_status_code: 500,
          charged_amount: { amount_cents: 0 },
          error_code: expect.any(String),
        },
      ]);
      expect(JSON.stringify(data)).not.toContain('secret');
    }
    behave = answering(200, '{}');
    expect((await buyer.market.call(listing, { secret: 'of the buyer' }, { relayRequestId })).billable).toBe(true);
  });

  it('once is asked again by the SDK, on the same payment', async () => {
    const listing = await listServer(seller, server.url);
    let calls = 0;
    behave = (...args) => answering((calls += 1) < 3 ? 500 : 200, '{"try":true}')(...args);
    const result = await buyer.market.call(listing, { patient: true }, { pay: sandboxPayer(buyer.market), retries: 5 });
    expect([result.billable, calls]).toEqual([true, 3]);
  });

  it('holds up no other seller, however long it takes', async () => {
    const hung = await listServer(seller, server.url);
    await seller.market.endpoint.update(hung, { timeout_ms: 4_000, limits: { max_concurrency: 4 } });
    const good = await rogueServer(answering(200, '{"quick":true}'));
    const quick = await listServer(seller, good.url);
    behave = () => undefined;
    const paid = await Promise.all(Array.from({ length: 8 }, (_, n) => payFor(buyer, hung, { n })));
    let waited = 0;
    const stuck = paid.map(async (relayRequestId, n) => {
      const { status } = await callOnce(buyer, hung, { n }, withRelayId(relayRequestId));
      if (status === 200) waited += 1;
      return status;
    });
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => buyer.market.call(quick, { n }, { pay: sandboxPayer(buyer.market) })),
    );
    expect(results.every(({ billable }) => billable)).toBe(true);
    expect(waited).toBe(0);
    const statuses = await Promise.all(stuck);
    expect(statuses.every((status) => status === 200 || status === 429 || status === 503)).toBe(true);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(4);
    await good.close();
  });
});
