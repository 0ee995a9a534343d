import { solveProofOfWork, type Category, type CreateListing, type Listing } from '@market/sdk';
import { eventually } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { bodyOf, callOnce, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { attemptListing, ENDPOINT, free, perCall } from '../support/listings.js';
import { openShop } from '../support/seller.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

/** Letters alone are one word; letters and digits are words of their own, too. */
const randomLetters = (): string =>
  randomBytes(6)
    .toString('hex')
    .replaceAll(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!);

inEachMode('a listing', (harness) => {
  let seller: Agent;
  let other: Agent;
  const anyone = stranger(harness).listings;

  beforeAll(async () => {
    [seller, other] = await Promise.all([registerAgent(harness, { displayName: 'Seller' }), registerAgent(harness)]);
  });

  const attempt = (body: object) => attemptListing(seller, body);

  it('belongs to a category, of which all are told in their order [spec: GET /categories, category]', async () => {
    const answer = await stranger(harness).send('GET', '/categories');
    expect(answer).toMatchObject({ status: 200, json: { success: true } });
    const categories = bodyOf(answer).data as Category[];
    expect(categories.length).toBeGreaterThanOrEqual(12);
    for (const category of categories) {
      expect(category).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
        name: expect.stringMatching(/\S/) as string,
        slug: expect.stringMatching(/^[a-z0-9]+(-[a-z0-9]+)*$/) as string,
        description: expect.stringMatching(/\S/) as string,
        sort_order: expect.any(Number) as number,
      });
      expect(Number.isInteger(category.sort_order)).toBe(true);
    }
    const orders = categories.map(({ sort_order }) => sort_order);
    expect(orders).toEqual([...orders].sort((a, b) => a - b));
    for (const key of ['id', 'slug', 'name', 'sort_order'] as const)
      expect(new Set(categories.map((category) => category[key])).size).toBe(categories.length);
  });

  describe('is created', () => {
    it('with what the contract says, and shows its secret once [spec: POST /listings, listing.private-endpoint-url]', async () => {
      const created = await seller.market.listings.create(
        perCall({ name: 'Weather & Tides', tags: ['weather'], docs: 'How to call it.', sla: 'None.' }),
      );
      expect(created).toEqual({
        id: expect.any(String),
        name: 'Weather & Tides',
        slug: expect.stringMatching(/^weather-(and-)?tides/),
        provider_id: seller.id,
        status: 'active',
        pricing_model: 'per_call',
        pricing_amount: 0.5,
        created_at: expect.any(String),
        gateway_signing_secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      });
      for (const ref of [created.id, created.slug]) {
        const detail = await anyone.get(ref);
        expect(detail).toMatchObject({
          id: created.id,
          docs: 'How to call it.',
          sla: 'None.',
          tags: ['weather'],
          pricing_currency: 'USD',
          preferred_currency: 'USDC',
          delivery_type: 'api',
          auth_method: 'api_key',
          formats: ['json'],
          provider: {
            id: seller.id,
            display_name: 'Seller',
            avatar_url: null,
            account_type: 'agent',
            is_verified: false,
          },
          gateway_url: expect.stringMatching(new RegExp(`/api/v1/gateway/(${created.id}|${created.slug})$`)),
          gateway_limits: { max_request_bytes: 262_144 },
        });
        expect(JSON.stringify(detail)).not.toMatch(/whsec_|127\.0\.0\.1:48123/);
      }
      expect(await seller.market.listings.create(free())).not.toHaveProperty('gateway_signing_secret');
    });

    it('by a proof of work that is used once, by its agent, and is right', async () => {
      const puzzle = await seller.market.listings.challenge();
      expect(puzzle).toMatchObject({
        challenge: expect.stringMatching(/^[0-9a-f]{64}$/),
        difficulty: 1,
        algorithm: 'sha256',
        hint: expect.any(String),
      });
      const body = { ...free(), challenge: puzzle.challenge, pow_nonce: await solveProofOfWork(puzzle) };
      const foreign = await other.market.send('POST', '/listings', { body });
      expect([foreign.status, reasonOf(foreign)]).toEqual([400, 'challenge_invalid']);
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => seller.market.send('POST', '/listings', { body })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(5).fill(400)]);
      const unsolved = await attempt({ ...free(), pow_nonce: '-' });
      expect(unsolved.status).toBe(400);
    });

    it('once for one Idempotency-Key, whatever proof it comes with', async () => {
      const headers = { 'Idempotency-Key': `${harness.mode}-listing` };
      const create = async () => {
        const puzzle = await seller.market.listings.challenge();
        return seller.market.send('POST', '/listings', {
          body: {
            ...perCall({ name: 'Only once' }),
            challenge: puzzle.challenge,
            pow_nonce: await solveProofOfWork(puzzle),
          },
          headers,
        });
      };
      const first = await create();
      const again = await create();
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true']);
    });

    it('under a slug of its own, also when many are created at once under one name', async () => {
      const created = await Promise.all(
        Array.from({ length: 8 }, () => seller.market.listings.create(free({ name: 'The same name' }))),
      );
      expect(new Set(created.map(({ slug }) => slug)).size).toBe(8);
    });
  });

  it('shows its connection instructions to its owner, and to nobody who has not subscribed', async () => {
    const { id } = await seller.market.listings.create(free({ connection_instructions: 'Ask for the blue door.' }));
    expect(await seller.market.listings.get(id)).toMatchObject({ connection_instructions: 'Ask for the blue door.' });
    for (const viewer of [anyone, other.market.listings])
      expect(await viewer.get(id)).not.toHaveProperty('connection_instructions');
    for (const found of (await seller.market.listings.search({ limit: 100 })).data)
      expect(found).not.toHaveProperty('connection_instructions');
    expect(await seller.market.listings.update(id, { tags: [] })).toMatchObject({
      connection_instructions: 'Ask for the blue door.',
    });
  });

  it('grows popular with its subscribers', async () => {
    const mark = `popular${randomLetters()}`;
    const first = await seller.market.listings.create(free({ name: `First ${mark}` }));
    await seller.market.listings.create(free({ name: `Second ${mark}` }));
    const names = async () =>
      (await anyone.search({ q: mark, sort: 'popular' })).data.map(({ name }) => name.split(' ')[0]);
    expect(await names()).toEqual(['Second', 'First']);
    expect(await other.market.send('POST', '/subscribe', { body: { listing_id: first.id } })).toMatchObject({
      status: 201,
    });
    await eventually(async () => expect(await names()).toEqual(['First', 'Second']));
  });

  describe('changes', () => {
    it('as its owner says, keeps its slug, and is found under its new name', async () => {
      const created = await seller.market.listings.create(free({ name: 'Before the change' }));
      const word = `zephyr${randomBytes(4).toString('hex')}`;
      const updated = await seller.market.listings.update(created, { name: `After ${word}`, tags: ['new'] });
      expect(updated).toMatchObject({ name: `After ${word}`, slug: created.slug, tags: ['new'] });
      await eventually(async () =>
        expect((await anyone.search({ q: word })).data.map(({ id }) => id)).toEqual([created.id]),
      );
    });

    it('for nobody else', async () => {
      const created = await seller.market.listings.create(free());
      await expect(other.market.listings.update(created, { name: 'Mine now' })).rejects.toMatchObject({ status: 403 });
      await expect(other.market.listings.remove(created)).rejects.toMatchObject({ status: 403 });
      expect((await anyone.get(created)).name).toBe('Some things');
    });

    it('to per_call once, and then shows its secret', async () => {
      const created = await seller.market.listings.create(free());
      const updated = await seller.market.listings.update(created, {
        pricing_model: 'per_call',
        pricing_amount: 1,
        private_endpoint_url: ENDPOINT,
      });
      expect(updated.gateway_signing_secret).toMatch(/^whsec_/);
      expect(await seller.market.listings.update(created, { pricing_amount: 2 })).not.toHaveProperty(
        'gateway_signing_secret',
      );
    });
  });

  describe('as a draft', () => {
    it('is seen by its owner alone, until it is active', async () => {
      const draft = await seller.market.listings.create(free({ status: 'draft', name: 'Not yet' }));
      for (const ref of [draft.id, draft.slug]) {
        await expect(anyone.get(ref)).rejects.toMatchObject({ status: 404 });
        await expect(other.market.listings.get(ref)).rejects.toMatchObject({ status: 404 });
        expect((await seller.market.listings.get(ref)).status).toBe('draft');
      }
      await expect(other.market.listings.update(draft, { status: 'active' })).rejects.toMatchObject({ status: 404 });
      await seller.market.listings.update(draft, { status: 'active' });
      await eventually(async () => expect((await anyone.get(draft)).status).toBe('active'));
    });

    it('is removed by a delete; an active one is suspended, and comes back over draft', async () => {
      const draft = await seller.market.listings.create(free({ status: 'draft' }));
      expect(await seller.market.listings.remove(draft)).toMatchObject({ deleted: true });
      await expect(seller.market.listings.get(draft)).rejects.toMatchObject({ status: 404 });

      const active = await seller.market.listings.create(free());
      expect(await seller.market.listings.remove(active)).toMatchObject({ deleted: false, status: 'suspended' });
      await eventually(async () => expect(anyone.get(active)).rejects.toMatchObject({ status: 404 }));
      await seller.market.listings.update(active, { status: 'draft' });
      await seller.market.listings.update(active, { status: 'active' });
      await eventually(async () => expect((await anyone.get(active)).status).toBe('active'));
    });
  });

  describe('is found', () => {
    const mark = `marker${randomLetters()}`;
    let listed: Listing[];
    const search = (query: object) => anyone.search({ q: mark, limit: 100, ...query });
    const names = async (query: object): Promise<string[]> =>
      (await search(query)).data.map(({ name }) => name.split(' ')[0]!);

    beforeAll(async () => {
      const [first, second] = await stranger(harness).categories();
      const goods: Partial<CreateListing>[] = [
        { name: 'Apples', category_id: first!.id },
        { name: 'Books', category_id: second!.id, delivery_type: 'file' },
        { name: 'Calls', pricing_model: 'per_call', pricing_amount: 0.5, private_endpoint_url: ENDPOINT },
        { name: 'Data', pricing_model: 'per_call', pricing_amount: 0.000001, private_endpoint_url: ENDPOINT },
        {
          name: 'Eggs',
          pricing_model: 'per_call',
          pricing_amount: 12.345678,
          private_endpoint_url: ENDPOINT,
          category_id: first!.id,
        },
      ];
      for (const { name, ...more } of goods)
        await seller.market.listings.create(free({ ...more, name: `${name} ${mark}` }));
      await seller.market.listings.create(free({ name: `Hidden ${mark}`, status: 'draft' }));
      listed = await eventually(async () => {
        const { data } = await search({});
        expect(data.length).toBe(5);
        return data;
      });
    });

    it('newest first, with an exact count, and no draft among them [spec: GET /listings]', async () => {
      expect(listed.map(({ name }) => name.split(' ')[0])).toEqual(['Eggs', 'Data', 'Calls', 'Books', 'Apples']);
      expect((await search({})).pagination).toEqual({ page: 1, limit: 100, total: 5, totalPages: 1 });
      expect(listed[0]).toMatchObject({ provider: { id: seller.id }, category: { slug: expect.any(String) } });
      expect(listed[0]).not.toHaveProperty('gateway_url');
    });

    it('by every filter, and by all of them together [spec: GET /listings]', async () => {
      const [, , calls] = listed;
      const category = listed.find(({ category_id }) => category_id !== null)!.category_id!;
      expect(await names({ category })).toEqual(['Eggs', 'Apples']);
      expect(await names({ pricing_model: 'per_call' })).toEqual(['Eggs', 'Data', 'Calls']);
      expect(await names({ delivery_type: 'file' })).toEqual(['Books']);
      expect(await names({ min_price: calls!.pricing_amount })).toEqual(['Eggs', 'Calls']);
      expect(await names({ max_price: '0.5', min_price: '0.000001' })).toEqual(['Data', 'Calls']);
      expect(await names({ max_price_usd: 0.5, min_price: '0.000001' })).toEqual(['Data', 'Calls']);
      expect(await names({ max_price_usd: 0.5, max_price: 0, min_price: '0.000001' })).toEqual([]);
      expect(await names({ category, pricing_model: 'per_call', min_price: 1 })).toEqual(['Eggs']);
      expect(await names({ pricing_model: 'per_call', min_success: 0 })).toEqual([]);
      expect(await names({ category, pricing_model: 'monthly' })).toEqual([]);
    });

    it('in the order asked for [spec: GET /listings]', async () => {
      expect((await names({ sort: 'price_high' })).slice(0, 3)).toEqual(['Eggs', 'Calls', 'Data']);
      expect((await names({ sort: 'price_low' })).slice(-3)).toEqual(['Data', 'Calls', 'Eggs']);
      expect(new Set(await names({ sort: 'popular' })).size).toBe(5);
    });

    it('before the rest when more calls of it were bought, where the popular are asked for [spec: GET /listings]', async () => {
      const [often, seldom] = [
        await openShop(seller, undefined, { name: `Often ${mark}twice` }),
        await openShop(seller, undefined, { name: `Seldom ${mark}twice` }),
      ];
      const buyer = await registerAgent(harness);
      await callOnce(buyer, often.listing, {}, withRelayId(await payFor(buyer, often.listing, {})));
      await eventually(
        async () =>
          expect((await anyone.search({ q: `${mark}twice`, sort: 'popular' })).data.map(({ id }) => id)).toEqual([
            often.listing.id,
            seldom.listing.id,
          ]),
        { withinMs: 60_000 },
      );
      expect((await anyone.search({ q: `${mark}twice`, sort: 'newest' })).data.map(({ id }) => id)).toEqual([
        seldom.listing.id,
        often.listing.id,
      ]);
      await Promise.all([often.close(), seldom.close()]);
    });

    it('page by page, each once, and past the end there is nothing', async () => {
      const pages = await Promise.all([1, 2, 3, 4].map((page) => search({ page, limit: 2 })));
      expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1, 0]);
      expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(listed.map(({ id }) => id));
      for (const [index, { pagination }] of pages.entries())
        expect(pagination).toMatchObject({ page: index + 1, limit: 2, total: 5, totalPages: 3 });
    });

    it('to the end by a cursor, by any order', async () => {
      for (const sort of ['relevance', 'newest', 'price_high'] as const) {
        const whole = (await search({ sort })).data.map(({ id }) => id);
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const { data, pagination } = await search({ sort, limit: 2, ...(cursor && { cursor }) });
          seen.push(...data.map(({ id }) => id));
          cursor = pagination.next_cursor;
        } while (cursor);
        expect(seen).toEqual(whole);
      }
    });

    it('by a question, and says how it was read', async () => {
      const q = `please find me something for ${mark} and frobnicating, whatever it costs`;
      const answer = (await (
        await fetch(`${harness.baseUrl}/api/v1/listings?${new URLSearchParams({ q })}`)
      ).json()) as { data: { id: string }[]; search: object };
      expect(
        answer.data
          .slice(0, 5)
          .map(({ id }) => id)
          .sort(),
      ).toEqual(listed.map(({ id }) => id).sort());
      expect(answer.search).toMatchObject({ used: expect.arrayContaining([mark]), corrected: expect.any(Array) });
    });

    it.each([
      'cursor=x',
      `cursor=${Buffer.from('["popular","1","01995bad-5c00-7000-8000-000000000001"]').toString('base64url')}`,
      `cursor=${Buffer.from('["newest","2026-13-45 99:00:00+00","01995bad-5c00-7000-8000-000000000001"]').toString('base64url')}`,
      `cursor=${Buffer.from('["newest","1","x"]').toString('base64url')}`,
      `q=${'a'.repeat(1_001)}`,
      'limit=1&limit=2',
    ])('not with ?%s', async (query) => {
      const response = await fetch(`${harness.baseUrl}/api/v1/listings?${query}`);
      expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
        400,
        'BAD_REQUEST',
      ]);
    });

    it.each([
      "'",
      '"',
      '\\',
      '%',
      "'; DROP TABLE listings; --",
      '& | ! ( ) :*',
      '-',
      'a'.repeat(200),
      '🦀',
      '<script>',
      '"unclosed phrase',
      'or',
      'and not',
      '\u202e',
    ])('or not, by the words %j, but never by accident', async (q) => {
      const { data, pagination } = await anyone.search({ q });
      expect(pagination.total).toBeGreaterThanOrEqual(data.length);
    });
  });
});
