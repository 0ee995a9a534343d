import { ExactEvmScheme } from '@x402/evm/exact/client';
import { x402Client, x402HTTPClient } from '@x402/fetch';
import { validateDiscoveryExtension } from '@x402/extensions/bazaar';
import { eventually } from '@market/testing';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { attemptListing, free, listedWith, perCall } from '../support/listings.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

/** The order of its keys differs from the one in which a database would store them. */
const INPUT = {
  type: 'object',
  properties: { zone: { $ref: '#/$defs/zone' }, city: { type: 'string', maxLength: 20 } },
  required: ['city'],
  additionalProperties: false,
  $defs: { zone: { enum: ['east', 'west'] } },
};
const EXAMPLE = { zone: 'east', city: 'Bern' };
const OUTPUT = { type: 'object', properties: { celsius: { type: 'number' } } };
const SCHEMAS = { input_schema: INPUT, example_input: EXAMPLE, output_schema: OUTPUT };
/** The validation of this schema doubles with each level of a body. */
const SLOW = {
  input_schema: {
    type: 'object',
    anyOf: ['x', 'y'].map((name) => ({ properties: { n: { $ref: '#' } }, required: [name] })),
  },
  example_input: { x: 1 },
};
/** A test of a long text against this takes longer than a check may. */
const LARGE = '(a|b)*a(a|b){1000}$';
const nested = (levels: number): object => (levels === 0 ? {} : { n: nested(levels - 1) });

