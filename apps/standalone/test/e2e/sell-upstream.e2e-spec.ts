import { isFile, isStream, sandboxPayer, type CallResult, type Listing } from '@market/sdk';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { eventually, startOwnProcess, type OwnProcess } from '@market/testing';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const PROJECT = fileURLToPath(new URL('../../../..', import.meta.url));
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Weather', version: '1' },
  paths: {
    '/cities/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } }],
      get: {
        operationId: 'getCity',
        summary: 'Weather of a city',
        parameters: [
          { name: 'units', in: 'query', schema: { type: 'array', items: { type: 'string' }, nullable: true } },
        ],
        responses: { 200: { content: { 'application/json': { schema: { type: 'object' } } } } },
      },
    },
    '/report': {
      get: { operationId: 'report', summary: 'Weather report', responses: { 200: { content: { 'text/csv': {} } } } },
    },
    '/chat': {
      post: {
        operationId: 'chat',
        summary: 'Weather chat',
        requestBody: { required: true, content: { 'application/json': { schema: ref('Chat') } } },
        responses: { 200: { content: { 'text/event-stream': {} } } },
      },
      put: { operationId: 'paint', requestBody: { content: { 'image/png': {} } }, responses: {} },
    },
  },
  components: {
    schemas: {
      Chat: { type: 'object', required: ['say'], properties: { say: { type: 'string' }, after: ref('Chat') } },
    },
  },
};

