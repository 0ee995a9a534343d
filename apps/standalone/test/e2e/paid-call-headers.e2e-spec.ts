import { evmWallet, solanaWallet, type Offer } from '@market/sdk';
import { bodyOf, callOnce, payFor, quote, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const UNKNOWN_ID = '01995bad-5c00-7000-8000-00000000dead';

inEachMode('the headers of a paid call', (harness) => {
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let cheap: Shop;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([registerAgent(harness), registerAgent(harness, { wallet: evmWallet() })]);
    shop = await openShop(seller);
    cheap = await openShop(seller, undefined, { pricing_amount: 0.02 });
  });
  afterAll(() => Promise.all([shop.close(), cheap.close()]));

  const call = (headers: Record<string, string>, body: unknown = { n: 1 }) =>
    callOnce(buyer, shop.listing, body, headers);
  const walletOf = async ({ market }: Agent): Promise<string> =>
    (bodyOf(await market.send('GET', '/me/wallets')).data as { id: string }[])[0]!.id;
  const post = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${harness.baseUrl}/api/v1/gateway/${shop.listing.id}`, { method: 'POST', headers, body: '{"n":1}' });
  const json = { 'Content-Type': 'application/json' };

  it('Authorization: takes a bearer key and nothing else [spec: gateway.header-authorization]', async () => {
    const key = buyer.registration.api_key;
    expect((await post({ ...json, Authorization: `Bearer ${key}` })).status).toBe(402);
    expect((await post({ ...json, Authorization: buyer.registration.authorization_header })).status).toBe(402);
    for (const authorization of [
      undefined,
      key,
      `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      `Bearer ${key.slice(0, 12)}`,
      `Bearer ${key.slice(0, -1)}x`,
      'Bearer ',
    ]) {
      const answer = await post({ ...json, ...(authorization === undefined ? {} : { Authorization: authorization }) });
      expect([authorization, answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual(
        [authorization, 401, 'UNAUTHORIZED'],
      );
    }
  });

  it('Content-Type: takes application/json and nothing else [spec: gateway.header-content-type]', async () => {
    const headers = { Authorization: `Bearer ${buyer.registration.api_key}` };
    for (const type of ['application/json', 'application/json; charset=utf-8'])
      expect((await post({ ...headers, 'Content-Type': type })).status).toBe(402);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/json'])
      expect((await post({ ...headers, 'Content-Type': type })).status).toBe(415);
  });

  it('X-Market-Origin-Currency: is the currency that is paid, one of three [spec: gateway.header-x-market-origin-currency]', async () => {
    for (const currency of ['USDC', 'ETH', 'SOL']) {
      const { requirements } = await quote(buyer, shop.listing, { currency }, { 'X-Market-Origin-Currency': currency });
      expect(requirements).toMatchObject({
        currency,
        network: expect.stringMatching(currency === 'SOL' ? /^solana:/ : /^eip155:/),
      });
    }
    expect((await quote(buyer, shop.listing, { currency: 'none' })).requirements.currency).toBe('USDC');
    for (const currency of ['usdc', 'BTC', '', 'USDC, SOL'])
      expect((await call({ 'X-Market-Origin-Currency': currency })).status).toBe(400);
  });

  it('X-Market-Origin-Chain-Id: is the chain paid on, one that is offered [spec: gateway.header-x-market-origin-chain-id]', async () => {
    const { network } = (await quote(buyer, shop.listing, { chain: 'any' })).requirements;
    for (const chain of [network!, network!.split(':')[1]!]) {
      expect(
        (await quote(buyer, shop.listing, { chain }, { 'X-Market-Origin-Chain-Id': chain })).requirements.network,
      ).toBe(network);
    }
    const answer = await call({ 'X-Market-Origin-Chain-Id': 'eip155:999999' });
    expect([answer.status, reasonOf(answer), bodyOf(answer).error?.recovery?.next_action]).toEqual([
      400,
      'payment_route_unavailable',
      'choose_another_payment_route',
    ]);
    for (const chain of ['', 'two words', 'x'.repeat(65)])
      expect((await call({ 'X-Market-Origin-Chain-Id': chain })).status).toBe(400);
  });

  describe('X-Market-Origin-Wallet-Id', () => {
    it('is an active wallet of the caller that may pay, of the right chain [spec: gateway.header-x-market-origin-wallet-id]', async () => {
      const solana = await registerAgent(harness, { wallet: solanaWallet() });
      const [own, other] = await Promise.all([buyer, solana].map(walletOf));
      const paid = await quote(buyer, shop.listing, { wallet: 'own' }, { 'X-Market-Origin-Wallet-Id': own! });
      expect(paid.requirements.network).toMatch(/^eip155:/);
      expect(
        (await quote(solana, shop.listing, { wallet: 'own' }, { 'X-Market-Origin-Wallet-Id': other! })).requirements,
      ).toMatchObject({ currency: 'SOL', network: expect.stringMatching(/^solana:/) });

      for (const wallet of [other!, UNKNOWN_ID]) {
        const answer = await call({ 'X-Market-Origin-Wallet-Id': wallet });
        expect(answer.status).toBe(400);
        expect(bodyOf(answer).error).toMatchObject({
          code: 'BAD_REQUEST',
          message: expect.stringContaining('X-Market-Origin-Wallet-Id'),
          details: { reason: 'wallet_not_found' },
          recovery: { next_action: 'link_wallet' },
        });
      }
      const elsewhere = await call({ 'X-Market-Origin-Wallet-Id': own!, 'X-Market-Origin-Currency': 'SOL' });
      expect(elsewhere.status).toBe(400);
      expect(bodyOf(elsewhere).error).toMatchObject({
        details: {
          reason: 'wallet_chain_mismatch',
          wallet_chain_type: 'evm',
          network: expect.stringMatching(/^solana:/),
        },
        recovery: { next_action: 'choose_another_payment_route', drop: ['X-Market-Origin-Wallet-Id'] },
      });
      expect((await call({ 'X-Market-Origin-Wallet-Id': 'mine' })).status).toBe(400);
    });

    it('is asked for with the offer, and no hindrance to a call that is paid', async () => {
      const relayRequestId = await payFor(buyer, shop.listing, { wallet: 'paid' });
      const answer = await call(
        { ...withRelayId(relayRequestId), 'X-Market-Origin-Wallet-Id': UNKNOWN_ID },
        { wallet: 'paid' },
      );
      expect([answer.status, resultOf(answer).billable]).toEqual([200, true]);
    });
  });

  it('X-Market-Relay-Request-Id: is what makes a paid call of it [spec: gateway.header-x-market-relay-request-id]', async () => {
    const { relay_request_id: relayRequestId } = await quote(buyer, shop.listing, { paid: true });
    await buyer.market.sandbox.pay(relayRequestId);
    const before = shop.requests.length;
    const without = await call({}, { paid: true });
    expect([without.status, (bodyOf(without).data as { payment: Offer }).payment.relay_request_id]).toEqual([
      402,
      relayRequestId,
    ]);
    expect(shop.requests.length).toBe(before);
    const paid = await call(withRelayId(relayRequestId), { paid: true });
    expect([paid.status, resultOf(paid).billable]).toEqual([200, true]);
    expect(shop.requests.length).toBe(before + 1);
  });

  it("X-Market-Payment-*: is the offer's or left out [spec: gateway.header-x-market-payment-scheme-x-market-payment-network]", async () => {
    const offer = await quote(buyer, shop.listing, { retry: 1 });
    const { 'X-Market-Payment-Scheme': scheme, 'X-Market-Payment-Network': network } = offer.retry_headers as Record<
      string,
      string
    >;
    expect(offer.retry_headers).toEqual({
      'X-Market-Relay-Request-Id': offer.relay_request_id,
      'X-Market-Payment-Scheme': expect.any(String),
      'X-Market-Payment-Network': offer.requirements.network,
    });
    await buyer.market.sandbox.pay(offer.relay_request_id);
    for (const [name, value] of [
      ['X-Market-Payment-Scheme', 'carrier-pigeon'],
      ['X-Market-Payment-Network', 'eip155:1'],
    ] as const) {
      const answer = await call({ ...offer.retry_headers, [name]: value }, { retry: 1 });
      expect(answer.status).toBe(400);
      expect(bodyOf(answer).error).toMatchObject({
        code: 'BAD_REQUEST',
        details: { reason: 'payment_route_mismatch', scheme, network },
        recovery: { next_action: 'fix_request', keep: ['X-Market-Relay-Request-Id'] },
      });
    }
    const answer = await call(offer.retry_headers as Record<string, string>, { retry: 1 });
    expect([answer.status, resultOf(answer).billable]).toEqual([200, true]);
    expect(shop.requests.at(-1)!.call.attempt).toBe(1);
    const unnamed = await payFor(buyer, shop.listing, { retry: 2 });
    expect((await call(withRelayId(unnamed), { retry: 2 })).status).toBe(200);
  });

  it('a route recommended for a low price is SOL, named also where none is asked for [spec: limit.payment-route-guidance]', async () => {
    // Only a signature carries so low a price on the other chain.
    const { requirements, other_routes: others } = await quote(buyer, cheap.listing, { low: 1 });
    expect([requirements.depositAddress, others]).toMatchObject([null, [{ currency: 'SOL' }]]);
    const refused = await callOnce(buyer, cheap.listing, { low: 2 }, { 'X-Market-Origin-Currency': 'USDC' });
    expect(bodyOf(refused).error?.details).toMatchObject({ recommended_origin_currency: 'SOL' });
    expect(
      (await quote(buyer, cheap.listing, { low: 2 }, { 'X-Market-Origin-Currency': 'SOL' })).requirements.currency,
    ).toBe('SOL');
    expect(
      (await quote(buyer, shop.listing, { high: 1 }, { 'X-Market-Origin-Currency': 'USDC' })).requirements.currency,
    ).toBe('USDC');
    expect(cheap.requests.length).toBe(0);
  });
});