inEachMode('a listing that says what it takes', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let gift: Shop;
  let other: Shop;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    const handler = ({ body }: { body: unknown }) => ('city' in (body as object) ? { echo: body } : reply(422, {}));
    [shop, gift, other] = await Promise.all([
      openShop(seller, handler, SCHEMAS),
      openShop(seller, handler, { ...SCHEMAS, pricing_amount: 0 }),
      openShop(seller),
    ]);
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop, other]);
    await Promise.all([shop.close(), gift.close(), other.close()]);
  });

  const keyless = ({ listing }: Shop, body?: unknown, headers = {}): Promise<Response> =>
    fetch(`${harness.baseUrl}/api/v1/x402/${listing.slug}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined ? '' : JSON.stringify(body),
    });
  const attempt = async (fields: object) => bodyOf(await attemptListing(seller, free(fields)));

  it('shows it word for word wherever it is shown, and changes it', async () => {
    const { id, name } = await listedWith(seller, SCHEMAS);
    const text = JSON.stringify(SCHEMAS).slice(1, -1);
    const detail = await stranger(harness).send('GET', `/listings/${id}`);
    for (const part of text.split(',"output_schema":')) expect(detail.text).toContain(part);
    const found = await stranger(harness).listings.search({ q: name, limit: 100 });
    expect(found.data.find((listing) => listing.id === id)).toMatchObject({
      input_schema: INPUT,
      example_input: EXAMPLE,
    });
    const patch = async (body: object) => bodyOf(await seller.market.send('PATCH', `/listings/${id}`, { body }));
    expect(await patch({ input_schema: null })).toMatchObject({ data: { input_schema: null, example_input: EXAMPLE } });
    expect(await patch({ input_schema: { type: 'object', required: ['town'] } })).toMatchObject({
      error: { details: { reason: 'schema_invalid', field: 'example_input' } },
    });
    expect(await patch({ input_schema: INPUT, output_schema: null })).toMatchObject({
      data: { input_schema: INPUT, output_schema: null },
    });
    expect(await patch({ example_input: null })).toMatchObject({ error: { details: { field: 'example_input' } } });
  });

  it('shows it to x402 clients, in a form that their own package accepts', async () => {
    const { resources } = (await (
      await fetch(`${harness.baseUrl}/api/v1/discovery/search?query=%22${shop.listing.name}%22`)
    ).json()) as {
      resources: { resource: string; extensions: { bazaar: { info: object; schema: never } } }[];
    };
    const listed = resources.find(({ resource }) => resource.endsWith(shop.listing.slug))!.extensions.bazaar;
    const asked = await keyless(shop);
    const body = (await asked.json()) as { data: { payment: { x402: { extensions: { bazaar: typeof listed } } } } };
    // The header has only the example, because the headers of an answer must be small.
    const { extensions } = new x402HTTPClient(new x402Client()).getPaymentRequiredResponse(
      (header) => asked.headers.get(header),
      body,
    );
    expect(extensions!.bazaar).toMatchObject({ info: { input: { body: EXAMPLE }, output: { type: 'json' } } });
    expect(validateDiscoveryExtension(extensions!.bazaar as never)).toEqual({ valid: true });
    expect(body.data.payment.x402.extensions.bazaar).toEqual(listed);
    for (const bazaar of [listed, body.data.payment.x402.extensions.bazaar]) {
      expect(bazaar).toMatchObject({
        info: { input: { body: EXAMPLE } },
        schema: { properties: { input: { properties: { body: { required: ['city'], $defs: INPUT.$defs } } } } },
      });
      expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true });
      const wrong = JSON.parse(JSON.stringify(bazaar).replace('"zone":"east"', '"zone":"north"')) as never;
      expect(validateDiscoveryExtension(wrong).valid).toBe(false);
    }
  });

  it.each<[string, object, string]>([
    [
      'a remote reference',
      { input_schema: { type: 'object', $ref: 'http://127.0.0.1/x' }, example_input: {} },
      'input_schema',
    ],
    ['a pattern that needs backtracking', { output_schema: { pattern: '^(?!a)' } }, 'output_schema'],
    ['a schema that never ends', { output_schema: { $ref: '#' } }, 'output_schema'],
    ['a schema of no objects', { input_schema: {}, example_input: {} }, 'input_schema'],
    ['a schema without an example', { input_schema: INPUT }, 'example_input'],
    ['an example that does not fit', { input_schema: INPUT, example_input: { city: 7 } }, 'example_input'],
  ])('is refused with %s', async (_what, fields, field) => {
    expect(await attempt(fields)).toMatchObject({
      error: {
        code: 'BAD_REQUEST',
        details: { reason: 'schema_invalid', field },
        recovery: { next_action: 'fix_request' },
      },
    });
  });

  it.each<[string, object]>([
    ['input_schema', { input_schema: { type: 'object', title: 'x'.repeat(16_384) } }],
    ['example_input', { example_input: { text: 'x'.repeat(4_096) } }],
    ['output_schema', { output_schema: [] }],
    ['output_schema', { output_schema: true }],
  ])('is refused with %s that is too large, or no object', async (field, fields) => {
    expect(await attempt(fields)).toMatchObject({ error: { details: { fields: [{ field }] } } });
  });

  it('tells the price before a key is known, with what is wrong with the body beside it', async () => {
    for (const [body, misfit] of [
      [{}, { reason: 'request_body_misfit', path: '' }],
      [{ city: 7 }, { reason: 'request_body_misfit', path: '/city' }],
      [{ test: true }, { reason: 'request_body_misfit' }],
      [null, { reason: 'request_body_invalid', problem: 'not_an_object' }],
      [[], { reason: 'request_body_invalid', problem: 'not_an_object' }],
    ] as const) {
      const asked = await keyless(shop, body);
      expect([asked.status, asked.headers.has('payment-required'), await asked.json()]).toMatchObject([
        402,
        true,
        { error: { details: { body: misfit }, recovery: { next_action: 'pay_and_retry' } } },
      ]);
    }
    const fit = (await (await keyless(shop, EXAMPLE)).json()) as { error: object };
    expect(fit.error).not.toHaveProperty('details');
    expect(shop.requests).toEqual([]);
  });

  it('lets no body through that does not fit, before it asks for money', async () => {
    const wrong = [
      [{}, ''],
      [{ city: 7 }, '/city'],
      [{ city: 'x'.repeat(21) }, '/city'],
      [{ city: 'Bern', zone: 'north' }, '/zone'],
      [{ city: 'Bern', 'a/b': 1 }, '/a~1b'],
    ] as const;
    for (const [body, path] of wrong) {
      const answers = [await callOnce(buyer, shop.listing, body), await callOnce(buyer, gift.listing, body)];
      for (const answer of answers)
        expect([answer.status, bodyOf(answer)]).toMatchObject([
          400,
          {
            error: {
              code: 'BAD_REQUEST',
              details: { reason: 'request_body_misfit', path, problem: expect.any(String) as string },
              recovery: { next_action: 'fix_request' },
            },
          },
        ]);
    }
    expect([shop.requests, gift.requests]).toEqual([[], []]);
    expect((await buyer.market.gatewayRequests.list({ role: 'buyer' })).data).toEqual([]);
    expect((await keyless(shop)).status).toBe(402);
    expect((await keyless(shop, EXAMPLE)).status).toBe(402);
    expect(resultOf(await callOnce(buyer, gift.listing, EXAMPLE))).toMatchObject({
      seller_response: { echo: EXAMPLE },
    });
  });

  it('delivers what was paid for while it took something else, and takes no new signature for that', async () => {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())));
    const signed = async (): Promise<object> => {
      const asked = await keyless(shop);
      const required = new x402HTTPClient(client).getPaymentRequiredResponse(
        (name) => asked.headers.get(name),
        await asked.json(),
      );
      return {
        'payment-signature': Buffer.from(JSON.stringify(await client.createPaymentPayload(required))).toString(
          'base64',
        ),
      };
    };
    const [old, fresh] = [await signed(), await signed()];
    const paid = withRelayId(await payFor(buyer, shop.listing, EXAMPLE));
    const delivered = await (await keyless(shop, EXAMPLE, old)).text();
    await seller.market.listings.update(shop.listing.id, {
      input_schema: { type: 'object', required: ['town'] },
      example_input: { town: 'Bern' },
    });
    await eventually(async () => expect((await callOnce(buyer, shop.listing, EXAMPLE)).status).toBe(400));
    expect(resultOf(await callOnce(buyer, shop.listing, EXAMPLE, paid))).toMatchObject({ billable: true });
    expect(await (await keyless(shop, EXAMPLE, old)).text()).toBe(delivered);
    const refused = await keyless(shop, EXAMPLE, fresh);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { details: { reason: 'request_body_misfit' } } },
    ]);
    await seller.market.listings.update(shop.listing.id, SCHEMAS);
    await eventually(async () => expect((await callOnce(buyer, shop.listing, EXAMPLE)).status).toBe(402));
    // The refused signature can still be used.
    expect((await keyless(shop, EXAMPLE, fresh)).status).toBe(200);
  });

  it('sends its example when its endpoint is tested, or a body of its owner that fits', async () => {
    expect(await seller.market.endpoint.test(gift.listing)).toMatchObject({
      success: true,
      seller_response: { echo: EXAMPLE },
    });
    expect(gift.requests.at(-1)).toMatchObject({ body: EXAMPLE, call: { event: 'endpoint.test' } });
    const own = { city: 'Oslo' };
    await seller.market.endpoint.test(gift.listing, { body: own });
    expect(gift.requests.at(-1)).toMatchObject({ body: own, call: { event: 'endpoint.test' } });
    const sent = gift.requests.length;
    await expect(seller.market.endpoint.test(gift.listing, { body: { city: 7 } })).rejects.toMatchObject({
      status: 400,
      details: { reason: 'request_body_misfit', path: '/city' },
    });
    await seller.market.endpoint.update(gift.listing, { limits: { max_request_bytes: 1_024 } });
    await expect(
      seller.market.endpoint.test(gift.listing, { body: { city: 'x'.repeat(2_000) } }),
    ).rejects.toMatchObject({ status: 413, details: { reason: 'request_body_too_large' } });
    expect(gift.requests).toHaveLength(sent);
    await seller.market.endpoint.test(other.listing);
    expect(other.requests.at(-1)).toMatchObject({ body: { event: 'endpoint.test' } });
  });

  it('takes little time from others with a schema on which checks never end', async () => {
    const slow = bodyOf(await attemptListing(seller, perCall(SLOW))).data as { id: string };
    const answers = await Promise.all(Array.from({ length: 60 }, () => callOnce(buyer, slow, nested(50))));
    const uncheckable = {
      error: { details: { reason: 'request_body_uncheckable' }, recovery: { next_action: 'fix_request' } },
    };
    const slowed = {
      error: {
        details: { reason: 'input_schema_slow', retry_after_seconds: expect.any(Number) as number },
        recovery: { next_action: 'retry_after_delay' },
      },
    };
    for (const answer of answers) expect(bodyOf(answer)).toMatchObject(answer.status === 400 ? uncheckable : slowed);
    // A body that was checked in vain is not sent again as it is: no answer to it says when.
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400, 429]));
    expect((await callOnce(buyer, other.listing, {})).status).toBe(402);
    // Each check takes a quarter of a second of the half that a caller has.
    expect(answers.filter(({ status }) => status === 400).length).toBeLessThanOrEqual(3);
  });

  it.each<[string, object, object]>([
    ['a pattern as large as may be', { properties: { s: { pattern: LARGE } } }, { s: 'ab'.repeat(50_000) }],
    ['names, and a pattern as large as may be', { propertyNames: { pattern: LARGE } }, { ['ab'.repeat(50_000)]: 1 }],
    [
      'items that are compared in pairs',
      { properties: { s: { uniqueItems: true } } },
      { s: Array.from({ length: 10_000 }, (_, n) => ({ n })) },
    ],
  ])(
    'answers others while strangers have bodies checked against %s, over all its listings',
    async (_what, more, body) => {
      const many = await registerAgent(harness);
      const slow = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const input_schema = { type: 'object', ...more };
          const listed = await attemptListing(many, perCall({ input_schema, example_input: {} }));
          expect([listed.status, listed.text]).toEqual([201, expect.any(String)]);
          return bodyOf(listed).data as { slug: string };
        }),
      );
      let answered = 0;
      const asked = slow.flatMap(({ slug }) =>
        Array.from({ length: 8 }, async () => {
          const answer = await fetch(`${harness.baseUrl}/api/v1/x402/${slug}`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          });
          answered += 1;
          const { error } = (await answer.json()) as { error: { details: { body?: { reason: string } } } };
          return error.details.body?.reason ?? answer.status;
        }),
      );
      expect((await fetch(`${harness.baseUrl}/api/v1/health`)).status).toBe(200);
      expect(answered).toBeLessThan(asked.length);
      // A busy machine may have no process for one of them at the moment.
      const reasons = (await Promise.all(asked)).filter((reason) => reason !== 503);
      expect(reasons.filter((reason) => reason === 'request_body_uncheckable').length).toBeLessThanOrEqual(3);
      expect(new Set(reasons)).toEqual(new Set(['request_body_uncheckable', 'input_schema_slow']));
    },
  );
});
