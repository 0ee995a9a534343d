import { mcpServices, type McpCall } from './mcp-services.js';
import type { SellerRequest } from './seller-server.js';

const tool = {
  name: 'add',
  annotations: { title: 'Adds' },
  inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', properties: { a: { type: 'number' } } },
  _meta: { market: { pricing_amount: 0.2 } },
};
const request = {
  body: { a: 1 },
  call: { deadline: new Date(Date.now() + 5_000) },
  signal: new AbortController().signal,
} as unknown as SellerRequest<Record<string, unknown>>;

describe('a service of a tool', () => {
  it('has what the tool says in its listing, and calls it within the deadline', async () => {
    const calls: unknown[] = [];
    const [service] = mcpServices([tool], async (...asked) => (calls.push(...asked), { structuredContent: 3 }));
    expect([service!.id, service!.listing]).toEqual([
      'add',
      {
        name: 'Adds',
        description: 'Adds: Adds',
        tags: [],
        input_schema: { type: 'object', properties: { a: { type: 'number' } } },
        example_input: {},
        pricing_amount: 0.2,
      },
    ]);
    expect(await service!.handler(request)).toBe(3);
    const timeout = expect.closeTo(5_000, -3) as number;
    expect(calls).toEqual([
      { name: 'add', arguments: { a: 1 } },
      { signal: request.signal, timeout },
    ]);
  });

  it('refuses what the server does not accept, and fails as the server does', async () => {
    const failing =
      (code: number): McpCall =>
      () =>
        Promise.reject(Object.assign(new Error('no'), { code }));
    const answer = (code: number) => mcpServices([tool], failing(code))[0]!.handler(request);
    expect(await answer(-32602)).toMatchObject({ status: 422, body: { content: [{ type: 'text', text: 'no' }] } });
    await expect(answer(-32603)).rejects.toThrow('no');
  });
});
