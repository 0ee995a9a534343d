import { evmWallet, sandboxPayer, x402Payer, type CreatedListing, type FileAnswer } from '@market/sdk';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import pg from 'pg';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { callOnce, fetchAs, payFor, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { isEndpointTest, listServer, rogueServer, type RogueServer } from '../support/seller.js';

const MIB = 1_048_576;
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

interface Envelope {
  data: {
    request_id: string;
    billable: boolean;
    seller_status_code: number;
    error?: { reason: string };
    seller_response: FileAnswer | null;
  };
}

type Answer = (response: ServerResponse) => void;
const sends =
  (bytes: Buffer, contentType = 'image/png'): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length }).end(bytes);

inEachMode('answers that are files', (harness) => {
  let [seller, buyer]: Agent[] = [];
  let server: RogueServer;
  let [listing, freeListing]: CreatedListing[] = [];
  let answer: Answer = sends(PNG);

  let forwarded: IncomingHttpHeaders = {};

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    server = await rogueServer((request, response) => {
      forwarded = request.headers;
      (isEndpointTest(request) ? sends(PNG) : answer)(response);
    });
    const formats = ['png', 'csv', 'binary', 'text/html'];
    [listing, freeListing] = await Promise.all([
      listServer(seller, server.url, { formats }),
      listServer(seller, server.url, { formats, pricing_amount: 0 }),
    ]);
  });
  afterAll(() => server.close());

  let calls = 0;
  /** A paid call. @returns the request that was paid, which may be repeated. */
  const bought = async (accept?: string): Promise<() => Promise<Response>> => {
    const body = { call: (calls += 1) };
    const relay = withRelayId(await payFor(buyer!, listing!, body));
    return () => asBuyer('POST', `/gateway/${listing!.id}`, { ...relay, ...(accept && { accept }) }, body);
  };
  const asBuyer = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: object,
    agent = buyer!,
  ): Promise<Response> => fetchAs(agent, harness.baseUrl, method, path, headers, body);
  const dataOf = async (response: Response): Promise<Envelope['data']> => ((await response.json()) as Envelope).data;
  const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());
  /** What is stored of files of the seller. */
  const stored = async (): Promise<{ contents: number; chunks: number }> => {
    const client = new pg.Client({ connectionString: harness.databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<{ contents: number; chunks: number }>(
        `SELECT count(DISTINCT id)::int AS contents, count(content_id)::int AS chunks
         FROM gateway.contents LEFT JOIN gateway.content_chunks ON content_id = id WHERE seller_id = $1`,
        [seller!.id],
      );
      return rows[0]!;
    } finally {
      await client.end();
    }
  };

  it('are paid, and given as JSON, as bytes, and again', async () => {
    answer = sends(PNG);
    const call = await bought();
    const first = await call();
    expect([first.status, first.headers.get('x-market-billable'), first.headers.get('vary')]).toEqual([
      200,
      'true',
      expect.stringContaining('Accept'),
    ]);
    const text = await first.text();
    const { data } = JSON.parse(text) as Envelope;
    const contentUrl = `/api/v1/gateway-requests/${data.request_id}/content`;
    expect(data).toMatchObject({
      billable: true,
      seller_status_code: 200,
      seller_response: {
        content_type: 'image/png',
        size: PNG.length,
        sha256: sha256(PNG),
        base64: PNG.toString('base64'),
        content_url: contentUrl,
      },
    });
    const callsBefore = server.calls;
    expect(await (await call()).text()).toBe(text);

    const raw = await (await bought('image/png'))();
    expect(await bytesOf(raw)).toEqual(PNG);
    expect(Object.fromEntries(raw.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'content-disposition': `inline; filename="${raw.headers.get('x-market-request-id')}.png"`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-market-billable': 'true',
      'x-market-charged-amount-cents': '25',
      'x-market-charged-currency': 'USD',
      'x-market-fee-amount-cents': expect.stringMatching(/^[\d.]+$/) as string,
      'x-market-seller-status': '200',
      'content-digest': `sha-256=:${Buffer.from(sha256(PNG), 'hex').toString('base64')}:`,
    });
    expect(server.calls).toBe(callsBefore + 1);

    const content = await asBuyer('GET', contentUrl);
    expect(await bytesOf(content)).toEqual(PNG);
    expect(content.headers.get('etag')).toBe(`"${sha256(PNG)}"`);
    const row = await buyer!.market.gatewayRequests.get(data.request_id);
    expect(row).toMatchObject({
      kind: 'file',
      content_type: 'image/png',
      size: PNG.length,
      response_digest: sha256(PNG),
    });
    const { data: receipts } = await buyer!.market.receipts.list({ role: 'buyer' });
    const proofs = await Promise.all(receipts.map((receipt) => buyer!.market.receipts.proof(receipt)));
    expect(proofs.map(({ claims }) => claims)).toContainEqual(
      expect.objectContaining({ gateway_request_id: data.request_id, response_digest: sha256(PNG) }),
    );
  });

  it('are bytes for clients of the SDK, in the answer or beside it, with a key and without', async () => {
    const { market } = buyer!;
    for (const bytes of [PNG, randomBytes(MIB + 1)]) {
      answer = sends(bytes);
      const bought = await market.call<FileAnswer>(listing!, { sdk: bytes.length }, { pay: sandboxPayer(market) });
      expect(forwarded['x-market-max-response-bytes']).toBe(String(32 * MIB));
      expect(bought.seller_response).toMatchObject({ content_type: 'image/png', size: bytes.length });
      expect(Buffer.compare(await bought.bytes(), bytes)).toBe(0);

      const keyless = stranger(harness);
      const pay = x402Payer(evmWallet(), { 'eip155:84532': {} });
      const { seller_response: file, ...signed } = await keyless.call<FileAnswer>(
        listing!,
        { sdk: 'keyless' },
        { pay },
      );
      expect(file.content_url).toBeNull();
      const calls = server.calls;
      expect(Buffer.compare(await signed.bytes(), bytes)).toBe(0);
      expect(server.calls).toBe(calls);
    }
    answer = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    const json = await market.call(listing!, { sdk: 'json' }, { pay: sandboxPayer(market) });
    await expect(json.bytes()).rejects.toMatchObject({ code: 'NO_FILE' });
  });

  it('leave JSON of the same listing as it was', async () => {
    answer = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"a": 1.0}');
    const response = await (await bought('image/png'))();
    expect([response.headers.get('content-type'), response.headers.get('x-market-billable')]).toEqual([
      'application/json; charset=utf-8',
      'true',
    ]);
    const text = await response.text();
    expect(text).toContain('"seller_response":{"a": 1.0}');
    const { request_id: id } = (JSON.parse(text) as Envelope).data;
    expect(await buyer!.market.gatewayRequests.get(id)).toMatchObject({ kind: 'json', content_type: null, size: null });
    expect((await asBuyer('GET', `/gateway-requests/${id}/content`)).status).toBe(404);
  });

  it('may be large, and are read by ranges', async () => {
    const large = randomBytes(3 * MIB + 17);
    answer = sends(large, 'application/octet-stream');
    const call = await bought();
    const { request_id: id, seller_response: file } = await dataOf(await call());
    expect(file).toEqual({
      content_type: 'application/octet-stream',
      size: large.length,
      sha256: sha256(large),
      content_url: `/api/v1/gateway-requests/${id}/content`,
    });
    const read = (headers: Record<string, string> = {}, method = 'GET') => asBuyer(method, file!.content_url!, headers);
    const whole = await read();
    expect(sha256(await bytesOf(whole))).toBe(sha256(large));
    expect([whole.status, whole.headers.get('content-disposition')]).toEqual([200, `attachment; filename="${id}.bin"`]);
    const head = await read({}, 'HEAD');
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      String(large.length),
      'bytes',
    ]);
    const etag = whole.headers.get('etag')!;
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 0],
      ['bytes=262143-262144', 262_143, 262_144],
      ['bytes=1000000-2999999', 1_000_000, 2_999_999],
      [`bytes=${large.length - 5}-`, large.length - 5, large.length - 1],
      ['bytes=-5', large.length - 5, large.length - 1],
    ] as const) {
      const part = await read({ range, 'if-range': etag });
      expect([part.status, part.headers.get('content-range'), part.headers.get('content-digest')]).toEqual([
        206,
        `bytes ${from}-${to}/${large.length}`,
        null,
      ]);
      expect(Buffer.compare(await bytesOf(part), large.subarray(from, to + 1))).toBe(0);
    }
    const several = await read({ range: 'bytes=0-1, 5-6' });
    expect([several.status, (await bytesOf(several)).length]).toEqual([200, large.length]);
    const outdated = await read({ range: 'bytes=0-1', 'if-range': '"another"' });
    expect([outdated.status, (await bytesOf(outdated)).length]).toEqual([200, large.length]);
    expect((await read({ 'if-none-match': etag })).status).toBe(304);
    const beyond = await read({ range: `bytes=${large.length}-` });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${large.length}`]);
    expect(await beyond.json()).toMatchObject({
      success: false,
      error: { code: 'BAD_REQUEST', details: { reason: 'range_not_satisfiable' } },
    });
  });

  it('are shown to their buyer alone', async () => {
    answer = sends(Buffer.from('<script>alert(1)</script>'), 'text/html; charset=utf-8');
    const { seller_response: file } = await dataOf(await (await bought())());
    const path = file!.content_url!;
    expect((await asBuyer('GET', path, {}, undefined, seller!)).status).toBe(404);
    expect((await asBuyer('GET', path, {}, undefined, await registerAgent(harness))).status).toBe(404);
    expect((await fetch(`${harness.baseUrl}${path}`)).status).toBe(401);
    const own = await asBuyer('GET', path);
    expect([own.status, own.headers.get('content-disposition')?.split(';')[0]]).toEqual([200, 'attachment']);
    const run = await asBuyer('GET', path, { 'sec-fetch-dest': 'script' });
    expect([run.status, await run.json()]).toMatchObject([
      403,
      { error: { details: { reason: 'content_is_no_script' } } },
    ]);
  });

  it('are no answer if they are of another type, empty, cut off, compressed or too large: nothing is charged or kept', async () => {
    const before = await stored();
    const half = randomBytes(2 * MIB);
    const cases: [Answer, string][] = [
      [sends(Buffer.from('<h1>Sorry</h1>'), 'application/xhtml+xml'), 'not_json'],
      [sends(Buffer.alloc(0)), 'not_json'],
      [
        (response) =>
          void response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'image/png' }).end('x'),
        'not_json',
      ],
      [
        (response) => {
          response.writeHead(200, { 'content-type': 'image/png', 'content-length': 2 * half.length });
          response.write(half, () => response.destroy());
        },
        'protocol_error',
      ],
      [
        (response) => {
          response.socket!.write('HTTP/1.0 200 OK\r\nContent-Type: image/png\r\n\r\nhalf of a picture');
          response.socket!.end();
        },
        'protocol_error',
      ],
      [
        (response) => {
          const head = 'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: gzip, chunked\r\n\r\n';
          response.socket!.end(`${head}1\r\nx\r\n0\r\n\r\n`);
        },
        'protocol_error',
      ],
      [
        (response) => {
          response.writeHead(200, { 'content-type': 'image/png' });
          for (let sent = 0; sent <= 32; sent += 1) response.write(Buffer.alloc(MIB));
          response.end();
        },
        'too_large',
      ],
    ];
    for (const [behave, reason] of cases) {
      answer = behave;
      const failed = await (await bought('image/png'))();
      expect([failed.status, failed.headers.get('x-market-billable')]).toEqual([200, 'false']);
      expect(await dataOf(failed)).toMatchObject({ billable: false, error: { reason }, seller_response: null });
    }
    expect(await stored()).toEqual(before);
  });

  it('are delivered on the same payment after the seller failed', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 100 });
      response.write('half', () => response.destroy());
    };
    const call = await bought();
    expect(await dataOf(await call())).toMatchObject({ billable: false });
    answer = sends(PNG);
    expect(await dataOf(await call())).toMatchObject({ billable: true, seller_response: { sha256: sha256(PNG) } });
  });

  it('may be free', async () => {
    answer = sends(Buffer.from('a,b\n1,2\n'), 'text/csv');
    const called = await callOnce(buyer!, freeListing!, {});
    expect(called).toMatchObject({
      status: 200,
      json: { data: { billable: true, seller_response: { base64: Buffer.from('a,b\n1,2\n').toString('base64') } } },
    });
    const { seller_response: file } = (called.json as Envelope).data;
    const csv = await asBuyer('GET', file!.content_url!);
    expect([await csv.text(), csv.headers.get('content-type')]).toEqual(['a,b\n1,2\n', 'text/csv']);
  });

  it('are sold to x402 clients without a key', async () => {
    answer = sends(PNG);
    const account = privateKeyToAccount(generatePrivateKey());
    const pay = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account)));
    const ask = (body: object, headers: Record<string, string> = {}) =>
      pay(`${harness.baseUrl}/api/v1/x402/${listing!.slug}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    expect(await dataOf(await ask({ keyless: 1 }))).toMatchObject({
      billable: true,
      seller_response: { base64: PNG.toString('base64'), content_url: null },
    });
    const raw = await ask({ keyless: 2 }, { accept: 'image/*' });
    expect([raw.status, await bytesOf(raw), raw.headers.get('content-type')]).toEqual([200, PNG, 'image/png']);
    expect(raw.headers.has('payment-response')).toBe(true);
  });

  it('pass the endpoint test of their seller', async () => {
    expect(await seller!.market.endpoint.test(listing!)).toMatchObject({ success: true, seller_status_code: 200 });
  });
});
