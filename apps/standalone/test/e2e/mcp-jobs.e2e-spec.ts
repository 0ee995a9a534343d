import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { file, job, type JobWork } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { once } from 'node:events';
import { callOnce, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const TASKS = 'io.modelcontextprotocol/tasks';
const PNG = Buffer.from('iVBORw0KGgo=', 'base64');

type Result = CallToolResult & { structuredContent: Record<string, unknown> };
interface Working {
  request_id: string;
  relay_request_id: string;
  status: string;
}

inEachMode('an MCP client whose call is a job', (harness) => {
  let [seller, buyer, stranger]: Agent[] = [];
  let shop: Shop;
  /** What is told here, the seller's jobs wait for: "go on" with the name of one. */
  const told = new EventTarget();
  const tell = (name: string): void => void told.dispatchEvent(new Event(name));
  const open: Client[] = [];

  const work =
    (name: string): JobWork =>
    async ({ progress, signal }) => {
      const cancelled = once(signal, 'abort').then(() => Promise.reject(new Error('cancelled')));
      const goesOn = Promise.race([once(told, name), cancelled]);
      await progress({ percent: 30, message: 'Reading page 8' });
      await goesOn;
      if (name.startsWith('fail')) throw new Error('a login is needed');
      return name.startsWith('image') ? file(PNG, 'image/png') : { done: name };
    };

  beforeAll(async () => {
    [seller, buyer, stranger] = await Promise.all([1, 2, 3].map(() => registerAgent(harness)));
    shop = await openShop(
      seller!,
      ({ body }) => {
        const { name, isLong } = body as { name: string; isLong?: boolean };
        // The marketplace waits for no job that is said to take so long.
        return job(work(name), isLong ? { estimatedSeconds: 60 } : {});
      },
      { formats: ['json', 'png'], delivery_type: 'webhook' },
    );
  });
  afterEach(async () => void (await Promise.all(open.splice(0).map((client) => client.close()))));
  afterAll(() => shop.close());

  const keyOf = ({ registration }: Agent) => ({ authorization: registration.authorization_header });
  const connect = async (mode: 'auto' | 'legacy', headers: Record<string, string>, path = ''): Promise<Client> => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    open.push(client);
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${harness.baseUrl}/mcp${path}`), { requestInit: { headers } }),
    );
    return client;
  };
  const call = async (client: Client, name: string, args: object, options: object = {}): Promise<Result> =>
    (await client.callTool({ name, arguments: args as Record<string, unknown> }, options)) as Result;
  const buy = (client: Client, body: object, options?: object): Promise<Result> =>
    call(client, 'call_listing', { listing: shop.listing.slug, body }, options);
  const ask = (client: Client, request_id: string): Promise<Result> => call(client, 'get_request', { request_id });
  /** The seller goes on, and the marketplace knows. */
  const finish = async (client: Client, name: string, id: string): Promise<Result> => {
    tell(name);
    return eventually(async () => {
      const { data } = (await buyer!.market.send('GET', `/gateway-requests/${id}`)).json as {
        data: { status: string };
      };
      expect(['forwarding', 'settling']).not.toContain(data.status);
      return ask(client, id);
    });
  };

  it.each(['auto', 'legacy'] as const)('is told so and asks again for the result (%s)', async (mode) => {
    const client = await connect(mode, keyOf(buyer!));
    const body = { name: `text ${mode}`, isLong: true };
    const begun = await buy(client, body);
    expect(begun.isError ?? false).toBe(false);
    const working = begun.structuredContent as unknown as Working;
    expect(working).toEqual({
      request_id: expect.any(String) as string,
      relay_request_id: expect.stringMatching(/^0x/) as string,
      status: 'working',
      retry_after_seconds: expect.any(Number) as number,
      deadline: expect.any(String) as string,
    });
    expect(JSON.parse((begun.content[0] as { text: string }).text)).toEqual(working);
    const again = await eventually(async () => {
      const asked = await ask(client, working.request_id);
      expect(asked.structuredContent).toMatchObject({ ...working, percent: 30, message: 'Reading page 8' });
      return asked;
    });
    expect(again.isError ?? false).toBe(false);

    const done = await finish(client, body.name, working.request_id);
    const repeated = await callOnce(buyer!, shop.listing, body, withRelayId(working.relay_request_id));
    expect([done.isError ?? false, done.structuredContent]).toEqual([false, (repeated.json as { data: object }).data]);
    expect(done.structuredContent).toMatchObject({ billable: true, seller_response: { done: body.name } });
  });

  it.each(['auto', 'legacy'] as const)('hears how far it is while it waits (%s)', async (mode) => {
    const client = await connect(mode, keyOf(buyer!), `/${shop.listing.slug}`);
    const name = `heard ${mode}`;
    const heard: object[] = [];
    const result = await call(
      client,
      shop.listing.slug,
      { name },
      {
        onprogress: (progress: { progress: number }) => {
          heard.push(progress);
          // The seller goes on only when the client has heard of it.
          if (progress.progress === 30) tell(name);
        },
      },
    );
    expect(heard).toContainEqual({ progress: 30, total: 100, message: 'Reading page 8' });
    expect(result.structuredContent).toMatchObject({ billable: true, seller_response: { done: name } });
  });

  it('gets a file as content, and is told why there is none', async () => {
    const client = await connect('auto', keyOf(buyer!), `/${shop.listing.slug}`);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([shop.listing.slug, 'get_request']);
    const begin = async (name: string): Promise<string> =>
      ((await call(client, shop.listing.slug, { name, isLong: true })).structuredContent as unknown as Working)
        .request_id;
    const image = await finish(client, 'image', await begin('image'));
    expect(image.content[1]).toEqual({ type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' });
    expect(image.structuredContent).toMatchObject({
      billable: true,
      seller_response: { content_type: 'image/png', size: PNG.length },
    });
    const failure = await begin('failure');
    await finish(client, 'failure', failure);
    // What is owed back is known a moment after the job has failed.
    await eventually(async () => {
      const failed = await ask(client, failure);
      expect([failed.isError, failed.structuredContent]).toMatchObject([
        true,
        { billable: false, error: { reason: 'job_failed' }, refund: { status: 'refund_due' } },
      ]);
    });
  });

  it('shows a call to its parties alone', async () => {
    const client = await connect('auto', keyOf(buyer!));
    const name = 'mine';
    const { request_id: id } = (await buy(client, { name, isLong: true })).structuredContent as unknown as Working;
    for (const headers of [keyOf(stranger!), {} as Record<string, string>]) {
      const refused = await ask(await connect('auto', headers), id);
      expect([refused.isError, refused.structuredContent]).toMatchObject([
        true,
        { error: expect.any(Object) as object },
      ]);
    }
    const seen = await ask(await connect('auto', keyOf(seller!)), id);
    expect(seen.structuredContent).toMatchObject({ request_id: id, status: 'working', relay_request_id: null });
    expect((await call(client, 'get_request', { request_id: 'x' })).isError).toBe(true);
    await finish(client, name, id);
    expect((await ask(await connect('auto', keyOf(seller!)), id)).structuredContent).not.toHaveProperty(
      'seller_response',
    );
  });

  describe('that takes tasks', () => {
    const rpc = async (
      method: string,
      params: { name?: string; taskId?: string; [more: string]: unknown },
      { agent = buyer!, takes = true }: { agent?: Agent | undefined; takes?: boolean } = {},
    ): Promise<{ result?: Record<string, unknown>; error?: { code: number } }> => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': takes ? { extensions: { [TASKS]: {} } } : {},
      };
      const response = await fetch(`${harness.baseUrl}/mcp`, {
        method: 'POST',
        headers: {
          ...keyOf(agent),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          'mcp-name': params.name ?? params.taskId ?? '',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      });
      return (await response.json()) as never;
    };
    const begin = async (name: string): Promise<Record<string, unknown>> => {
      const args = { listing: shop.listing.slug, body: { name } };
      const { result } = await rpc('tools/call', { name: 'call_listing', arguments: args });
      return result!;
    };

    it('is told that there are some', async () => {
      const { result } = await rpc('server/discover', {});
      expect(result).toMatchObject({ capabilities: { extensions: { [TASKS]: {} } } });
    });

    it('gets one at once, and asks for its state and its result', async () => {
      const task = await begin('a task');
      expect(task).toMatchObject({
        resultType: 'task',
        taskId: expect.any(String) as string,
        status: 'working',
        createdAt: expect.any(String) as string,
        lastUpdatedAt: expect.any(String) as string,
        ttlMs: expect.any(Number) as number,
        pollIntervalMs: expect.any(Number) as number,
      });
      const taskId = task['taskId'] as string;
      await eventually(async () =>
        expect((await rpc('tasks/get', { taskId })).result).toMatchObject({
          resultType: 'complete',
          taskId,
          status: 'working',
          statusMessage: 'Reading page 8',
        }),
      );
      expect((await rpc('tasks/update', { taskId, inputResponses: {} })).result).toMatchObject({
        resultType: 'complete',
      });
      tell('a task');
      await eventually(async () =>
        expect((await rpc('tasks/get', { taskId })).result).toMatchObject({
          status: 'completed',
          result: { structuredContent: { billable: true, seller_response: { done: 'a task' } } },
        }),
      );
    });

    it('may ask to cancel one, and gets none of others', async () => {
      const taskId = (await begin('cancelled'))['taskId'] as string;
      for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
        expect((await rpc(method, { taskId }, { agent: stranger })).error).toMatchObject({ code: -32_602 });
        expect((await rpc(method, { taskId }, { takes: false })).error).toMatchObject({ code: -32_021 });
        expect((await rpc(method, { taskId: 'x' })).error).toMatchObject({ code: -32_602 });
      }
      expect((await rpc('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
      await eventually(async () =>
        expect((await rpc('tasks/get', { taskId })).result).toMatchObject({
          status: 'completed',
          result: { isError: true, structuredContent: { billable: false, error: { reason: 'job_failed' } } },
        }),
      );
      expect((await rpc('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    });
  });
});
