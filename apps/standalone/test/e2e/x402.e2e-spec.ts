import type { Offer } from '@market/sdk';
import { reply } from '@market/sdk/seller';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

/** Uses unmodified clients of their packages. */
inEachMode('a stock x402 client', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let failing: number | null = null;
  const payer = privateKeyToAccount(generatePrivateKey());
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer));
  const paying = wrapFetchWithPayment(fetch, client);

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([
      registerAgent(harness, { displayName: 'Seller' }),
      registerAgent(harness, { displayName: 'Buyer' }),
    ]);
    shop = await openShop(seller, ({ body }) => (failing ? reply(failing, { sorry: true }) : { echo: body }), {
      pricing_amount: 0.25,
    });
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  const request = (body: object, headers: Record<string, string> = {}): [string, RequestInit] => [
    `${harness.baseUrl}/api/v1/gateway/${shop.listing.slug}`,
    {
      method: 'POST',
      headers: {
        authorization: buyer.registration.authorization_header,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(body),
    },
  ];

  it('pays a listing with fetch: asked, signed, answered, charged once, with both receipts', async () => {
    const before = shop.requests.length;
    const response = await paying(...request({ city: 'Bern' }, { 'idempotency-key': 'x402-bern' }));
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as {
      data: { billable: boolean; charged_amount: object; seller_response: object };
    };
    expect(data).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      seller_response: { echo: { city: 'Bern' } },
    });
    expect(shop.requests).toHaveLength(before + 1);

    const paid = new x402HTTPClient(client).getPaymentSettleResponse((name) => response.headers.get(name));
    expect(paid).toMatchObject({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      network: 'eip155:84532',
      payer: payer.address.toLowerCase(),
    });
    const receipts = await Promise.all([
      buyer.market.receipts.list({ role: 'buyer' }),
      seller.market.receipts.list({ role: 'seller' }),
    ]);
    for (const { data: list } of receipts)
      expect(list[0]).toMatchObject({ transaction_hash: paid.transaction, gross_amount: 0.25 });

    // With the same key, the stored answer is returned without a payment.
    const again = await fetch(...request({ city: 'Bern' }, { 'idempotency-key': 'x402-bern' }));
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(shop.requests).toHaveLength(before + 1);
  });

  it('pays two cents by signature, or by a sandbox payment, and is told of the other way', async () => {
    const cheap = await openShop(seller, undefined, { pricing_amount: 0.02 });
    const to = (body: string, headers = {}): [string, RequestInit] => [
      `${harness.baseUrl}/api/v1/gateway/${cheap.listing.slug}`,
      { ...request({})[1], body, headers: { ...(request({})[1].headers as object), ...headers } },
    ];
    const signed = await paying(...to('{"by":"signature"}'));
    expect([signed.status, await signed.json()]).toMatchObject([
      200,
      { data: { charged_amount: { amount_cents: 2 } } },
    ]);

    const asked = (await (await fetch(...to('{"by":"hand"}'))).json()) as { data: { payment: Offer } };
    const { relay_request_id, retry_headers, other_routes } = asked.data.payment;
    expect(other_routes).toMatchObject([{ currency: 'SOL', headers: { 'X-Market-Origin-Currency': 'SOL' } }]);
    await buyer.market.sandbox.pay(relay_request_id);
    expect((await fetch(...to('{"by":"hand"}', retry_headers))).status).toBe(200);

    const named = await fetch(...to('{"by":"name"}', { 'x-market-origin-currency': 'USDC' }));
    expect([named.status, await named.json()]).toMatchObject([
      400,
      { error: { details: { recommended_origin_currency: 'SOL' } } },
    ]);
    await expectBooksInOrder(harness, [cheap]);
    await cheap.close();
  });

  it.each(['ETH', 'SOL'] as const)(
    'is bought by signature where the seller prefers %s, unless the buyer names it',
    async (currency) => {
      for (const pricing_amount of [0.02, 0.25]) {
        const other = await openShop(seller, undefined, { pricing_amount, preferred_currency: currency });
        const url = `${harness.baseUrl}/api/v1/gateway/${other.listing.slug}`;
        const bought = await paying(url, request({ in: currency })[1]);
        expect([bought.status, await bought.json()]).toMatchObject([
          200,
          { data: { charged_amount: { amount_cents: pricing_amount * 100 } } },
        ]);
        const [, named] = request({ named: currency }, { 'x-market-origin-currency': currency });
        const answer = (await (await fetch(url, named)).json()) as { data?: { payment: Offer } };
        if (pricing_amount === 0.25) expect(answer.data?.payment.requirements).toMatchObject({ currency });
        await other.close();
      }
    },
  );

  it.each([503, 404])(
    'is not charged where the seller answers %i, and what it signed is good for the next try',
    async (status) => {
      failing = status;
      const failed = await paying(...request({ city: 'Rome', status }));
      expect(failed.status).toBe(200);
      expect(failed.headers.get('payment-response')).toBeNull();
      expect(await failed.json()).toMatchObject({
        data: {
          billable: false,
          seller_status_code: status,
          seller_response: { sorry: true },
          recovery: { next_action: status === 404 ? 'fix_request' : 'retry_same_request' },
        },
      });
      failing = null;
      const receipts = await buyer.market.receipts.list({ role: 'buyer', limit: 50 });
      const second = await paying(...request({ city: 'Rome', status }));
      expect(second.status).toBe(200);
      expect((await buyer.market.receipts.list({ role: 'buyer', limit: 50 })).pagination.total).toBe(
        receipts.pagination.total + 1,
      );
    },
  );

  it('is told in its own words why a signature does not pay, and the offer stands', async () => {
    const [url, init] = request({ city: 'Graz' });
    const asked = await fetch(url, init);
    const required = new x402HTTPClient(client).getPaymentRequiredResponse(
      (name) => asked.headers.get(name),
      await asked.json(),
    );
    const payload = await client.createPaymentPayload(required);
    const { signature } = payload.payload as { signature: string };
    const forged = { ...payload, payload: { ...payload.payload, signature: `${signature.slice(0, -4)}0000` } };
    const send = (value: object): Promise<Response> =>
      fetch(url, {
        ...init,
        headers: {
          ...(init.headers as object),
          'payment-signature': Buffer.from(JSON.stringify(value)).toString('base64'),
        },
      });
    const refused = await send(forged);
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({
      error: {
        code: 'PAYMENT_REQUIRED',
        details: { reason: 'invalid_exact_evm_signature' },
        recovery: { next_action: 'pay_and_retry', drop: ['PAYMENT-SIGNATURE'] },
      },
    });
    const again = new x402HTTPClient(client).getPaymentRequiredResponse((name) => refused.headers.get(name));
    expect(again).toMatchObject({ error: 'invalid_exact_evm_signature', accepts: required.accepts });

    expect((await send(payload)).status).toBe(200);
    // 16 concurrent repetitions get the same answer, and one charge is made.
    const replays = await Promise.all(Array.from({ length: 16 }, () => send(payload)));
    expect(new Set(await Promise.all(replays.map((replay) => replay.text()))).size).toBe(1);
    const other = await fetch(`${harness.baseUrl}/api/v1/gateway/${shop.listing.slug}`, {
      ...init,
      body: '{"city":"Linz"}',
      headers: {
        ...(init.headers as object),
        'payment-signature': Buffer.from(JSON.stringify(payload)).toString('base64'),
      },
    });
    expect([
      other.status,
      ((await other.json()) as { error: { details: { reason: string } } }).error.details.reason,
    ]).toEqual([409, 'request_body_mismatch']);
  });

  it('pays one call with one signature: for other offers, listings and without a key, at once and later, it calls one seller', async () => {
    const other = await openShop(seller, undefined, { pricing_amount: 0.25 });
    try {
      const headers = { authorization: buyer.registration.authorization_header, 'content-type': 'application/json' };
      const ways = [
        { url: request({})[0], headers, body: '{"one":1}' },
        { url: request({})[0], headers, body: '{"one":2}' },
        { url: `${harness.baseUrl}/api/v1/gateway/${other.listing.slug}`, headers, body: '{"one":1}' },
        {
          url: `${harness.baseUrl}/api/v1/x402/${other.listing.slug}`,
          headers: { 'content-type': 'application/json' },
          body: '{"one":1}',
        },
        {
          url: `${harness.baseUrl}/api/v1/x402/${shop.listing.slug}`,
          headers: { 'content-type': 'application/json' },
          body: '{"one":1}',
        },
      ];
      const accepts = await Promise.all(
        ways.map(async ({ url, ...init }) => {
          const answer = await fetch(url, { method: 'POST', ...init });
          return new x402HTTPClient(client).getPaymentRequiredResponse((name) => answer.headers.get(name)).accepts[0]!;
        }),
      );
      const payload = await client.createPaymentPayload({
        x402Version: 2,
        resource: { url: ways[0]!.url },
        accepts: [accepts[0]!],
      } as never);
      const handIn = ({ url, headers, body }: (typeof ways)[number], n: number): Promise<Response> =>
        fetch(url, {
          method: 'POST',
          headers: {
            ...headers,
            'payment-signature': Buffer.from(JSON.stringify({ ...payload, accepted: accepts[n] })).toString('base64'),
          },
          body,
        });
      const calls = (): number => shop.requests.length + other.requests.length;
      const before = calls();
      const first = await Promise.all(ways.map(handIn));
      expect(first.map(({ status }) => status).sort()).toEqual([200, 402, 402, 402, 402]);
      const later = await Promise.all(ways.map(handIn));
      expect(later.map(({ status }) => status)).toEqual(first.map(({ status }) => status));
      for (const answer of later.filter(({ status }) => status === 402))
        expect(await answer.json()).toMatchObject({
          error: { details: { reason: 'invalid_exact_evm_nonce_already_used' } },
        });
      expect(calls() - before).toBe(1);
    } finally {
      await other.close();
    }
  });

  it.each(['', 'not base64!', Buffer.from('{}').toString('base64'), Buffer.from('null').toString('base64')])(
    'that sends %p as its signature is told what it must be',
    async (signature) => {
      const [url, init] = request({ city: 'Lima' });
      const response = await fetch(url, {
        ...init,
        headers: { ...(init.headers as object), 'payment-signature': signature },
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: 'BAD_REQUEST', details: { fields: [{ field: 'PAYMENT-SIGNATURE' }] } },
      });
    },
  );
});