/** An API as others have it, which knows nothing of a marketplace. It takes its own key alone. */
const weather: RequestListener = async (request, response) => {
  const send = (status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const { pathname, searchParams } = new URL(request.url!, 'http://localhost');
  if (request.headers['x-key'] !== 'its own') return send(401, { detail: 'no key' });
  if (pathname === '/openapi.json') return send(200, DOCUMENT);
  if (pathname === '/report') return response.writeHead(200, { 'content-type': 'text/csv' }).end('city,sun\nBern,7\n');
  if (pathname === '/chat') {
    const { say } = (await json(request)) as { say: string };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${say}\n\n`);
    return say === 'break' ? response.destroy() : response.end('data: bye\n\n');
  }
  const id = Number(pathname.split('/').at(-1));
  if (id > 400) return send(id, { detail: 'not now' });
  return send(200, { id, units: searchParams.getAll('units') });
};

/** The same tools for both transports. */
const STDIO_SERVER = `
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
const server = new McpServer({ name: 'tools', version: '1' });
const text = (text) => ({ content: [{ type: 'text', text }] });
const inputSchema = z.object({ a: z.number(), b: z.number() });
const outputSchema = z.object({ sum: z.number() });
server.registerTool('add', { inputSchema, outputSchema }, ({ a, b }) => ({ ...text(''), structuredContent: { sum: a + b } }));
server.registerTool('environment', {}, () => text(Object.keys(process.env).filter((name) => /^(MARKET_|OWN_)/.test(name)).join()));
server.registerTool('fail', {}, () => { throw new Error('out of paint'); });
server.registerTool('die', {}, () => process.exit(1));
const _meta = { market: { formats: ['image/png'], pricing_amount: 0.1 } };
server.registerTool('paint', { _meta }, () => ({ content: [{ type: 'image', data: '//8=', mimeType: 'image/png' }] }));
await server.connect(new StdioServerTransport());
`;

inEachMode('a server of one’s own, sold by the command line', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let directory: string;
  let upstream: Server;
  let shop: OwnProcess | undefined;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    directory = await mkdtemp(join(tmpdir(), 'market-upstream-'));
    await mkdir(join(directory, 'market'));
    const account = {
      agentId: seller.id,
      apiKey: seller.registration.api_key,
      wallet: { chain: 'evm', key: seller.wallet.exportKey() },
      signingSecrets: {},
    };
    await writeFile(
      join(directory, 'market/config.json'),
      JSON.stringify({ url: harness.baseUrl, accounts: { [harness.baseUrl]: account } }),
    );
  });
  afterEach(async () => {
    await shop?.stop();
    upstream?.closeAllConnections();
    upstream?.close();
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function serve(listener: RequestListener, port = 0): Promise<string> {
    upstream = createServer(listener).listen(port, '127.0.0.1');
    await once(upstream, 'listening');
    return `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  }
  const run = (...args: string[]): OwnProcess =>
    startOwnProcess(process.execPath, [join(PROJECT, 'libs/cli/dist/main.js'), 'sell', '--json', ...args], {
      cwd: PROJECT,
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: directory, MARKET_HOST: '127.0.0.1', OWN_KEY: 'the tools’' },
    });
  /** @returns the lines about what is sold, once there are as many. */
  async function open(count: number, ...args: string[]): Promise<Record<string, { endpoint: string; price: number }>> {
    const opened = (shop = run(...args));
    let lines: { event: string; listing: string; endpoint: string; price: number }[] = [];
    await eventually(() => {
      lines = opened
        .output()
        .split('\n')
        .filter((line) => line.includes('"selling"'))
        .map((line) => JSON.parse(line) as never);
      if (lines.length < count) throw new Error(opened.output());
    });
    return Object.fromEntries(lines.map((line) => [line.listing, line]));
  }
  const buy = (listing: string | Listing, body: object): Promise<CallResult> =>
    buyer.market.call(listing as Listing, body, { pay: sandboxPayer(buyer.market), maxPriceUsd: 1 });

  it('sells the operations of an API, which answers with JSON, a file and a stream', async () => {
    const address = await serve(weather);
    const how = ['--upstream', address, '--upstream-header', 'X-Key: its own'];
    const sold = await open(3, ...how, '--price', '0.05', '--price', 'getCity=0.10', '--tag', 'climate');
    expect(shop!.output()).toContain('paint cannot be sold: Its body is image/png.');

    const { data: found } = await buyer.market.listings.search({ q: 'weather of a city', live: undefined });
    const city = found.find(({ provider_id }) => provider_id === seller.id)!;
    expect(city).toMatchObject({
      name: 'Weather of a city',
      pricing_amount: 0.1,
      tags: ['climate'],
      formats: ['json'],
    });
    expect(await buy(city, { id: 7, units: ['C', 'F'] })).toMatchObject({
      seller_response: { id: 7, units: ['C', 'F'] },
      charged_amount: { amount_cents: 10 },
    });
    await expect(buy(city, { id: 0 })).rejects.toMatchObject({ details: { path: '/id' } });
    expect(await buy(city, { id: 404 })).toMatchObject({ billable: false, seller_response: { detail: 'not now' } });
    expect(await buy(city, { id: 500 })).toMatchObject({ billable: false, seller_status_code: 500 });
    const named = (start: string) => Object.keys(sold).find((slug) => slug.startsWith(start))!;
    const report = await buy(named('weather-report'), {});
    expect(isFile(report.seller_response)).toBe(true);
    expect(Buffer.from(await report.bytes()).toString()).toBe('city,sun\nBern,7\n');
    const chat = await buy(named('weather-chat'), { say: 'hello' });
    expect(isStream(chat.seller_response) && chat.seller_response.events?.map(({ data }) => data)).toEqual([
      'hello',
      'bye',
    ]);
    expect(await buy(named('weather-chat'), { say: 'break' })).toMatchObject({ billable: false });
    // Nobody else is let in.
    const { endpoint } = sold[city.slug]!;
    expect((await fetch(endpoint, { method: 'POST', body: '{}' })).status).toBe(401);

    expect(await shop!.stop('SIGINT')).toBe(0);
    expect(await seller.market.listings.get(city.id)).toMatchObject({ status: 'draft' });
    const secretsOf = async () =>
      (
        JSON.parse(await readFile(join(directory, 'market/config.json'), 'utf8')) as {
          accounts: Record<string, { signingSecrets: object }>;
        }
      ).accounts[harness.baseUrl]!.signingSecrets;
    const secrets = await secretsOf();
    // A second run changes the listings that there are, whatever they are called.
    await open(1, ...how, '--only', 'getCity', '--price', '0.2', '--name', 'City weather');
    expect(await seller.market.listings.get(city.id)).toMatchObject({ name: 'City weather', pricing_amount: 0.2 });
    expect(await buy(city.id, { id: 8 })).toMatchObject({ seller_response: { id: 8, units: [] } });
    expect(await secretsOf()).toEqual(secrets);
    upstream.closeAllConnections();
    upstream.close();
    expect(await buy(city.id, { id: 9 })).toMatchObject({ billable: false });
  });

  it('asks for a price, and shows what would be sold', async () => {
    const how = ['--upstream', await serve(weather), '--upstream-header', 'X-Key: its own'];
    const unpriced = run(...how);
    expect([await unpriced.ended, unpriced.output()]).toEqual([2, expect.stringContaining('What does getCity cost?')]);
    const unknown = run(...how, '--only', 'getTown');
    expect([await unknown.ended, unknown.output()]).toEqual([2, expect.stringContaining('getCity, report, chat')]);
    for (const [missing, advice] of [
      [['--upstream', 'http://127.0.0.1:9'], 'name its file or address with --openapi'],
      [['--mcp', 'exit 3'], 'There is no MCP server at exit 3'],
    ] as const) {
      const none = run(...missing, '--price', '0.1');
      expect([await none.ended, none.output()]).toEqual([1, expect.stringContaining(advice)]);
    }
    const shown = run(...how, '--price', '0.1', '--dry-run', '--only', 'chat');
    expect(await shown.ended).toBe(0);
    expect(JSON.parse(shown.output())).toMatchObject([
      { operation: 'chat', pricing_amount: 0.1, formats: ['json', 'sse'], example_input: { say: 'text' } },
    ]);
  });

  it('sells the tools of an MCP server that it starts', async () => {
    const script = join(PROJECT, 'node_modules/.cache', `tools-${randomUUID()}.mjs`);
    await mkdir(join(PROJECT, 'node_modules/.cache'), { recursive: true });
    await writeFile(script, STDIO_SERVER);
    const sold = await open(5, '--mcp', `'${process.execPath}' ${script}`, '--price', '0.05', '--price', 'paint=0.30');
    const listing = (start: string) => Object.keys(sold).find((slug) => slug.startsWith(start))!;

    expect((await buy(listing('add'), { a: 2, b: 3 })).seller_response).toEqual({ sum: 5 });
    await expect(buy(listing('add'), { a: 2 })).rejects.toMatchObject({ details: { path: '' } });
    expect((await buy(listing('environment'), {})).seller_response).toEqual({
      content: [{ type: 'text', text: 'OWN_KEY' }],
    });
    expect(await buy(listing('fail'), {})).toMatchObject({
      billable: false,
      seller_response: { content: [{ type: 'text', text: 'out of paint' }] },
    });
    // It is started again when it ended.
    expect(await buy(listing('die'), {})).toMatchObject({ billable: false, seller_status_code: 500 });
    const painted = await buy(listing('paint'), {});
    await rm(script);
    expect([painted.charged_amount.amount_cents, Buffer.from(await painted.bytes())]).toEqual([
      30,
      Buffer.from([255, 255]),
    ]);
  });

  it('sells the tools of an MCP server by HTTP, and finds it again when it was restarted', async () => {
    const tools = (): RequestListener => {
      const server = new McpServer({ name: 'http tools', version: '1' });
      server.registerTool('hello', { description: 'Says hello to whoever asks.' }, () => ({
        content: [{ type: 'text', text: 'hello' }],
      }));
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
      const connected = server.connect(transport as never);
      return (request, response) =>
        void connected.then(() =>
          request.headers.authorization === 'Bearer its own'
            ? transport.handleRequest(request, response)
            : void response.writeHead(401).end(),
        );
    };
    const address = await serve(tools());
    const sold = await open(
      1,
      ...['--mcp', `${address}/mcp`, '--upstream-header', 'Authorization: Bearer its own', '--price', 'hello=0.01'],
    );
    const [listing] = Object.keys(sold);
    const hello = { seller_response: { content: [{ type: 'text', text: 'hello' }] } };
    expect(await buy(listing!, {})).toMatchObject(hello);

    upstream.closeAllConnections();
    upstream.close();
    await once(upstream, 'close');
    await serve(tools(), Number(new URL(address).port));
    expect(await buy(listing!, {})).toMatchObject({ billable: false });
    expect(await buy(listing!, {})).toMatchObject(hello);
  });
});
