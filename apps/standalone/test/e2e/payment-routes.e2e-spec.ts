import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { Marketplace, type PaymentRoute } from '@market/sdk';
import { bodyOf, callOnce, quote } from '../support/buyer.js';
import { openShop, rogueServer, type RogueServer, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/world.js';

const BASE_SEPOLIA = 'eip155:84532';
const SOLANA_DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const ON_SOLANA = { 'X-Market-Origin-Currency': 'SOL' };

/** ETH at a price the operator fixed, SOL at that of a price server. */
inEachMode('payment routes', ({ mode }) => {
  let prices: RogueServer;
  let priceIsOfHoursAgo = false;
  let marketplace: RunningMarketplace;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    prices = await rogueServer((_request, response) => {
      const at = new Date(Date.now() - (priceIsOfHoursAgo ? 7_200_000 : 0)).toISOString();
      response.end(`{"sol":{"usd":151.5,"at":"${at}"}}`);
    });
    marketplace = await startMarketplace({
      mode,
      env: {
        PAYMENTS_LEDGER_PRICE_ETH: 'fixed:2500.50',
        PAYMENTS_LEDGER_PRICE_SOL: `http:${prices.url}/prices#/sol/usd,/sol/at`,
        PAYMENTS_LEDGER_PRICE_MAX_AGE_SECONDS: '3',
        PAYMENTS_LEDGER_PRICE_REFRESH_SECONDS: '1',
      },
    });
    const seller = await registerAgent(marketplace, { displayName: 'Seller' });
    buyer = await registerAgent(marketplace, { displayName: 'Buyer' });
    shop = await openShop(seller, undefined, { pricing_amount: 0.25, preferred_currency: 'SOL' });
  }, 120_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
    await prices?.close();
  }, 60_000);

  const routes = (): Promise<PaymentRoute[]> => new Marketplace({ baseUrl: marketplace.baseUrl }).paymentRoutes();

  it('are told to anyone, with what they carry, what their currency costs and how they are chosen', async () => {
    const shared = { provider: 'sandbox', available: true, unavailable_reason: null };
    const onBase = (currency: string) => ({ currency, network: BASE_SEPOLIA, chain_id: '84532', headers: { 'X-Market-Origin-Currency': currency, 'X-Market-Origin-Chain-Id': BASE_SEPOLIA } });
    expect(await routes()).toEqual([
      { ...shared, ...onBase('USDC'), decimals: 6, schemes: ['deposit', 'exact'], minimum_usd: 0.1, unit_price_usd: 1, price_updated_at: null },
      { ...shared, ...onBase('ETH'), decimals: 18, schemes: ['deposit'], minimum_usd: 0.1, unit_price_usd: 2500.5, price_updated_at: null },
      {
        ...shared,
        currency: 'SOL',
        network: SOLANA_DEVNET,
        chain_id: SOLANA_DEVNET.slice('solana:'.length),
        headers: { 'X-Market-Origin-Currency': 'SOL', 'X-Market-Origin-Chain-Id': SOLANA_DEVNET },
        decimals: 9,
        schemes: ['deposit'],
        minimum_usd: 0,
        unit_price_usd: 151.5,
        price_updated_at: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T.*Z$/) as string,
      },
    ]);
  });

  it('may be kept, and are not sent again to who has them', async () => {
    const answer = await fetch(`${marketplace.baseUrl}/api/v1/payment-routes`);
    expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('etag')]).toEqual([200, 'no-cache', expect.stringMatching(/^W\//)]);
    await eventually(async () => {
      const etag = (await fetch(`${marketplace.baseUrl}/api/v1/payment-routes`)).headers.get('etag')!;
      const again = await fetch(`${marketplace.baseUrl}/api/v1/payment-routes`, { headers: { 'if-none-match': etag } });
      expect([again.status, await again.text()]).toEqual([304, '']);
    });
  });

  it('are chosen by the headers they name, at the price they name [spec: gateway.header-x-market-origin-currency, gateway.header-x-market-origin-chain-id]', async () => {
    const amounts: Record<string, string> = {};
    for (const { currency, network, headers } of await routes()) {
      const { requirements } = await quote(buyer, shop.listing, { by: currency }, headers);
      expect(requirements).toMatchObject({ currency, network });
      amounts[currency] = requirements.amount_base_units!;
    }
    // 0.25 dollars, rounded up to the next base unit.
    expect(amounts).toEqual({ USDC: '250000', ETH: '99980003999201', SOL: '1650166' });
  });

  it('are refused while their price is too old, left for another where nobody chose them, and back with the price', async () => {
    expect((await quote(buyer, shop.listing, { before: true })).requirements.currency).toBe('SOL');
    priceIsOfHoursAgo = true;
    try {
      await eventually(async () => expect((await routes()).find(({ currency }) => currency === 'SOL')).toMatchObject({ available: false, unavailable_reason: 'price_unavailable', unit_price_usd: null, price_updated_at: null }), { withinMs: 20_000 });
      const refused = await callOnce(buyer, shop.listing, { while: 'stale' }, ON_SOLANA);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
      expect(bodyOf(refused).error).toMatchObject({ code: 'RATE_LIMITED', details: { reason: 'price_unavailable', currency: 'SOL', retry_after_seconds: 5 }, recovery: { next_action: 'retry_after_delay' } });
      expect((await quote(buyer, shop.listing, { while: 'stale' })).requirements.currency).toBe('USDC');
      expect((await routes()).filter(({ available }) => available).map(({ currency }) => currency)).toEqual(['USDC', 'ETH']);
    } finally {
      priceIsOfHoursAgo = false;
    }
    await eventually(async () => expect((await quote(buyer, shop.listing, { after: true }, ON_SOLANA)).requirements.currency).toBe('SOL'), { withinMs: 20_000 });
  });
});
