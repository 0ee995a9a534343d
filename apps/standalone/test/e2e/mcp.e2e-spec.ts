import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { UptoEvmScheme } from '@x402/evm/upto/client';
import { x402Client } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { file, used } from '@market/sdk/seller';
import { openShop, reply, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const INPUT = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const EXAMPLE = { city: 'Bern' };

/** The common interface of the stock clients. */
interface McpClient {
  listTools(): Promise<{ tools: { name: string; inputSchema: object }[] }>;
  callTool(call: object): Promise<unknown>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  readResource(of: { uri: string }): Promise<{ contents: object[] }>;
  close(): Promise<void>;
}
type Connect = (url: URL, headers: Record<string, string>) => Promise<McpClient>;

/** Unmodified clients: the first SDK, and the second one with its default protocol and with that of 2026. */
const CLIENTS: [string, Connect][] = [
  [
    'the first SDK',
    async (url, headers) => {
      const client = new FirstClient({ name: 'test', version: '1' });
      await client.connect(new FirstTransport(url, { requestInit: { headers } }) as never);
      return client as McpClient;
    },
  ],
  ...(['legacy', 'auto'] as const).map((mode): [string, Connect] => [
    `the second SDK, ${mode}`,
    async (url, headers) => {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
      return client as McpClient;
    },
  ]),
];
const latest = CLIENTS.at(-1)![1];

inEachMode('an MCP client', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let failing = false;
  const open: McpClient[] = [];

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    shop = await openShop(seller, ({ body }) => (failing ? reply(500, {}) : { echo: body }), {
      input_schema: INPUT,
      example_input: EXAMPLE,
    });
  });
  afterEach(async () => void (await Promise.all(open.splice(0).map((client) => client.close()))));
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  const keyOf = ({ registration }: Agent) => ({ authorization: registration.authorization_header });
  const connect = async (how: Connect, headers: Record<string, string> = {}, path = ''): Promise<McpClient> => {
    const client = await how(new URL(`${harness.baseUrl}/mcp${path}`), headers);
    open.push(client);
    return client;
  };
  const call = async (
    client: McpClient,
    name: string,
    args: object,
    _meta?: object,
  ): Promise<CallToolResult & { structuredContent: Record<string, unknown> }> =>
    (await client.callTool({ name, arguments: args, _meta })) as never;
  const callIt = (client: McpClient, more: object = {}, _meta?: object) =>
    call(client, 'call_listing', { listing: shop.listing.slug, body: EXAMPLE, ...more }, _meta);
  const payer = (): x402Client =>
    new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())));
  const post = async (
    body: unknown,
    { path = '', headers = {} }: { path?: string; headers?: Record<string, string> } = {},
  ) => {
    const answer = await fetch(`${harness.baseUrl}/mcp${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };

  describe.each(CLIENTS)('%s', (_name, how) => {
    it('finds a listing, reads what it takes, buys a call with its key and sees the receipt', async () => {
      const client = await connect(how, keyOf(buyer));
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
        'search_listings',
        'get_listing',
        'call_listing',
        'get_request',
        'get_receipt',
      ]);
      const found = await call(client, 'search_listings', { query: `"${shop.listing.name}"`, facets: true });
      expect(found.structuredContent).toMatchObject({
        listings: expect.arrayContaining([
          expect.objectContaining({
            listing: shop.listing.slug,
            price_usd: 0.25,
            pay_in: expect.arrayContaining(['USDC']) as unknown,
            rating: null,
          }),
        ]) as unknown,
        facets: { delivery_type: expect.arrayContaining([expect.objectContaining({ value: 'api' })]) as unknown },
      });
      const sure = await call(client, 'search_listings', {
        query: `"${shop.listing.name}"`,
        min_success: 0.5,
        max_price_usd: 0.2,
      });
      expect(sure.structuredContent.listings).toEqual([]);
      expect((await call(client, 'get_listing', { listing: shop.listing.slug })).structuredContent).toMatchObject({
        input_schema: INPUT,
        example_input: EXAMPLE,
      });
      const before = shop.requests.length;
      const bought = await callIt(client);
      expect([bought.isError ?? false, bought.structuredContent]).toMatchObject([
        false,
        { billable: true, charged_amount: { amount_cents: 25 }, seller_response: { echo: EXAMPLE } },
      ]);
      expect(JSON.parse((bought.content[0] as { text: string }).text)).toEqual(bought.structuredContent);
      expect(shop.requests).toHaveLength(before + 1);
      const [receipt] = (await call(client, 'get_receipt', {})).structuredContent.receipts as { id: string }[];
      expect((await call(client, 'get_receipt', { receipt_id: receipt!.id })).structuredContent).toMatchObject({
        receipt: { id: receipt!.id, gross_amount: 0.25 },
        proof: { jws: expect.any(String) as string },
      });
      const [guide] = (await client.listResources()).resources;
      expect((await client.readResource({ uri: guide!.uri })).contents).toMatchObject([
        { text: expect.stringContaining('# Agent Marketplace') as string },
      ]);
    });

    it.each<[string, () => string, string, () => object]>([
      ['the marketplace', () => '', 'call_listing', () => ({ listing: shop.listing.slug, body: EXAMPLE })],
      ['the listing alone', () => `/${shop.listing.slug}`, '', () => EXAMPLE],
    ])('pays %s with x402 and without a key, once', async (_what, path, tool, args) => {
      const client = await connect(how, {}, path());
      const name = tool || shop.listing.slug;
      const asked = await call(client, name, args());
      expect(asked.isError).toBe(true);
      expect(asked.structuredContent).toMatchObject({
        x402Version: 2,
        accepts: [{ scheme: 'exact', amount: '250000' }],
      });
      expect(JSON.parse((asked.content[0] as { text: string }).text)).toEqual(asked.structuredContent);
      const payment = await payer().createPaymentPayload(asked.structuredContent as never);
      const before = shop.requests.length;
      const [paid, again] = [
        await call(client, name, args(), { 'x402/payment': payment }),
        await call(client, name, args(), { 'x402/payment': payment }),
      ];
      expect([paid.isError ?? false, paid.structuredContent]).toMatchObject([
        false,
        { seller_response: { echo: EXAMPLE } },
      ]);
      expect(paid._meta).toMatchObject({
        'x402/payment-response': { success: true, transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string },
      });
      expect(again.structuredContent).toEqual(paid.structuredContent);
      expect(shop.requests).toHaveLength(before + 1);
    });
  });

  it('signs the most that a call can cost, and pays what it used, with a key and without', async () => {
    const usage = { unit: 'token', per: 1_000, tiers: [{ up_to: null, price: 0.01 }] };
    const metered = await openShop(seller, () => used(3_000, { done: true }), { pricing_amount: 0.4, usage });
    const account = privateKeyToAccount(generatePrivateKey());
    const upto = new x402Client().register('eip155:*', new UptoEvmScheme(account));
    for (const headers of [{}, keyOf(await registerAgent(harness))]) {
      const client = await connect(latest, headers);
      const args = { listing: metered.listing.slug, body: { how: Object.keys(headers) } };
      const asked = await call(client, 'call_listing', { ...args, max_price_usd: 0 });
      expect([asked.isError, asked.structuredContent.accepts]).toMatchObject([
        true,
        [
          { scheme: 'upto', amount: '400000' },
          { scheme: 'exact', amount: '400000' },
        ],
      ]);
      const payment = await upto.createPaymentPayload(asked.structuredContent as never);
      for (let n = 0; n < 2; n += 1)
        expect(await call(client, 'call_listing', args, { 'x402/payment': payment })).toMatchObject({
          structuredContent: { charged_amount: { amount_cents: 3 }, usage: { unit: 'token', units: 3_000 } },
          _meta: { 'x402/payment-response': { success: true } },
        });
    }
    expect(metered.requests).toHaveLength(2);
    await expectBooksInOrder(harness, [metered]);
    await metered.close();
  });

  it('sees a listing by itself as one tool with its own schema, and is told where its arguments do not fit', async () => {
    const client = await connect(latest, keyOf(buyer), `/${shop.listing.slug}`);
    expect((await client.listTools()).tools).toMatchObject([{ name: shop.listing.slug, inputSchema: INPUT }]);
    expect((await call(client, shop.listing.slug, EXAMPLE)).structuredContent).toMatchObject({
      seller_response: { echo: EXAMPLE },
    });
    const before = shop.requests.length;
    const wrong = await call(client, shop.listing.slug, { city: 7 });
    expect([wrong.isError, wrong.structuredContent]).toMatchObject([
      true,
      {
        error: { details: { reason: 'request_body_misfit', path: '/city' }, recovery: { next_action: 'fix_request' } },
      },
    ]);
    expect((await call(client, 'another_tool', EXAMPLE)).isError).toBe(true);
    expect(shop.requests).toHaveLength(before);
  });

  it('is told what to pay where it may not pay by itself, pays, and comes again with the relay request id', async () => {
    const client = await connect(latest, keyOf(buyer));
    const before = shop.requests.length;
    const asked = await callIt(client, { max_price_usd: 0.1 });
    const { relay_request_id } = asked.structuredContent as { relay_request_id: string };
    expect([asked.isError, asked.structuredContent]).toMatchObject([
      true,
      {
        x402Version: 2,
        payment: { requirements: { amount: '0.25' } },
        next: { recovery: { next_action: 'pay_and_retry' } },
      },
    ]);
    await buyer.market.sandbox.pay(relay_request_id);
    const first = await callIt(client, { relay_request_id, max_price_usd: 0 });
    expect(first.structuredContent).toMatchObject({ seller_response: { echo: EXAMPLE } });
    expect((await callIt(client, { relay_request_id })).structuredContent).toEqual(first.structuredContent);
    const other = await callIt(client, { relay_request_id, body: { city: 'Ulm' } });
    expect([other.isError, other.structuredContent]).toMatchObject([
      true,
      { error: { details: { reason: 'request_body_mismatch' } } },
    ]);
    expect(shop.requests).toHaveLength(before + 1);
  });

  it('that names its purchase is charged once, also by HTTP', async () => {
    const client = await connect(latest, keyOf(buyer));
    const before = shop.requests.length;
    const named = { idempotency_key: 'one-purchase-of-mcp' };
    const [first, second] = [await callIt(client, named), await callIt(client, named)];
    expect(second.structuredContent).toEqual(first.structuredContent);
    const byHttp = await buyer.market.send('POST', `/gateway/${shop.listing.id}`, {
      rawBody: JSON.stringify(EXAMPLE),
      headers: { 'Idempotency-Key': named.idempotency_key },
    });
    expect((byHttp.json as { data: unknown }).data).toEqual(first.structuredContent);
    expect(shop.requests).toHaveLength(before + 1);
  });

  it('is not charged where the seller fails, and sees that as an error', async () => {
    const client = await connect(latest, keyOf(buyer));
    failing = true;
    const failed = await callIt(client, { body: { city: 'Graz' } });
    failing = false;
    expect([failed.isError, failed.structuredContent]).toMatchObject([
      true,
      { billable: false, charged_amount: { amount_cents: 0 }, seller_status_code: 500 },
    ]);
  });

  it('gets a file as content that a model can take, and a link to a large one', async () => {
    const png = Buffer.from('iVBORw0KGgo=', 'base64');
    const files: Record<string, [Uint8Array, string]> = {
      png: [png, 'image/png'],
      wav: [png, 'audio/wav'],
      csv: [Buffer.from('a,é\n'), 'text/csv; charset=utf-8'],
      pdf: [png, 'application/pdf'],
      large: [new Uint8Array(1_048_577), 'image/png'],
    };
    const studio = await openShop(seller, ({ body }) => file(...files[(body as { as: string }).as]!), {
      formats: ['png', 'wav', 'csv', 'pdf'],
    });
    const client = await connect(latest, keyOf(buyer), `/${studio.listing.slug}`);
    const buy = async (as: string) => {
      const { content, structuredContent } = await call(client, studio.listing.slug, { as });
      const { request_id: id, seller_response: facts } = structuredContent as {
        request_id: string;
        seller_response: object;
      };
      const [bytes, contentType] = files[as]!;
      const path = `/api/v1/gateway-requests/${id}/content`;
      expect(facts).toEqual({
        content_type: contentType,
        size: bytes.length,
        sha256: expect.any(String) as string,
        content_url: path,
      });
      expect(JSON.parse((content[0] as { text: string }).text)).toEqual(structuredContent);
      return { id, path, blocks: content.slice(1), uri: expect.stringMatching(`^http://[^/]+${path}$`) as string };
    };
    const data = png.toString('base64');
    expect((await buy('png')).blocks).toEqual([{ type: 'image', data, mimeType: 'image/png' }]);
    expect((await buy('wav')).blocks).toEqual([{ type: 'audio', data, mimeType: 'audio/wav' }]);
    const [csv, pdf, large] = [await buy('csv'), await buy('pdf'), await buy('large')];
    expect([csv.blocks, pdf.blocks]).toEqual([
      [{ type: 'resource', resource: { uri: csv.uri, mimeType: 'text/csv', text: 'a,é\n' } }],
      [{ type: 'resource', resource: { uri: pdf.uri, mimeType: 'application/pdf', blob: data } }],
    ]);
    expect(large.blocks).toEqual([
      { type: 'resource_link', uri: large.uri, name: `${large.id}.png`, mimeType: 'image/png', size: 1_048_577 },
    ]);
    const linked = await fetch(`${harness.baseUrl}${large.path}`, { headers: keyOf(buyer) });
    expect((await linked.arrayBuffer()).byteLength).toBe(1_048_577);
    await studio.close();
  });

  it('gets a stream with its events, and a link to a long one', async () => {
    const reader = await openShop(
      seller,
      async function* ({ body }) {
        yield { data: { token: 'Föhn' }, event: 'token', id: '1' };
        yield '[DONE]';
        if ((body as { isLong?: boolean }).isLong) for (let left = 5; left > 0; left -= 1) yield 'x'.repeat(1_000_000);
      },
      { formats: ['sse'] },
    );
    const client = await connect(latest, keyOf(buyer), `/${reader.listing.slug}`);
    const { content, structuredContent } = await call(client, reader.listing.slug, {});
    expect(structuredContent).toMatchObject({
      billable: true,
      seller_response: {
        outcome: 'completed',
        events: [
          { event: 'token', data: { token: 'Föhn' }, id: '1' },
          { event: 'message', data: '[DONE]', id: null },
        ],
      },
    });
    expect(content).toEqual([{ type: 'text', text: expect.any(String) as string }]);
    expect(JSON.parse((content[0] as { text: string }).text)).toEqual(structuredContent);

    const long = await call(client, reader.listing.slug, { isLong: true });
    const { request_id: id, seller_response: facts } = long.structuredContent as {
      request_id: string;
      seller_response: { size: number; events?: unknown };
    };
    expect([facts.events, long.content[1]]).toMatchObject([
      undefined,
      { type: 'resource_link', mimeType: 'text/event-stream', size: facts.size },
    ]);
    const linked = await fetch(`${harness.baseUrl}/api/v1/gateway-requests/${id}/content`, { headers: keyOf(buyer) });
    expect((await linked.text()).length).toBeGreaterThan(5_000_000);
    await reader.close();
  });

  it('may do with a key what the key may', async () => {
    const { key } = await buyer.market.apiKeys.create({ name: 'reads', scopes: ['read'] });
    const client = await connect(latest, { authorization: `Bearer ${key}` });
    expect([(await callIt(client)).structuredContent, (await callIt(client)).isError]).toMatchObject([
      { error: { code: 'FORBIDDEN', details: { reason: 'scope_missing' } } },
      true,
    ]);
    const stranger = await connect(latest);
    expect((await call(stranger, 'get_receipt', {})).structuredContent).toMatchObject({
      error: { code: 'UNAUTHORIZED' },
    });
  });

  const message = (method: string, params: object = {}): object => ({ jsonrpc: '2.0', id: 1, method, params });
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  it.each<[string, number, unknown, { path?: string; headers?: Record<string, string> }?]>([
    ['no JSON', 400, '{'],
    ['a batch', 400, [message('tools/list')]],
    ['a text', 400, '"x"'],
    ['nothing', 400, ''],
    ['another protocol', 400, { id: 1 }],
    ['a key that is not good', 401, message('tools/list'), { headers: { authorization: 'Bearer am_k_nobody' } }],
    ['a listing that there is not', 404, message('tools/list'), { path: '/no-such-listing' }],
    ['a listing of no name', 404, message('tools/list'), { path: '/%2e%2e%2fme' }],
    ['another content type', 415, 'x', { headers: { 'content-type': 'text/plain' } }],
    ['too much', 413, ' '.repeat(1_200_000)],
    ['a method that there is not', 200, message('tools/steal')],
    [
      'what nests without end',
      200,
      '{"jsonrpc":"2.0","id":1,"method":"tools/call",' +
        `"params":{"name":"call_listing","arguments":{"listing":"x","body":{"a":${deep(100_000)}}}}}`,
    ],
  ])('is refused %s with %i', async (...[, status, body, more]) => {
    const answer = await post(body, more);
    expect(answer.status).toBe(status);
    // A refusal by JSON-RPC has status 200 and its error in the body.
    if (status === 200) expect(answer.text).toMatch(/"error":|"isError":true/);
    expect(answer.text).not.toMatch(/\.ts|\.js:|node_modules|INTERNAL_ERROR/);
  });

  it.each(['*/*', 'text/html, */*;q=0.8'])('answers a client that accepts %s', async (accept) => {
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'curl', version: '8' } };
    const { status, text } = await post(
      { jsonrpc: '2.0', id: 1, method: 'initialize', params },
      { headers: { accept } },
    );
    expect([status, text]).toEqual([200, expect.stringContaining('serverInfo')]);
  });

  it('is told of no stream to open, and of wrong arguments', async () => {
    for (const method of ['GET', 'DELETE', 'PUT'])
      expect((await fetch(`${harness.baseUrl}/mcp`, { method })).status).toBe(405);
    const client = await connect(latest);
    for (const args of [{}, { listing: 7, body: {} }, { listing: 'x', body: [] }, { listing: 'x', body: {}, more: 1 }])
      await expect(call(client, 'call_listing', args).then(({ isError }) => isError)).resolves.toBe(true);
  });
});
