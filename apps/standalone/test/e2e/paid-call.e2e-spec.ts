import { MarketplaceError, sandboxPayer, solanaWallet, type Offer } from '@market/sdk';
import { eventually } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, payFor, quote, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

inEachMode('a paid call', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let otherShop: Shop;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([
      registerAgent(harness, { displayName: 'Seller' }),
      registerAgent(harness, { wallet: solanaWallet(), displayName: 'Buyer' }),
    ]);
    shop = await openShop(seller, ({ body }) => ({ echo: body, at: process.hrtime.bigint().toString() }));
    otherShop = await openShop(seller);
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop, otherShop]);
    await Promise.all([shop.close(), otherShop.close()]);
  });

  describe('unpaid', () => {
    it('is told what to pay, and reaches no seller [spec: call-sequence-rule.1, gateway-rule.1, error.402 PAYMENT_REQUIRED]', async () => {
      const before = shop.requests.length;
      const answer = await callOnce(buyer, shop.listing, { city: 'Berlin' });
      expect(answer.status).toBe(402);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const { error, data, ...envelope } = bodyOf(answer);
      expect(envelope).toEqual({ success: false });
      expect(error).toEqual({
        code: 'PAYMENT_REQUIRED',
        message: expect.any(String),
        recovery: {
          next_action: 'pay_and_retry',
          keep: ['Idempotency-Key'],
          drop: [],
          links: { docs: expect.any(String), openapi: expect.any(String), llms: expect.any(String) },
        },
      });
      const { payment, ...beside } = data as { payment: Offer };
      expect(beside).toEqual({});
      expect(payment).toMatchObject({
        relay_request_id: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        provider: 'sandbox',
        status: 'pending',
        requirements: {
          depositAddress: expect.any(String),
          amount: '0.25',
          amount_base_units: '250000',
          currency: 'USDC',
          relayRequestId: payment.relay_request_id,
          expiresAt: expect.any(String),
        },
        fees: { gross_amount: 0.25, fee_rate: 0.05, fee_amount: 0.0125, provider_receives: 0.2375 },
        retry_headers: { 'X-Market-Relay-Request-Id': payment.relay_request_id },
      });
      expect(new Date(payment.requirements.expiresAt).getTime()).toBeGreaterThan(Date.now());
      expect(shop.requests.length).toBe(before);
    });

    it('gets the same offer again while it lives, and another one for another body', async () => {
      const first = await quote(buyer, shop.listing, { a: 1, b: [true, null] });
      const again = await Promise.all(
        Array.from({ length: 8 }, () => quote(buyer, shop.listing, '{ "b":[true,null],\n "a":1.0e0 }')),
      );
      expect(new Set(again.map((offer) => offer.relay_request_id))).toEqual(new Set([first.relay_request_id]));
      expect((await quote(buyer, shop.listing, { a: 2, b: [true, null] })).relay_request_id).not.toBe(
        first.relay_request_id,
      );
      expect((await quote(buyer, otherShop.listing, { a: 1, b: [true, null] })).relay_request_id).not.toBe(
        first.relay_request_id,
      );
    });

    it('is the same call by slug and by id', async () => {
      const byId = await quote(buyer, shop.listing, { by: 'either' });
      expect((await quote(buyer, { id: shop.listing.slug }, { by: 'either' })).relay_request_id).toBe(
        byId.relay_request_id,
      );
    });
  });

  describe('paid', () => {
    it('is forwarded byte for byte and answered [spec: call-sequence-rule.2, gateway-rule.2, gateway-rule.5, gateway-result]', async () => {
      const body = '{ "q": "naïve \\u00e9 🦀", "n": 1.50, "big": 1e2 }';
      const relayRequestId = await payFor(buyer, shop.listing, body);
      const answer = await callOnce(buyer, shop.listing, body, withRelayId(relayRequestId));
      expect(answer.status).toBe(200);
      const result = resultOf(answer);
      expect(bodyOf(answer)).toEqual({ success: true, data: result });
      expect(result).toEqual({
        request_id: expect.any(String),
        billable: true,
        charged_amount: { amount_cents: 25, currency: 'USD' },
        fees: { fee_rate: 0.05, fee_amount_cents: 1.25, seller_receives_cents: 23.75 },
        seller_status_code: 200,
        seller_response: { echo: { q: 'naïve é 🦀', n: 1.5, big: 100 }, at: expect.any(String) },
      });
      const seen = shop.requests.at(-1)!;
      expect(seen.call).toMatchObject({
        requestId: result.request_id,
        event: 'gateway.call',
        listingId: shop.listing.id,
        buyerId: buyer.id,
        attempt: 1,
      });
    });

    it('answers a repetition with the same bytes, and calls nobody', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { again: true });
      const first = await callOnce(buyer, shop.listing, { again: true }, withRelayId(relayRequestId));
      const calls = shop.requests.length;
      for (const body of ['{"again":true}', ' {\n"again" : true } ']) {
        const repeated = await callOnce(buyer, shop.listing, body, withRelayId(relayRequestId));
        expect([repeated.status, repeated.text]).toEqual([200, first.text]);
      }
      expect(shop.requests.length).toBe(calls);
    });

    it('charges once for 64 connections at once, calls the seller once, and gives equal bytes to all', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { crowd: 64 });
      const answers = await Promise.all(
        Array.from({ length: 64 }, () => callOnce(buyer, shop.listing, { crowd: 64 }, withRelayId(relayRequestId))),
      );
      const done = answers.filter((answer) => answer.status === 200);
      expect(answers.every((answer) => answer.status === 200 || answer.status === 202)).toBe(true);
      expect(done.length).toBeGreaterThan(0);
      expect(new Set(done.map((answer) => answer.text)).size).toBe(1);
      expect(shop.deliveries.timesCalled(resultOf(done[0]!).request_id)).toBe(1);
      for (const later of answers.filter((answer) => answer.status === 202)) {
        expect(bodyOf(later).data).toMatchObject({
          status: 'pending',
          relay_request_id: relayRequestId,
          retry_after_seconds: expect.any(Number),
        });
        expect(Number(later.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    });

    it('carries any JSON of the seller as it is, and charges for it where its status is 2xx [spec: gateway-rule.5]', async () => {
      const answers = [
        [404, { error: 'no such city' }],
        [201, []],
        [200, 'a string'],
        [422, null],
        [302, { at: 'home' }],
        [200, { number: 1.1e-7 }],
      ] as const;
      let next: (typeof answers)[number];
      const odd = await openShop(seller, () => reply(next[0], next[1]));
      for (next of answers) {
        const [status, response] = next;
        const isCharged = status < 300;
        const result = await buyer.market.call(odd.listing, { status, response }, { pay: sandboxPayer(buyer.market) });
        expect(result).toMatchObject({
          billable: isCharged,
          charged_amount: { amount_cents: isCharged ? 25 : 0 },
          seller_status_code: status,
          seller_response: response,
        });
        expect(result.recovery?.next_action).toBe(
          isCharged ? undefined : status === 302 ? 'retry_same_request' : 'fix_request',
        );
      }
      await expectBooksInOrder(harness, [odd]);
      await odd.close();
    });
  });

  describe('with a relay id that is not good for it', () => {
    let relayRequestId: string;
    let calls: number;

    beforeAll(async () => {
      relayRequestId = await payFor(buyer, shop.listing, { the: 'right body' });
      calls = shop.requests.length + otherShop.requests.length;
    });
    afterAll(async () => {
      expect(shop.requests.length + otherShop.requests.length).toBe(calls);
      const answer = await callOnce(buyer, shop.listing, { the: 'right body' }, withRelayId(relayRequestId));
      expect([answer.status, resultOf(answer).billable]).toEqual([200, true]);
    });

    it('refuses another body', async () => {
      const answer = await callOnce(buyer, shop.listing, { the: 'right body', more: 1 }, withRelayId(relayRequestId));
      expect([answer.status, reasonOf(answer)]).toEqual([409, 'request_body_mismatch']);
    });

    it('refuses another listing, by id and by slug', async () => {
      for (const ref of [otherShop.listing.id, otherShop.listing.slug]) {
        const answer = await callOnce(buyer, ref, { the: 'right body' }, withRelayId(relayRequestId));
        expect([answer.status, reasonOf(answer)]).toEqual([409, 'listing_mismatch']);
      }
    });

    it('knows nothing of it for another buyer, nor of one that never was', async () => {
      const otherBuyer = await registerAgent(harness);
      const answers = await Promise.all([
        callOnce(otherBuyer, shop.listing, { the: 'right body' }, withRelayId(relayRequestId)),
        callOnce(buyer, shop.listing, { the: 'right body' }, withRelayId(`0x${'ab'.repeat(32)}`)),
      ]);
      for (const answer of answers) expect([answer.status, reasonOf(answer)]).toEqual([404, 'payment_not_found']);
      expect(bodyOf(answers[0]!).error).toEqual(bodyOf(answers[1]!).error);
      await expect(otherBuyer.market.sandbox.pay(relayRequestId)).rejects.toMatchObject({ status: 404 });
    });

    it('refuses what is no relay id', async () => {
      const answer = await callOnce(buyer, shop.listing, { the: 'right body' }, withRelayId('0x12'));
      expect([answer.status, bodyOf(answer).error?.code]).toEqual([400, 'BAD_REQUEST']);
    });
  });

  /** Expects that the named payment can no longer be used, and that the answer contains a new offer. */
  const expectNewPayment = (answer: Awaited<ReturnType<typeof callOnce>>, reason: string): void => {
    expect(answer.status).toBe(402);
    expect(bodyOf(answer).error).toMatchObject({
      code: 'PAYMENT_REQUIRED',
      details: { reason },
      recovery: {
        next_action: 'request_new_payment_requirements',
        keep: ['Idempotency-Key'],
        drop: expect.arrayContaining(['X-Market-Relay-Request-Id']),
      },
    });
  };

  describe('whose payment', () => {
    it('has not come is asked for with the same offer, and good once it is paid [spec: error.402 PAYMENT_REQUIRED]', async () => {
      const { other_routes: others, ...offer } = await quote(buyer, shop.listing, { waiting: 1 });
      expect(others).toMatchObject([{ currency: 'ETH' }, { currency: 'SOL' }]);
      const calls = shop.requests.length;
      const answer = await callOnce(buyer, shop.listing, { waiting: 1 }, withRelayId(offer.relay_request_id));
      expect([answer.status, bodyOf(answer).data, shop.requests.length]).toEqual([402, { payment: offer }, calls]);
      expect(bodyOf(answer).error).toMatchObject({
        code: 'PAYMENT_REQUIRED',
        details: { reason: 'unpaid' },
        recovery: { next_action: 'pay_and_retry', keep: ['Idempotency-Key', 'X-Market-Relay-Request-Id'], drop: [] },
      });
      await buyer.market.sandbox.pay(offer.relay_request_id);
      expect((await callOnce(buyer, shop.listing, { waiting: 1 }, withRelayId(offer.relay_request_id))).status).toBe(
        200,
      );
    });

    it('is not final is pending, and good once it is, on the same id [spec: call-sequence-rule.3, gateway-rule.3, error.202]', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { waiting: 2 }, 'pending');
      const early = await callOnce(buyer, shop.listing, { waiting: 2 }, withRelayId(relayRequestId));
      const { retry_after_seconds: seconds } = bodyOf(early).data as { retry_after_seconds: number };
      expect([early.status, early.headers.get('retry-after')]).toEqual([202, String(seconds)]);
      expect(String(seconds)).toMatch(/^[1-9]\d*$/);
      expect(bodyOf(early)).toEqual({
        success: true,
        data: {
          status: 'pending',
          relay_request_id: relayRequestId,
          retry_after_seconds: expect.any(Number),
          reason: 'payment_not_final',
          code: 'PAYMENT_PENDING',
          message: expect.any(String),
          recovery: expect.objectContaining({ next_action: 'retry_same_request', sign_again: false }),
        },
      });
      const answer = await eventually(async () => {
        const later = await callOnce(buyer, shop.listing, { waiting: 2 }, withRelayId(relayRequestId));
        expect(later.status).toBe(200);
        return later;
      });
      expect(resultOf(answer).billable).toBe(true);
    });

    it('is too small is asked for the rest on the same id, and good once that is paid', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { part: 1 }, 'underpaid');
      const answer = await callOnce(buyer, shop.listing, { part: 1 }, withRelayId(relayRequestId));
      expect(answer.status).toBe(402);
      expect(bodyOf(answer)).toMatchObject({
        error: { details: { reason: 'underpaid', received: '0.125', missing: '0.125' } },
        data: { payment: { relay_request_id: relayRequestId } },
      });
      await buyer.market.sandbox.pay(relayRequestId);
      expect((await callOnce(buyer, shop.listing, { part: 1 }, withRelayId(relayRequestId))).status).toBe(200);
    });

    it('is too large buys the call at its price, and the surplus is owed back', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { surplus: 1 }, 'overpaid');
      const answer = await callOnce(buyer, shop.listing, { surplus: 1 }, withRelayId(relayRequestId));
      expect(resultOf(answer).charged_amount.amount_cents).toBe(25);
      const { data } = await buyer.market.ledger.list({ type: 'adjustment' });
      expect(data).toEqual(
        expect.arrayContaining([expect.objectContaining({ direction: 'credit', amount_cents: 12.5 })]),
      );
    });

    it('comes too late buys nothing: it is owed back, and a new offer stands in its place', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { late: 1 }, 'late');
      const answer = await callOnce(buyer, shop.listing, { late: 1 }, withRelayId(relayRequestId));
      expect(answer.status).toBe(402);
      const { payment } = bodyOf(answer).data as { payment: Offer };
      expect(payment.relay_request_id).not.toBe(relayRequestId);
      expectNewPayment(answer, 'refund_due');
      expect(bodyOf(answer).error!.message).toContain('owed back');
      expect(reasonOf(await callOnce(buyer, shop.listing, { late: 1 }, withRelayId(payment.relay_request_id)))).toBe(
        'unpaid',
      );
    });

    it('failed is quoted anew', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { failed: 1 }, 'failed');
      const answer = await callOnce(buyer, shop.listing, { failed: 1 }, withRelayId(relayRequestId));
      expectNewPayment(answer, 'payment_failed');
      expect((bodyOf(answer).data as { payment: Offer }).payment.relay_request_id).not.toBe(relayRequestId);
    });

    it('is paid twice is charged once', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { twice: 1 });
      await Promise.all([1, 2, 3].map(() => buyer.market.sandbox.pay(relayRequestId)));
      expect((await callOnce(buyer, shop.listing, { twice: 1 }, withRelayId(relayRequestId))).status).toBe(200);
      await buyer.market.sandbox.pay(relayRequestId);
    });
  });

  describe('that must not be sold', () => {
    const refused = async (
      agent: Agent,
      listing: { id: string } | string,
      body: unknown = { x: 1 },
      headers?: Record<string, string>,
    ) => {
      const answer = await callOnce(agent, listing, body, headers);
      return [answer.status, reasonOf(answer)];
    };

    it("refuses the seller's own listing", async () => {
      expect(await refused(seller, shop.listing)).toEqual([403, 'own_listing']);
    });

    it('refuses listings that are not per_call', async () => {
      const free = await seller.market.listings.create({ name: 'Free things', description: 'Given away, not called.' });
      expect(await refused(buyer, free)).toEqual([400, 'listing_not_per_call']);
    });

    it('shows no draft to a stranger, nor a listing that never was', async () => {
      const draft = await openShop(seller, undefined, { status: 'draft' });
      expect(await refused(buyer, draft.listing)).toEqual([404, 'listing_not_found']);
      expect(await refused(buyer, draft.listing.slug)).toEqual([404, 'listing_not_found']);
      expect(await refused(buyer, '01995bad-5c00-7000-8000-00000000dead')).toEqual([404, 'listing_not_found']);
      expect(await refused(buyer, 'no-such-slug')).toEqual([404, 'listing_not_found']);
      await draft.close();
    });

    it('refuses a paused endpoint before it asks for money', async () => {
      const paused = await openShop(seller);
      await seller.market.endpoint.update(paused.listing, { status: 'paused' });
      await eventually(async () => expect(await refused(buyer, paused.listing)).toEqual([400, 'endpoint_unavailable']));
      await paused.close();
    });

    it('refuses a body the listing does not take, before it asks for money [spec: gateway.body]', async () => {
      const narrow = await openShop(seller);
      await seller.market.endpoint.update(narrow.listing, { limits: { max_request_bytes: 1024 } });
      await eventually(async () =>
        expect(await refused(buyer, narrow.listing, { text: 'x'.repeat(1100) })).toEqual([
          413,
          'request_body_too_large',
        ]),
      );
      await quote(buyer, narrow.listing, { text: 'x'.repeat(900) });
      await narrow.close();
    });

    it('refuses an explicit route that carries no such price [spec: gateway-rule.6, error.400 PAYMENT_ROUTE_MINIMUM_NOT_MET]', async () => {
      const cheap = await openShop(seller, undefined, { pricing_amount: 0.02, preferred_currency: 'USDC' });
      const answer = await callOnce(
        buyer,
        cheap.listing,
        { cheap: 1 },
        { 'X-Market-Origin-Currency': 'USDC', 'Idempotency-Key': 'cheap-call' },
      );
      expect([answer.status, answer.json]).toEqual([
        400,
        {
          success: false,
          error: {
            code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET',
            message: expect.any(String),
            details: {
              seller_endpoint_called: false,
              recommended_origin_currency: 'SOL',
              recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL' },
            },
            recovery: {
              next_action: 'retry_with_solana_payment_route',
              retry_same_route: false,
              use_new_idempotency_key: true,
            },
          },
        },
      ]);
      const reused = await callOnce(
        buyer,
        cheap.listing,
        { cheap: 1 },
        { 'X-Market-Origin-Currency': 'SOL', 'Idempotency-Key': 'cheap-call' },
      );
      expect([reused.status, reasonOf(reused)]).toEqual([409, 'idempotency_key_reused']);
      const recommended = { 'X-Market-Origin-Currency': 'SOL', 'Idempotency-Key': 'cheap-call-on-sol' };
      const sol = await quote(buyer, cheap.listing, { cheap: 1 }, recommended);
      expect(sol.requirements.currency).toBe('SOL');
      expect(cheap.requests.length).toBe(0);
      await buyer.market.sandbox.pay(sol.relay_request_id);
      const paid = await callOnce(
        buyer,
        cheap.listing,
        { cheap: 1 },
        { ...recommended, ...(sol.retry_headers as Record<string, string>) },
      );
      expect([paid.status, resultOf(paid).charged_amount.amount_cents]).toEqual([200, 2]);
      const { requirements, x402 } = await quote(buyer, cheap.listing, { cheap: 2 });
      expect([requirements.currency, x402]).toMatchObject([
        'USDC',
        { accepts: [{ scheme: 'exact', amount: '20000' }] },
      ]);
      const result = await buyer.market.call(
        cheap.listing,
        { cheap: 3 },
        { originCurrency: 'USDC', pay: sandboxPayer(buyer.market) },
      );
      expect(result.charged_amount.amount_cents).toBe(2);
      expect(cheap.requests.length).toBe(2);
      await cheap.close();
    });
  });

  it('of price 0 is called at once', async () => {
    const gift = await openShop(seller, undefined, { pricing_amount: 0 });
    const answer = await callOnce(buyer, gift.listing, { gift: 1 });
    expect(answer.status).toBe(200);
    expect(resultOf(answer)).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 0 },
      fees: { fee_amount_cents: 0, seller_receives_cents: 0 },
      seller_response: { echo: { gift: 1 } },
    });
    await gift.close();
  });

  it('keeps the price it was quoted at, whatever the seller changes since', async () => {
    const moving = await openShop(seller);
    const relayRequestId = await payFor(buyer, moving.listing, { price: 'quoted' });
    await seller.market.listings.update(moving.listing, { pricing_amount: 9 });
    const answer = await callOnce(buyer, moving.listing, { price: 'quoted' }, withRelayId(relayRequestId));
    expect(resultOf(answer).charged_amount.amount_cents).toBe(25);
    await expectBooksInOrder(harness, [moving]);
    await moving.close();
  });

  describe('with an Idempotency-Key', () => {
    const key = (name: string): Record<string, string> => ({ 'Idempotency-Key': `${harness.mode}-${name}` });

    it('may use it on the unpaid and the paid attempt, and after for the kept answer [spec: gateway.header-idempotency-key]', async () => {
      const offer = await quote(buyer, shop.listing, { key: 1 }, key('one'));
      await buyer.market.sandbox.pay(offer.relay_request_id);
      const paid = await callOnce(
        buyer,
        shop.listing,
        { key: 1 },
        { ...key('one'), ...withRelayId(offer.relay_request_id) },
      );
      expect(paid.status).toBe(200);
      const replayed = await callOnce(buyer, shop.listing, { key: 1 }, key('one'));
      expect([replayed.status, replayed.text, replayed.headers.get('idempotency-replayed')]).toEqual([
        200,
        paid.text,
        'true',
      ]);
    });

    it('refuses it for another body or listing, whatever is paid [spec: gateway.header-idempotency-key]', async () => {
      const offer = await quote(buyer, shop.listing, { key: 2 }, key('two'));
      await buyer.market.sandbox.pay(offer.relay_request_id);
      for (const [listing, body] of [
        [shop.listing, { key: 3 }],
        [otherShop.listing, { key: 2 }],
      ] as const) {
        const answer = await callOnce(buyer, listing, body, key('two'));
        expect([answer.status, reasonOf(answer)]).toEqual([409, 'idempotency_key_reused']);
      }
      const paid = await callOnce(
        buyer,
        shop.listing,
        { key: 2 },
        { ...key('two'), ...withRelayId(offer.relay_request_id) },
      );
      expect(paid.status).toBe(200);
    });

    it('refuses a malformed one', async () => {
      const answer = await callOnce(buyer, shop.listing, { key: 4 }, { 'Idempotency-Key': 'has space' });
      expect(answer.status).toBe(400);
    });
  });

  it('is paid and repeated by the SDK alone', async () => {
    const result = await buyer.market.call(
      shop.listing,
      { by: 'sdk' },
      { pay: sandboxPayer(buyer.market), maxPriceUsd: '0.25' },
    );
    expect(result).toMatchObject({ billable: true, seller_response: { echo: { by: 'sdk' } } });
    await expect(
      buyer.market.call(shop.listing, { by: 'sdk too dear' }, { pay: sandboxPayer(buyer.market), maxPriceUsd: '0.24' }),
    ).rejects.toThrow(MarketplaceError);
  });
});
