import { newId } from '@market/kernel';
import { newOrder, reasonOf, startLedger, type LedgerHarness } from '../support/ledger-harness.js';

const BY_RELAY = {
  PAYMENTS_LEDGER_RELAY_URL: 'http://127.0.0.1:1',
  PAYMENTS_LEDGER_RELAY_API_KEY: 'key',
  PAYMENTS_LEDGER_RELAY_FEE_RECIPIENT: '0x2222222222222222222222222222222222222222',
};

describe('createOffer', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  const endTimeOf = (paymentId: string): Promise<unknown> =>
    harness.db.inspect("UPDATE payments_ledger.payments SET expires_at = now() - interval '1 second' WHERE id = $1", [
      paymentId,
    ]);

  it('says what to pay, where, until when, and what the seller gets of it', async () => {
    const order = newOrder({ priceMicros: '250000' });
    const { offer, money } = await harness.quote(order);
    expect(money).toEqual({ grossMicros: '250000', feeMicros: '12500', netMicros: '237500', feeBps: 500 });
    expect(offer).toEqual({
      payment_id: expect.any(String) as string,
      relay_request_id: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
      status: 'pending',
      provider: 'sandbox',
      requirements: {
        depositAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as string,
        amount: '0.25',
        amount_base_units: '250000',
        currency: 'USDC',
        network: 'eip155:84532',
        relayRequestId: offer.relay_request_id,
        expiresAt: expect.stringMatching(/Z$/) as string,
      },
      fees: { gross_amount: 0.25, fee_rate: 0.05, fee_amount: 0.0125, provider_receives: 0.2375 },
      retry_headers: {
        'X-Market-Relay-Request-Id': offer.relay_request_id,
        'X-Market-Payment-Scheme': 'deposit',
        'X-Market-Payment-Network': 'eip155:84532',
      },
      x402: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          amount: '250000',
          asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
          payTo: offer.requirements.depositAddress,
          maxTimeoutSeconds: 600,
          extra: { name: 'USDC', version: '2', relayRequestId: offer.relay_request_id },
        },
      ],
    });
    expect(new Date(offer.requirements.expiresAt).getTime() - Date.now()).toBeGreaterThan(890_000);
  });

  it('is one and the same for 64 quotes at once over two processes, and for the next one', async () => {
    const order = newOrder();
    const quotes = await Promise.all(Array.from({ length: 64 }, () => harness.quote(order)));
    expect(new Set(quotes.map(({ offer }) => JSON.stringify(offer))).size).toBe(1);
    expect(new Set(quotes.map(({ gatewayRequestId }) => gatewayRequestId)).size).toBe(1);
    expect((await harness.quote(order)).offer).toEqual(quotes[0]!.offer);
  });

  it('is made once for each of many calls that two processes quote at once, in whatever order', async () => {
    const orders = Array.from({ length: 40 }, () => newOrder());
    const quotes = await Promise.all(
      [...orders, ...orders.toReversed(), ...orders].map(async (order) =>
        [order.bodyDigest, (await harness.quote(order)).offer.relay_request_id].join(),
      ),
    );
    expect(new Set(quotes).size).toBe(40);
  });

  it('is another one for another buyer, listing, body or route', async () => {
    const order = newOrder();
    const others = [
      harness.quote(order),
      harness.quote({ ...order, buyer: newId() }),
      harness.quote({ ...order, listing: { ...order.listing, listingId: newId() } }),
      harness.quote({ ...order, bodyDigest: newOrder().bodyDigest }),
      harness.quote(order, { originCurrency: 'ETH' }),
      harness.quote(order, { originCurrency: 'SOL' }),
    ];
    expect(new Set((await Promise.all(others)).map(({ offer }) => offer.relay_request_id)).size).toBe(others.length);
  });

  it('keeps the price it was made with, whatever the listing costs now', async () => {
    const order = newOrder({ priceMicros: '300000' });
    const { offer } = await harness.quote(order);
    expect((await harness.quote({ ...order, priceMicros: '900000' })).offer).toEqual(offer);
    await endTimeOf(offer.payment_id);
    expect((await harness.quote({ ...order, priceMicros: '900000' })).offer.fees.gross_amount).toBe(0.9);
  });

  it('is replaced once, by one fresh offer for all, when it was not paid in time', async () => {
    const order = newOrder();
    const { offer } = await harness.quote(order);
    await endTimeOf(offer.payment_id);
    const fresh = await Promise.all(Array.from({ length: 32 }, () => harness.quote(order)));
    expect(new Set(fresh.map((quote) => quote.offer.relay_request_id)).size).toBe(1);
    expect(fresh[0]!.offer.relay_request_id).not.toBe(offer.relay_request_id);
    expect(await harness.stateOf(offer.payment_id)).toBe('expired');
    expect(await harness.authorize(order, { ...fresh[0]!, offer })).toEqual({
      outcome: 'not_payable',
      reason: 'offer_expired',
    });
  });

  it('is not replaced when money is on its way or came in time without being seen', async () => {
    const slow = newOrder();
    const arriving = await harness.quote(slow);
    await harness.pay(slow, arriving, 'pending');
    await endTimeOf(arriving.offer.payment_id);
    const again = await harness.quote(slow);
    expect([again.offer.relay_request_id, again.offer.status]).toEqual([arriving.offer.relay_request_id, 'pending']);

    await harness.db.inspect('UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = $1', [
      arriving.offer.payment_id,
    ]);
    const paid = await harness.quote(slow);
    expect([paid.offer.relay_request_id, paid.offer.status]).toEqual([arriving.offer.relay_request_id, 'verified']);
    expect(await harness.authorize(slow, paid)).toMatchObject({ outcome: 'authorized' });
  });

  it('is replaced when only a part was paid in time, and that part is owed back', async () => {
    const order = newOrder({ priceMicros: '500000' });
    const partly = await harness.quote(order);
    await harness.pay(order, partly, 'underpaid');
    await endTimeOf(partly.offer.payment_id);
    expect((await harness.quote(order)).offer.relay_request_id).not.toBe(partly.offer.relay_request_id);
    expect(await harness.stateOf(partly.offer.payment_id)).toBe('refund_due');
  });

  it('stays the same while it is paid and under way, and is a new one after it was delivered', async () => {
    const order = newOrder();
    const quoted = await harness.quote(order);
    await harness.pay(order, quoted);
    expect((await harness.quote(order)).offer).toEqual({ ...quoted.offer, status: 'verified' });
    const claim = await harness.authorize(order, quoted);
    expect((await harness.quote(order)).offer).toEqual({ ...quoted.offer, status: 'verified' });
    if (claim.outcome === 'authorized') await harness.settle(claim);
    expect((await harness.quote(order)).offer.relay_request_id).not.toBe(quoted.offer.relay_request_id);
  });

  it('asks for whole base units, rounded up, in each currency', async () => {
    const amounts = await Promise.all(
      (['USDC', 'ETH', 'SOL'] as const).map((originCurrency) =>
        harness.quote(newOrder({ priceMicros: '100001' }), { originCurrency }),
      ),
    );
    expect(
      amounts.map(({ offer }) => [
        offer.requirements.amount_base_units,
        offer.requirements.amount,
        offer.requirements.network,
      ]),
    ).toEqual([
      ['100001', '0.100001', 'eip155:84532'],
      ['33333666666667', '0.000033333666666667', 'eip155:84532'],
      ['666674', '0.000666674', 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'],
    ]);
  });

  it('takes a route that carries the price where none was asked for, and refuses the one that does not where one was', async () => {
    const cheap = newOrder({ priceMicros: '1' });
    expect((await harness.quote(cheap)).offer.requirements.currency).toBe('SOL');
    const error: unknown = await harness.quote(cheap, { originCurrency: 'USDC' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      reason: 'payment_route_minimum_not_met',
      details: {
        seller_endpoint_called: false,
        recommended_origin_currency: 'SOL',
        recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL' },
      },
      declaration: { code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET' },
    });
    expect(await reasonOf(harness.quote(cheap, { originChainId: 'eip155:84532' }))).toBe(
      'payment_route_minimum_not_met',
    );
    expect(await reasonOf(harness.quote(cheap, { originChainId: 'eip155:1' }))).toBe('payment_route_unavailable');
    expect(
      (await harness.quote(cheap, { originChainId: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1' })).offer.requirements.currency,
    ).toBe('SOL');
  });

  it('insists on the preferred currency where the operator says so', async () => {
    const strict = await startLedger({ env: { GATEWAY_DEFAULT_ROUTE: 'preferred_currency' } });
    expect(await reasonOf(strict.quote(newOrder({ priceMicros: '1' })))).toBe('payment_route_minimum_not_met');
    expect(
      (await strict.quote(newOrder({ priceMicros: '1' }), { originCurrency: 'SOL' })).offer.requirements.currency,
    ).toBe('SOL');
    await strict.stop();
  });

  it('is not made in live mode, where no rail serves the route', async () => {
    const live = await startLedger({ env: { PAYMENTS_MODE: 'live', ...BY_RELAY } });
    const order = newOrder();
    expect(await reasonOf(live.quote(order, { originChainId: 'eip155:84532' }))).toBe('payment_route_unavailable');
    expect(await reasonOf(live.pay(order, await harness.quote(order)))).toBe('sandbox_only');
    await live.stop();
  });
});

describe('an account that pays for nothing', () => {
  it('has so many open offers and no more, whoever makes them, until one is paid or over', async () => {
    const harness = await startLedger({ replicas: 2, env: { PAYMENTS_LEDGER_OPEN_OFFERS_PER_BUYER: '20' } });
    const buyer = newId();
    const ask = (): Promise<unknown> => harness.quote(newOrder({ buyer }));
    const open = async (): Promise<number> =>
      (await harness.db.inspect('SELECT 1 FROM payments_ledger.offers WHERE buyer_id = $1', [buyer])).length;
    const order = newOrder({ buyer });
    const first = await harness.quote(order);
    for (let n = 1; n < 20; n += 1) await ask();
    const refused = await Promise.allSettled(Array.from({ length: 30 }, ask));
    for (const outcome of refused)
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: {
          reason: 'too_many_open_offers',
          declaration: { kind: 'rate-limited' },
          details: { limit: 20, retry_after_seconds: expect.any(Number) as number },
        },
      });
    expect(await open()).toBe(20);
    expect((await harness.quote(order)).offer.payment_id).toBe(first.offer.payment_id);
    await harness.quote(newOrder());
    await harness.pay(order, first);
    await harness.authorize(order, first);
    await ask();
    expect(await reasonOf(ask())).toBe('too_many_open_offers');
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET expires_at = now() WHERE buyer_id = $1 AND state = 'pending'",
      [buyer],
    );
    await ask();
    await harness.stop();
  });
});
