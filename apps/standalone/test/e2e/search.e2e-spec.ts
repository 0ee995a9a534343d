import type { CreateListing } from '@market/sdk';
import { randomBytes } from 'node:crypto';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const ENDPOINT = 'http://127.0.0.1:48123/call';
const LISTINGS = 12;

inEachMode('search', (harness) => {
  /** A word in the text of every listing of this suite, and of no other. */
  // A word of letters alone, because letters and digits are words of their own, too.
  const mark = `mark${randomBytes(5)
    .toString('hex')
    .replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!)}`;
  const { search } = stranger(harness).listings;
  let seller: Agent;
  let created: string[];

  const create = async (more: Partial<CreateListing>) =>
    (
      await seller.market.listings.create({
        name: 'Search me',
        description: `What the tests of search look for: ${mark}.`,
        ...more,
      })
    ).id;
  const idsOf = async (query: Parameters<typeof search>[0]) => (await search(query)).data.map(({ id }) => id);
  const answer = async (query: string) => {
    const response = await fetch(`${harness.baseUrl}/api/v1/listings?${query}`);
    return {
      status: response.status,
      body: (await response.json()) as {
        error?: { code: string };
        data: unknown[];
        pagination: Record<string, number>;
      },
    };
  };

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Searched seller' });
    created = [];
    for (let place = 0; place < LISTINGS; place += 1)
      created.unshift(await create({ name: `Shelf ${place}`, tags: [`${mark}paged`] }));
  });

  it('answers success, data and the four numbers of a page [spec: envelope.paginated-success, GET /listings]', async () => {
    const { status, body } = await answer(`q=${mark}paged&limit=5&page=2`);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['data', 'pagination', 'search', 'success']);
    expect(body).toMatchObject({ success: true, data: created.slice(5, 10).map((id) => ({ id })) });
    expect(body.pagination).toMatchObject({ page: 2, limit: 5, total: LISTINGS, totalPages: 3 });
    const { body: none } = await answer('q=nobodywouldcallalistingthis');
    expect(none).toMatchObject({
      success: true,
      data: [],
      pagination: { page: 1, limit: 20, total: 0, totalPages: 0 },
      search: { match: 'none' },
    });
  });

  it('also counts what was found by its values, and says how it can be paid, where asked [added: GET /listings]', async () => {
    const q = `${mark}facets`;
    await create({ name: 'Given away', tags: [q] });
    await create({
      name: 'Sold',
      tags: [q],
      pricing_model: 'per_call',
      pricing_amount: 1,
      private_endpoint_url: ENDPOINT,
    });
    const { body } = await answer(`q=${q}&limit=1&include=facets,ways_to_pay`);
    expect(body).toMatchObject({
      data: [{ rating: null }],
      pagination: { total: 2 },
      facets: {
        category: [],
        pricing_model: [
          { value: 'free', listings: 1 },
          { value: 'per_call', listings: 1 },
        ],
        delivery_type: [{ value: 'api', listings: 2 }],
        live: [{ value: 'false', listings: 1 }],
      },
      ways_to_pay: expect.arrayContaining([
        expect.objectContaining({ currency: 'USDC', schemes: expect.arrayContaining(['deposit']) as unknown }),
      ]) as unknown,
    });
  });

  it('puts what has every word first, inflected and misspelt, of name, description and tags [spec: GET /listings]', async () => {
    const kite = `kite${mark}`;
    const [glass, paper, both] = [
      await create({ name: 'Glass translations', tags: [kite] }),
      await create({ name: 'Paper', description: `Translates the paper of others, and says ${kite}.` }),
      await create({ name: `Paper glass ${kite}` }),
    ];
    const first = async (q: string, count: number) => new Set((await idsOf({ q })).slice(0, count));
    expect(await first(kite, 20)).toEqual(new Set([glass, paper, both]));
    expect(await first(`${kite} glass`, 2)).toEqual(new Set([glass, both]));
    expect(await first(`${kite} glass paper`, 1)).toEqual(new Set([both]));
    expect(await first(`${kite} translator`, 2)).toEqual(new Set([glass, paper]));
    expect(await first(`${kite} tranzlations`, 2)).toEqual(new Set([glass, paper]));
    expect(await first(`${kite.slice(0, -1)}${kite.at(-1)}${kite.at(-1)}`, 3)).toEqual(new Set([glass, paper, both]));
  });

  it('knows at once what was created, changed and withdrawn, in pages and in totals [spec: GET /listings]', async () => {
    const q = `${mark}now`;
    const state = async () => {
      const { data, pagination } = await search({ q });
      return [data.map(({ name, pricing_amount }) => `${name} ${pricing_amount}`), pagination.total];
    };
    const first = await create({
      name: 'First',
      tags: [q],
      pricing_model: 'per_call',
      pricing_amount: 1,
      private_endpoint_url: ENDPOINT,
    });
    expect(await state()).toEqual([['First 1'], 1]);
    const second = await create({ name: 'Second', tags: [q] });
    expect(await state()).toEqual([['Second 0', 'First 1'], 2]);
    await seller.market.listings.update({ id: first }, { name: 'Former', pricing_amount: 2.000001 });
    expect(await state()).toEqual([['Second 0', 'Former 2.000001'], 2]);
    expect([
      await idsOf({ q, min_price: '2.000001' }),
      await idsOf({ q, max_price: '2.000001' }),
      await idsOf({ q, min_price: '2.000002' }),
      await idsOf({ q, max_price: '2' }),
    ]).toEqual([[first], [second, first], [], [second]]);
    await seller.market.listings.remove({ id: second });
    expect(await state()).toEqual([['Former 2.000001'], 1]);
    await seller.market.listings.update({ id: second }, { status: 'draft' });
    expect(await state()).toEqual([['Former 2.000001'], 1]);
    await seller.market.listings.update({ id: second }, { status: 'active' });
    expect(await state()).toEqual([['Second 0', 'Former 2.000001'], 2]);
  });
});
