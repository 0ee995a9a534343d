import { solveProofOfWork, type CreateListing, type ListingDetail } from '@market/sdk';
import { withClient } from '@market/testing';
import { randomBytes } from 'node:crypto';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { attemptListing, ENDPOINT, expectFieldRefused, free, listedWith, perCall } from '../support/listings.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

inEachMode('a field of a listing', (harness) => {
  let seller: Agent;
  const anyone = stranger(harness);

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Seller of fields' });
  });

  const refused = async (fields: object, field = Object.keys(fields)[0]!): Promise<void> =>
    expectFieldRefused(await attemptListing(seller, { ...free(), ...fields }), field);
  const shown = async <F extends keyof CreateListing & keyof ListingDetail>(
    field: F,
    value: CreateListing[F],
  ): Promise<void> => expect((await listedWith(seller, { [field]: value }))[field]).toEqual(value);

  describe('that is text', () => {
    type Row = [field: keyof CreateListing & keyof ListingDetail, max: number, rows: string];
    // The fuzzer of bounds tries every text at and beyond its bounds, in every request that has it.
    const texts: Row[] = [
      ['name', 100, 'listing.name, limit.listing-name'],
      ['description', 5_000, 'listing.description, limit.listing-description'],
      ['docs', 50_000, 'listing.docs, limit.docs'],
      ['connection_instructions', 10_000, 'listing.connection-instructions, limit.connection-instructions'],
      ['expected_delivery', 100, 'listing.expected-delivery, limit.expected-delivery'],
      ['risk_disclaimers', 5_000, 'listing.risk-disclaimers, limit.risk-disclaimers-sla'],
      ['sla', 5_000, 'listing.sla, limit.risk-disclaimers-sla'],
    ];
    for (const [field, max, rows] of texts) {
      it(`${field} is kept up to ${max} characters, whatever their size [spec: ${rows}]`, async () => {
        await shown(field, '🦊'.repeat(max));
        await refused({ [field]: '🦊'.repeat(max + 1) });
        if (field === 'name' || field === 'description') await refused({ [field]: null });
        else for (const value of [null, '']) await shown(field, value as string);
      });
    }

    it('comes back as it was sent, markup and all, however long and escaped it was', async () => {
      const hostile = [
        '<script>alert(1)</script>',
        '"><img src=x onerror=alert(1)>',
        '{{7*7}}${7*7}<%= 7*7 %>',
        "'; DROP TABLE listings; --",
        'e\u0301 is not \u00e9',
        'می\u200cخواهم 👩\u200d🚀',
        '𐀀𝒳🦊\u{10ffff}',
      ];
      for (const text of hostile) {
        const sent = {
          description: `${text} in a description`,
          docs: text,
          sla: text,
          risk_disclaimers: text,
          expected_delivery: text,
          connection_instructions: text,
          example_outputs: [{ label: text, content: text }],
        };
        expect(await listedWith(seller, sent)).toMatchObject(sent);
      }
      const escaped = (length: number): string => '\\ud83e\\udd8a'.repeat(length);
      const { challenge, difficulty } = await seller.market.listings.challenge();
      const rawBody = JSON.stringify({
        ...free({ name: 'Everything at its longest' }),
        challenge,
        pow_nonce: await solveProofOfWork({ challenge, difficulty }),
        docs: 'DOCS',
        connection_instructions: 'CON',
        sla: 'SLA',
        risk_disclaimers: 'RISK',
      })
        .replace('DOCS', escaped(50_000))
        .replace('CON', escaped(10_000))
        .replace('SLA', escaped(5_000))
        .replace('RISK', escaped(5_000));
      const answer = await seller.market.send('POST', '/listings', { rawBody });
      expect([answer.status, rawBody.length > 840_000]).toEqual([201, true]);
    });

    it('hides nothing from its readers, and is refused where it cannot be kept', async () => {
      for (const sent of [
        { name: 'turned \u202eeman' },
        { docs: 'zero\u200bwidth' },
        { example_outputs: [{ label: 'One', content: '\u0001\u001b[2J' }] },
      ])
        expect(bodyOf(await attemptListing(seller, { ...free(), ...sent }))).toMatchObject({
          error: { details: { reason: 'text_invalid', field: Object.keys(sent)[0] } },
        });
      for (const docs of ['nul\u0000nul', 'half a pair \ud83e'])
        expect(await attemptListing(seller, { ...free(), docs })).toMatchObject({ status: 400 });
      await refused({ name: 'Wеather' });
    });
  });

  describe('that is one of several', () => {
    const choices: [
      field: 'pricing_model' | 'preferred_currency' | 'delivery_type' | 'auth_method',
      initial: string,
      values: string[],
      row: string,
    ][] = [
      ['pricing_model', 'free', ['free', 'per_call', 'monthly', 'yearly', 'usage_tiered'], 'listing.pricing-model'],
      ['preferred_currency', 'USDC', ['USDC', 'ETH', 'SOL'], 'listing.preferred-currency'],
      ['delivery_type', 'api', ['api', 'webhook', 'streaming', 'batch', 'file'], 'listing.delivery-type'],
      ['auth_method', 'api_key', ['api_key', 'oauth2', 'bearer_token', 'none'], 'listing.auth-method'],
    ];
    for (const [field, initial, values, row] of choices) {
      it(`${field} is ${values.join(', ')}, at first ${initial} [spec: ${row}]`, async () => {
        for (const fields of [{}, { [field]: null }]) expect((await listedWith(seller, fields))[field]).toBe(initial);
        for (const value of values)
          expect(
            (
              await listedWith(seller, {
                [field]: value,
                ...(value === 'per_call' && { private_endpoint_url: ENDPOINT }),
              })
            )[field],
          ).toBe(value);
      });
    }

    it('status is draft or active, at first active, and never one that only the marketplace gives [spec: listing.status]', async () => {
      expect((await listedWith(seller, {})).status).toBe('active');
      for (const status of ['draft', 'active'] as const) await shown('status', status);
      for (const status of ['suspended', 'removed', '']) await refused({ status });
    });

    it('pricing_currency is USD, which every price is in [spec: listing.pricing-currency]', async () => {
      expect((await listedWith(seller, {})).pricing_currency).toBe('USD');
      await shown('pricing_currency', 'USD');
      for (const pricing_currency of ['EUR', 'usd', 'USDC', '', 840]) await refused({ pricing_currency });
    });

    it('category_id is the id of a category [spec: listing.category-id]', async () => {
      const [category] = await anyone.categories();
      expect(await listedWith(seller, {})).toMatchObject({ category_id: null, category: null });
      expect(await listedWith(seller, { category_id: category!.id })).toMatchObject({
        category_id: category!.id,
        category: { id: category!.id, name: category!.name, slug: category!.slug },
      });
      for (const category_id of ['', 'data-research', 1]) await refused({ category_id });
      const unknown = await attemptListing(seller, free({ category_id: '01995bad-5c00-7000-8000-00000000dead' }));
      expect([unknown.status, reasonOf(unknown)]).toEqual([400, 'category_not_found']);
    });
  });

  it('pricing_amount is US dollars with at most six decimals, at first 0 [spec: listing.pricing-amount]', async () => {
    expect((await listedWith(seller, {})).pricing_amount).toBe(0);
    for (const pricing_amount of [0, 0.000001, 0.1, 0.3, 1, 12.345678, 999_999.999999, 1_000_000]) {
      expect(await listedWith(seller, { pricing_model: 'monthly', pricing_amount })).toMatchObject({ pricing_amount });
    }
    for (const pricing_amount of [-0.000001, 0.0000001, 1_000_000.000001, 2 ** 53, 1e300])
      await refused({ pricing_amount, pricing_model: 'monthly' });
    expect((await attemptListing(seller, free({ pricing_amount: 1 }))).status).toBe(400);
    const { id } = await listedWith(seller, { pricing_model: 'yearly', pricing_amount: 1 });
    for (const pricing_amount of [0.000001, 1_000_000, 0])
      expect(await seller.market.listings.update(id, { pricing_amount })).toMatchObject({ pricing_amount });
    for (const pricing_amount of [0.0000001, null])
      expectFieldRefused(
        await seller.market.send('PATCH', `/listings/${id}`, { body: { pricing_amount } }),
        'pricing_amount',
      );
    for (const number of ['1e400', '-1e400', '1E-7', '0x1', '01', '+1', 'NaN', 'Infinity']) {
      expect(
        await seller.market.send('PATCH', `/listings/${id}`, { rawBody: `{"pricing_amount":${number}}` }),
      ).toMatchObject({ status: 400, json: { error: { code: 'BAD_REQUEST' } } });
    }
  });

  describe('that is a list', () => {
    it('formats is of texts, at first json [spec: listing.formats]', async () => {
      expect((await listedWith(seller, {})).formats).toEqual(['json']);
      for (const formats of [[], ['csv'], ['json', 'text/csv; "quoted"', '{}', 'NULL']])
        await shown('formats', formats);
      for (const formats of [[1], [''], [null]]) await refused({ formats });
    });

    it('request_formats is of texts, at first json', async () => {
      expect((await listedWith(seller, {})).request_formats).toEqual(['json']);
      await shown('request_formats', ['png', 'multipart/form-data']);
      for (const request_formats of [[], 'json', [''], Array(21).fill('json')]) await refused({ request_formats });
    });

    it('tags is of texts, and changes [spec: listing.tags]', async () => {
      const { id, tags } = await listedWith(seller, {});
      expect(tags).toEqual([]);
      for (const list of [
        [],
        ['weather'],
        ['a', 'b c', 'größe', '🦊', '{}', 'NULL', '\\'],
        Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(2, 'x') + '🦊'.repeat(48)),
      ]) {
        await shown('tags', list);
        expect(await seller.market.listings.update(id, { tags: list })).toMatchObject({ tags: list });
      }
      for (const list of [[1], [''], ['x'.repeat(51)]]) {
        await refused({ tags: list });
        expectFieldRefused(await seller.market.send('PATCH', `/listings/${id}`, { body: { tags: list } }), 'tags');
      }
    });

    it('example_outputs is of labels and contents [spec: listing.example-outputs]', async () => {
      expect((await listedWith(seller, {})).example_outputs).toEqual([]);
      for (const example_outputs of [
        [],
        [{ label: 'Berlin', content: '{"celsius": 6.5}' }],
        [
          { label: '', content: '' },
          { label: '🦊'.repeat(200), content: 'x'.repeat(20_000) },
        ],
      ])
        await shown('example_outputs', example_outputs);
      for (const example_outputs of [['x'], [{ label: 'x' }], [{ label: 'x', content: 'x', more: 'x' }]])
        await refused({ example_outputs });
    });
  });

  describe('that is a link', () => {
    const links = [
      ['demo_endpoint', 'listing.demo-endpoint'],
      ['github_url', 'listing.github-url'],
      ['logo_url', 'listing.logo-url'],
    ] as const;
    for (const [field, row] of links) {
      it(`${field} is an http or https URL and nothing else [spec: ${row}]`, async () => {
        expect((await listedWith(seller, {}))[field]).toBeNull();
        for (const url of ['https://例え.jp/パス', `http://example.com:8080/${'x'.repeat(2_048 - 24)}`])
          await shown(field, url);
        for (const url of ['JaVaScRiPt:alert(1)', 'ftp://example.com']) await refused({ [field]: url });
      });
    }
  });

  it('pow_nonce solves the challenge, once, and for its own agent [spec: listing.pow-nonce]', async () => {
    const puzzle = await seller.market.listings.challenge();
    const post = (agent: Agent, body: object) =>
      agent.market.send('POST', '/listings', { body: { ...free(), challenge: puzzle.challenge, ...body } });
    expectFieldRefused(await post(seller, {}), 'pow_nonce');
    for (const pow_nonce of [null, 1, '', 'x'.repeat(65)])
      expectFieldRefused(await post(seller, { pow_nonce }), 'pow_nonce');
    const malformed = await post(seller, { pow_nonce: 'not-alphanumeric' });
    expect([malformed.status, reasonOf(malformed)]).toEqual([400, 'proof_of_work_invalid']);
    const pow_nonce = await solveProofOfWork(puzzle);
    const foreign = await post(await registerAgent(harness), { pow_nonce });
    expect([foreign.status, reasonOf(foreign)]).toEqual([400, 'challenge_invalid']);
    expect((await post(seller, { pow_nonce })).status).toBe(201);
    const again = await post(seller, { pow_nonce });
    expect([again.status, reasonOf(again)]).toEqual([400, 'challenge_invalid']);
  });

  it('private_endpoint_url is required for per_call alone, and shown to nobody, ever [spec: listing.private-endpoint-url]', async () => {
    for (const [body, reason] of [
      [{ ...perCall(), private_endpoint_url: undefined }, 'private_endpoint_required'],
      [free({ private_endpoint_url: ENDPOINT }), 'private_endpoint_unexpected'],
      [perCall({ private_endpoint_url: 'ftp://example.com' }), 'endpoint_url_refused'],
    ] as const) {
      const answer = await attemptListing(seller, body);
      expect([answer.status, reasonOf(answer)]).toEqual([400, reason]);
    }
    const canary = `canary${randomBytes(8).toString('hex')}`;
    const secretUrl = (port: number): string => `http://127.0.0.1:${port}/${canary}?token=${canary}`;
    const answers = [
      await attemptListing(seller, perCall({ name: 'With a secret address', private_endpoint_url: secretUrl(48_124) })),
    ];
    expect(answers[0]!.status).toBe(201);
    const { id, slug } = bodyOf(answers[0]!).data as { id: string; slug: string };
    const send = async (...request: Parameters<Agent['market']['send']>) =>
      answers.push(await seller.market.send(...request));
    for (const ref of [id, slug]) {
      await send('GET', `/listings/${ref}`);
      answers.push(await anyone.send('GET', `/listings/${ref}`));
    }
    answers.push(await anyone.send('GET', '/listings?limit=100'));
    await send('PATCH', `/listings/${id}`, { body: { private_endpoint_url: secretUrl(48_125), name: 'Still secret' } });
    await send('PATCH', `/listings/${id}`, { body: { private_endpoint_url: `gopher://${canary}` } });
    await send('GET', `/listings/${id}/endpoint`);
    await send('POST', `/listings/${id}/endpoint/test`);
    await send('POST', `/gateway/${id}`, { body: {} });
    await send('PATCH', `/listings/${id}`, { body: { status: 'draft' } });
    await send('DELETE', `/listings/${id}`);
    for (const { text } of answers) expect(text).not.toContain(canary);
    await withClient(harness.databaseUrl, async (client) => {
      for (const schema of ['catalog', 'gateway']) {
        const { rows } = await client.query(`SELECT subject FROM ${schema}.outbox WHERE payload::text LIKE $1`, [
          `%${canary}%`,
        ]);
        expect(rows).toEqual([]);
      }
    });
  });

  describe('that nobody writes', () => {
    it('is id, slug, provider, category, created_at, gateway_url [spec: listing.read-only-fields, GET /listings/{listingId}]', async () => {
      const [category] = await anyone.categories();
      const { id } = await seller.market.listings.create(
        perCall({ name: `Read only ${randomBytes(4).toString('hex')}`, category_id: category!.id }),
      );
      const detail = await anyone.listings.get(id);
      expect(detail).toMatchObject({
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) as string,
        slug: expect.stringMatching(/^read-only-[0-9a-f]{8}$/) as string,
        provider_id: seller.id,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        provider: {
          id: seller.id,
          display_name: 'Seller of fields',
          avatar_url: null,
          account_type: 'agent',
          is_verified: false,
        },
        category: { id: category!.id, name: category!.name, slug: category!.slug },
        gateway_url: expect.stringMatching(new RegExp(`/api/v1/gateway/${id}$`)) as string,
        rating: null,
      });
      expect(Object.keys(detail.provider).sort()).toEqual([
        'account_type',
        'avatar_url',
        'display_name',
        'id',
        'is_verified',
      ]);
      expect(Object.keys(detail.category!).sort()).toEqual(['id', 'name', 'slug']);
      expect(await anyone.listings.get(detail.slug)).toEqual(detail);
      for (const listing of (await anyone.listings.search({ limit: 100 })).data)
        expect(listing).not.toHaveProperty('gateway_url');
      for (const pricing_model of ['free', 'monthly', 'yearly', 'usage_tiered'] as const)
        expect(await listedWith(seller, { pricing_model })).not.toHaveProperty('gateway_url');
      const missing = await anyone.send('GET', '/listings/01995bad-5c00-7000-8000-00000000dead');
      expect([missing.status, bodyOf(missing).error!.code]).toEqual([404, 'NOT_FOUND']);
    });
  });

  it('changes as it was set, is found by the change, and goes back to none with null [spec: PATCH /listings/{listingId}]', async () => {
    const [category] = await anyone.categories();
    const word = `w${randomBytes(6).toString('hex')}`;
    const texts = {
      docs: word,
      connection_instructions: 'c',
      demo_endpoint: 'https://example.com/d',
      github_url: 'https://example.com/g',
      logo_url: 'https://example.com/l',
      expected_delivery: 'soon',
      risk_disclaimers: 'r',
      sla: 's',
      category_id: category!.id,
    };
    const changes = {
      ...texts,
      delivery_type: 'batch',
      auth_method: 'none',
      preferred_currency: 'SOL',
      formats: ['csv'],
      example_outputs: [{ label: 'l', content: 'c' }],
    };
    const { id } = await listedWith(seller, {});
    expect(bodyOf(await seller.market.send('PATCH', `/listings/${id}`, { body: changes })).data).toMatchObject(changes);
    expect(
      (await anyone.listings.search({ q: word, category: category!.id, delivery_type: 'batch' })).data.map(
        (listing) => listing.id,
      ),
    ).toEqual([id]);
    const cleared = Object.fromEntries(Object.keys(texts).map((name) => [name, null]));
    expect(bodyOf(await seller.market.send('PATCH', `/listings/${id}`, { body: cleared })).data).toMatchObject({
      ...changes,
      ...cleared,
    });
    for (const name of ['name', 'pricing_model', 'pricing_amount', 'formats', 'status'])
      expectFieldRefused(await seller.market.send('PATCH', `/listings/${id}`, { body: { [name]: null } }), name);
  });

  it('lists the own in every state for a seller alone [spec: GET /listings]', async () => {
    const agent = await registerAgent(harness);
    const [draft, active] = [await listedWith(agent, { status: 'draft' }), await listedWith(agent, {})];
    const mine = await agent.market.send('GET', '/listings?mine=true');
    expect(bodyOf(mine)).toMatchObject({
      data: [
        { id: active.id, status: 'active' },
        { id: draft.id, status: 'draft' },
      ],
      pagination: { total: 2 },
    });
    expect(mine.headers.get('cache-control')).toBe('no-store');
    for (const headers of [undefined, { authorization: 'Bearer am_k_wrong' }])
      expect((await anyone.send('GET', '/listings?mine=true', { headers })).status).toBe(401);
    expect((await anyone.send('GET', '/listings', { headers: { authorization: 'Bearer am_k_wrong' } })).status).toBe(
      200,
    );
  });

  it('is left alone by a change that does not name it [spec: PATCH /listings/{listingId}]', async () => {
    const sent = {
      docs: 'd',
      sla: 's',
      tags: ['t'],
      formats: ['csv'],
      demo_endpoint: 'https://example.com/',
      preferred_currency: 'SOL',
      auth_method: 'none',
      connection_instructions: 'c',
    } as const;
    const { updated_at: listedAt, ...before } = await listedWith(seller, {
      ...sent,
      tags: [...sent.tags],
      formats: [...sent.formats],
    });
    const { updated_at: changedAt, ...same } = await seller.market.listings.update(before, {});
    expect(same).toEqual(before);
    expect(Date.parse(changedAt)).toBeGreaterThanOrEqual(Date.parse(listedAt));
    const changes = {
      name: 'Changed',
      description: 'Changed as a whole.',
      pricing_model: 'per_call',
      pricing_amount: 0.25,
      tags: ['u'],
      private_endpoint_url: ENDPOINT,
    } as const;
    const { gateway_signing_secret, ...updated } = await seller.market.listings.update(before, {
      ...changes,
      tags: [...changes.tags],
    });
    expect(gateway_signing_secret).toMatch(/^whsec_/);
    const { private_endpoint_url: _, ...visible } = changes;
    expect(updated).toMatchObject({
      ...before,
      ...visible,
      gateway_url: expect.stringMatching(/gateway/) as string,
      // Calls now go through the gateway, and there were none yet.
      quality: { live: false, last_success_at: null, success_rate_7d: null, calls_30d: 0 },
    });
    expect(await seller.market.listings.get(before.id)).toEqual(updated);
  });
});
