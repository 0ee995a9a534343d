import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import type { Caller } from './caller.js';
import type { CallersInterface } from './callers-interface.js';
import { listingServer, marketplaceServer, toolNameOf } from './mcp-servers.js';

describe('the price of a listing', () => {
  const listing = {
    id: 'an-id',
    slug: 'costs-0-001',
    name: 'Costs $0.001',
    description: 'Costs $0.001 a call.',
    pricing_model: 'per_call',
    delivery_type: 'api',
    pricing_amount: 0.25,
    tags: ['$0.001'],
    quality: null,
    rating: null,
    provider: { display_name: 'Costs $0.001' },
    category: null,
    input_schema: { title: 'Costs $0.001' },
    example_input: null,
  };
  const answers: Record<string, unknown> = { listings: [listing], [`listings/${listing.slug}`]: listing };
  const send: CallersInterface['send'] = (_method, path) =>
    Promise.resolve({
      ...{ status: 200, headers: {}, text: '', bytes: Buffer.alloc(0) },
      json: { success: true, data: answers[path.slice('/api/v1/'.length).split('?')[0]!] },
    });
  const caller: Caller = { api: { send } as CallersInterface, hasKey: false, publicUrl: 'https://market.example' };
  const connected = async (server: { connect(transport: InMemoryTransport): Promise<void> }): Promise<Client> => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1' });
    await Promise.all([server.connect(theirs), client.connect(ours)]);
    return client;
  };

  it('is the most of a listing that is charged by use', async () => {
    const client = await connected(listingServer(caller, { ...listing, usage: { unit: 'token' } }));
    const [tool] = (await client.listTools()).tools;
    expect(tool!.description).toMatch(/^Costs at most \$0\.25 a call, charged by use\./);
  });

  it.each([
    ['search_listings', {}],
    ['get_listing', { listing: listing.slug }],
  ])('comes before every text of the seller in %s', async (name, given) => {
    const client = await connected(marketplaceServer(caller));
    const { content } = await client.callTool({ name, arguments: given });
    const { text } = content[0] as { text: string };
    expect(text).toContain('0.001');
    expect(text.indexOf('0.25')).toBeGreaterThan(0);
    expect(text.indexOf('0.25')).toBeLessThan(text.search(/0.001/));
  });

  it('comes before the description in the tool of the listing itself', async () => {
    const client = await connected(listingServer(caller, listing));
    const [tool] = (await client.listTools()).tools;
    expect(tool!.description).toMatch(/^Costs \$0\.25 a call\./);
  });
});

describe('the name of a tool', () => {
  it('is the slug, and stays apart from that of a slug that begins alike', () => {
    expect(toolNameOf('wind-forecast')).toBe('wind-forecast');
    const [one, other] = ['a', 'b'].map((end) => toolNameOf(`${'long-name-'.repeat(8)}${end}`));
    expect(one).toMatch(/^long-name-.{46}[0-9a-f]{8}$/);
    expect(one).toHaveLength(64);
    expect(other).not.toBe(one);
  });
});
