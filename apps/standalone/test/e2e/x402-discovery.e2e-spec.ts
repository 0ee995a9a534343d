import { eventually } from '@market/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { UNMEASURED } from '../support/listings.js';

interface Resource {
  resource: string;
  accepts: { scheme: string; network: string; amount: string; payTo: string }[];
}
interface Resources {
  items: Resource[];
  pagination: { limit: number; offset: number; total: number; next_cursor?: string };
}
interface WellKnown {
  version: number;
  resources: string[];
  next_cursor?: string;
}
interface Found {
  resources: Resource[];
  partialResults: boolean;
  pagination: { limit: number; cursor: string | null };
}

inEachMode('discovery of what can be paid with x402', (harness) => {
  /** A word in the name of every listing of this file, so that a search finds only these. */
  const word = `zephyr${harness.mode}`;
  let seller: Agent;
  let shops: Shop[];

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Seller' });
    const fields = [
      { name: `${word} one`, pricing_amount: 0.25, tags: ['wind', 'naïve'] },
      { name: `${word} two`, pricing_amount: 0.000001, preferred_currency: 'SOL' },
      { name: `${word} three`, pricing_amount: 1.5 },
      { name: `${word} free of charge`, pricing_amount: 0 },
    ] as const;
    shops = [];
    for (const { tags, ...more } of fields.map((field) => ({ tags: [], ...field })))
      shops.push(await openShop(seller, undefined, { ...more, tags: [...tags] }));
    await seller.market.listings.create({
      name: `${word} by the month`,
      description: 'Is not paid per call.',
      pricing_model: 'monthly',
      pricing_amount: 5,
    });
  });
  afterAll(() => Promise.all(shops.map((shop) => shop.close())));

  const get = async <T>(path: string): Promise<{ status: number; headers: Headers; body: T }> => {
    const response = await fetch(`${harness.baseUrl}${path}`);
    return { status: response.status, headers: response.headers, body: (await response.json()) as T };
  };
  const resources = async (query: string): Promise<Resources> =>
    (await get<Resources>(`/api/v1/discovery/resources?${query}`)).body;
  const search = async (query: string): Promise<Found> =>
    (await get<Found>(`/api/v1/discovery/search?query=${word}&${query}`)).body;
  const addressOf = ({ listing }: Shop): string => `/api/v1/x402/${listing.slug}`;
  const paths = (found: Resource[]): string[] => found.map(({ resource }) => new URL(resource).pathname);

  it('names each listing that is paid per call with what a client would sign, as a facilitator does', async () => {
    const { status, headers, body } = await get<Found>(`/api/v1/discovery/search?query=${word}`);
    expect([status, headers.get('cache-control'), headers.get('etag')]).toEqual([
      200,
      'no-cache',
      expect.stringMatching(/^W\//),
    ]);
    expect(body).toMatchObject({ x402Version: 2, partialResults: false, pagination: { limit: 20, cursor: null } });
    expect(paths(body.resources).sort()).toEqual(shops.slice(0, 3).map(addressOf).sort());
    const [one, two] = shops.map((shop) => body.resources.find(({ resource }) => resource.endsWith(addressOf(shop))));
    expect(one).toEqual({
      resource: expect.stringMatching(/^http.*\/api\/v1\/x402\//) as string,
      type: 'http',
      x402Version: 2,
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          amount: '250000',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          payTo: seller.wallet.address,
          maxTimeoutSeconds: 600,
          extra: { name: 'USDC', version: '2' },
        },
      ],
      lastUpdated: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T/) as string,
      description: expect.stringContaining(`${word} one: `) as string,
      mimeType: 'application/json',
      serviceName: `${word} one`,
      tags: ['wind'],
      quality: UNMEASURED,
      extensions: {
        bazaar: {
          info: { input: { type: 'http', method: 'POST', bodyType: 'json', body: {} } },
          schema: expect.objectContaining({ required: ['input'] }) as object,
        },
      },
    });
    // Signed payments do not accept so small an amount.
    expect(two).toMatchObject({ accepts: [] });
  });

  it('says the terms that the 402 says', async () => {
    const asked = await fetch(`${harness.baseUrl}${addressOf(shops[0]!)}`);
    const { resource, accepts } = JSON.parse(
      Buffer.from(asked.headers.get('payment-required')!, 'base64').toString(),
    ) as { resource: { url: string }; accepts: [Resource['accepts'][number] & { extra: object }] };
    const shown = (await search('network=eip155:84532')).resources.find((item) =>
      item.resource.endsWith(addressOf(shops[0]!)),
    )!;
    expect(resource.url).toBe(shown.resource);
    expect(accepts[0]).toMatchObject({ ...shown.accepts[0] });
  });

  it('names what a call that is charged by use accepts as its 402 does, and finds it by that', async () => {
    const usage = { unit: 'token', tiers: [{ price: 0.01 }] };
    const shop = await openShop(seller, undefined, {
      name: `${word} by use`,
      pricing_amount: 0.4,
      usage: usage as never,
      formats: ['json', 'sse'],
    });
    type Accepts = { scheme: string; extra: object }[];
    const asked = await get<{ data: { payment: { x402: { accepts: Accepts } } } }>(addressOf(shop));
    const shown = (await search('scheme=upto')).resources;
    expect(paths(shown)).toEqual([addressOf(shop)]);
    const { accepts } = asked.body.data.payment.x402;
    expect(accepts).toMatchObject(shown[0]!.accepts);
    expect(accepts.map(({ scheme }) => scheme)).toEqual(['upto', 'exact']);
    expect(paths((await search('scheme=exact')).resources)).toContain(addressOf(shop));
    await seller.market.listings.update(shop.listing.id, { status: 'draft' });
    await shop.close();
  });

  it('asks for a signature that lasts as long as a job may take, as the 402 does', async () => {
    const timeoutsOf = async (shop: Shop): Promise<unknown[]> => {
      const path = addressOf(shop);
      const asked = await get<{ data: { payment: { x402: { accepts: { maxTimeoutSeconds: number }[] } } } }>(path);
      const shown = (await resources('limit=100')).items.find(({ resource }) => resource.endsWith(path))!;
      return [asked.body.data.payment.x402.accepts, shown.accepts].map((accepts) =>
        accepts.map((each) => (each as { maxTimeoutSeconds?: number }).maxTimeoutSeconds),
      );
    };
    const limits = { job_deadline_seconds: 1_000 };
    const delivers = await openShop(seller, undefined, { delivery_type: 'batch' });
    const sets = await openShop(seller);
    await seller.market.endpoint.update(sets.listing, { limits: limits as never });
    try {
      await eventually(async () => expect(await timeoutsOf(sets)).toEqual([[1_120], [1_120]]));
      expect(await timeoutsOf(delivers)).toEqual([[3_720], [3_720]]);
      expect(await timeoutsOf(shops[0]!)).toEqual([[600], [600]]);
    } finally {
      for (const shop of [delivers, sets]) {
        await seller.market.listings.remove(shop.listing);
        await shop.close();
      }
    }
  });

  it('pages by any offset and limit, every resource once', async () => {
    const all = paths((await resources('limit=100')).items);
    for (const [offset, limit] of [
      [0, 1],
      [0, 2],
      [1, 1],
      [1, 2],
      [2, 2],
      [1, 5],
      [3, 2],
    ] as const)
      expect(paths((await resources(`offset=${offset}&limit=${limit}`)).items)).toEqual(
        all.slice(offset, offset + limit),
      );
    const page = await resources('offset=1&limit=2');
    expect(page).toMatchObject({ x402Version: 2, pagination: { limit: 2, offset: 1 } });
    expect(page.items).toHaveLength(2);
    expect(page.pagination.total).toBeGreaterThanOrEqual(shops.length - 1);
    expect(await resources('offset=1000000000')).toMatchObject({
      items: [],
      pagination: { total: expect.any(Number) as number },
    });

    const followed: string[] = [];
    for (let query: string | null = 'limit=2'; query !== null;) {
      const page = await search(query);
      followed.push(...paths(page.resources));
      query = page.pagination.cursor && `limit=2&cursor=${page.pagination.cursor}`;
    }
    expect(followed.sort()).toEqual(shops.slice(0, 3).map(addressOf).sort());
    // A listing that comes between shifts no page.
    const [first] = all;
    const after = await resources('limit=1');
    shops.push(await openShop(seller, undefined, { name: 'Comes late', pricing_amount: 2 }));
    const next = await resources(`limit=1&cursor=${after.pagination.next_cursor}`);
    expect([paths(after.items), paths(next.items)]).toEqual([[first], [all[1]]]);
    expect((await resources('limit=2&offset=1')).pagination).not.toHaveProperty('next_cursor');
  });

  it.each([
    ['type=http', 3],
    ['type=ftp', 0],
    ['scheme=exact', 2],
    ['scheme=batch-settlement', 0],
    ['network=eip155:84532', 2],
    ['network=eip155:1', 0],
    ['payTo=<seller>', 2],
    ['payTo=<SELLER>', 2],
    ['payTo=0x52908400098527886E0F7030069857D2E4169EE7', 0],
    ['extensions=bazaar', 3],
    ['extensions=bazaar,other', 0],
  ])('filters by %s, before it counts and pages', async (filter, count) => {
    const query = filter
      .replace('<seller>', seller.wallet.address)
      .replace('<SELLER>', seller.wallet.address.toLowerCase());
    expect((await search(query)).resources).toHaveLength(count);
    const { items, pagination } = await resources(`${query}&limit=1000`);
    expect([pagination.limit, items.length]).toEqual([100, Math.min(100, pagination.total)]);
    expect(pagination.total).toBeGreaterThanOrEqual(count);
    if (count === 0) expect(pagination.total).toBe(0);
  });

  it.each(['limit=0', 'limit=x', 'offset=-1', 'offset=1000000001', 'cursor=1', 'limit=1&limit=2', 'other=1'])(
    'refuses %s',
    async (query) => {
      const { status, body } = await get<{ error: { code: string; details: { reason: string } } }>(
        `/api/v1/discovery/resources?${query}`,
      );
      expect([status, body.error.code, body.error.details.reason]).toEqual([400, 'BAD_REQUEST', 'request_invalid']);
    },
  );

  it('finds the MCP face of each listing, as an MCP client finds it', async () => {
    const found = (await search('type=mcp&network=eip155:84532')).resources as (Resource & {
      type: string;
      extensions: { bazaar: { info: { input: { type: string; toolName: string; inputSchema: object } } } };
    })[];
    const faces = paths(found).sort();
    expect(faces).toEqual(
      shops
        .slice(0, 1)
        .concat(shops.slice(2, 3))
        .map(({ listing }) => `/mcp/${listing.slug}`)
        .sort(),
    );
    for (const { type, resource, accepts, extensions } of found) {
      const { input } = extensions.bazaar.info;
      expect([type, input.type, accepts.length]).toEqual(['mcp', 'mcp', 1]);
      const client = new Client({ name: 'indexer', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${harness.baseUrl}${new URL(resource).pathname}`)),
      );
      const { tools } = await client.listTools();
      expect(tools.map(({ name, inputSchema }) => [name, inputSchema])).toEqual([[input.toolName, input.inputSchema]]);
      await client.close();
    }
  });

  it('says when a listing was last changed', async () => {
    const shown = async () =>
      ((await search('limit=100')).resources as (Resource & { lastUpdated: string })[]).find(({ resource }) =>
        resource.endsWith(addressOf(shops[0]!)),
      )!.lastUpdated;
    const before = await shown();
    await seller.market.listings.update(shops[0]!.listing.id, { docs: 'More to read.' });
    await eventually(async () => expect(Date.parse(await shown())).toBeGreaterThan(Date.parse(before)));
  });

  it('tells crawlers the addresses, and OpenAPI readers what is paid', async () => {
    const { body } = await get<WellKnown>('/.well-known/x402');
    // Where there are more of them, `next_cursor` leads on.
    expect(Object.keys(body)).toEqual(expect.arrayContaining(['version', 'resources']));
    expect(Object.keys(body).filter((key) => key !== 'next_cursor')).toHaveLength(2);
    expect(body.version).toBe(1);
    expect(body.resources.length).toBeGreaterThan(0);
    for (const resource of body.resources) expect(resource).toMatch(/^http.*\/api\/v1\/x402\/[a-z0-9-]+$/);
    const followed: string[] = [];
    for (let query: string | null = 'type=mcp&limit=1'; query !== null;) {
      const page: WellKnown = (await get<WellKnown>(`/.well-known/x402?${query}`)).body;
      followed.push(...page.resources);
      query = page.next_cursor ? `type=mcp&limit=1&cursor=${page.next_cursor}` : null;
    }
    expect(followed).toEqual(body.resources.map((resource) => resource.replace('/api/v1/x402/', '/mcp/')));
    const { body: document } = await get<{ paths: Record<string, { post: Record<string, unknown> }> }>(
      '/api/v1/openapi.json',
    );
    for (const path of ['gateway', 'x402'])
      expect(document.paths[`/api/v1/${path}/{listingId}`]!.post['x-payment-info']).toEqual({
        price: { mode: 'dynamic', currency: 'USD', min: '0', max: '1000000' },
        protocols: [{ x402: {} }],
      });
  });
});
