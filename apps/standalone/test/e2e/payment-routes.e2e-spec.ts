import { Marketplace, type PaymentRoute } from '@market/sdk';
import { eventually } from '@market/testing';
import { callOnce, payFor, quote, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const BASE_SEPOLIA = 'eip155:84532';
const SOLANA_DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';

inEachMode('payment routes', (harness) => {
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    const seller = await registerAgent(harness, { displayName: 'Seller' });
    buyer = await registerAgent(harness, { displayName: 'Buyer' });
    shop = await openShop(seller, undefined, { pricing_amount: 0.25, preferred_currency: 'SOL' });
  });
  afterAll(() => shop.close());

  const routes = (): Promise<PaymentRoute[]> => new Marketplace({ baseUrl: harness.baseUrl }).paymentRoutes();

  it('are told to anyone, with what they carry, what their currency costs and how they are chosen', async () => {
    const onBase = (currency: string) => ({
      provider: 'sandbox',
      currency,
      network: BASE_SEPOLIA,
      chain_id: '84532',
      headers: { 'X-Market-Origin-Currency': currency, 'X-Market-Origin-Chain-Id': BASE_SEPOLIA },
      closed: null,
    });
    expect(await routes()).toEqual([
      { ...onBase('USDC'), decimals: 6, schemes: ['deposit', 'exact'], minimum_usd: 0.1, unit_price_usd: 1 },
      { ...onBase('ETH'), decimals: 18, schemes: ['deposit'], minimum_usd: 0.1, unit_price_usd: 3000 },
      {
        provider: 'sandbox',
        currency: 'SOL',
        network: SOLANA_DEVNET,
        chain_id: SOLANA_DEVNET.slice('solana:'.length),
        headers: { 'X-Market-Origin-Currency': 'SOL', 'X-Market-Origin-Chain-Id': SOLANA_DEVNET },
        decimals: 9,
        schemes: ['deposit'],
        minimum_usd: 0,
        unit_price_usd: 150,
        closed: null,
      },
    ]);
  });

  it('may be kept, and are not sent again to who has them', async () => {
    const answer = await fetch(`${harness.baseUrl}/api/v1/payment-routes`);
    expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('etag')]).toEqual([
      200,
      'no-cache',
      expect.stringMatching(/^W\//),
    ]);
    await eventually(async () => {
      const etag = (await fetch(`${harness.baseUrl}/api/v1/payment-routes`)).headers.get('etag')!;
      const again = await fetch(`${harness.baseUrl}/api/v1/payment-routes`, { headers: { 'if-none-match': etag } });
      expect([again.status, await again.text()]).toEqual([304, '']);
    });
  });

  it('are chosen by their headers [spec: gateway.header-x-market-origin-currency, gateway.header-x-market-origin-chain-id]', async () => {
    const amounts: Record<string, string> = {};
    for (const { currency, network, headers } of await routes()) {
      const { requirements } = await quote(buyer, shop.listing, { by: currency }, headers);
      expect(requirements).toMatchObject({ currency, network });
      amounts[currency] = requirements.amount_base_units!;
    }
    // 0.25 dollars, rounded up to the next base unit.
    expect(amounts).toEqual({ USDC: '250000', ETH: '83333333333334', SOL: '1666667' });
  });

  it('leave the amounts of a receipt in dollars, and what was paid beside them, in the proof too', async () => {
    for (const { currency, headers } of await routes()) {
      const body = { paidIn: currency };
      const { requirements } = await quote(buyer, shop.listing, body, headers);
      const relayRequestId = await payFor(buyer, shop.listing, body, 'paid', headers);
      await callOnce(buyer, shop.listing, body, { ...headers, ...withRelayId(relayRequestId) });
      const [receipt] = (await buyer.market.receipts.list({ limit: 1 })).data;
      const record = {
        gross_amount: 0.25,
        fee_amount: 0.0125,
        net_amount: 0.2375,
        currency: 'USD',
        paid: {
          asset: currency,
          amount: requirements.amount,
          amount_base_units: requirements.amount_base_units,
        },
      };
      expect(receipt).toMatchObject(record);
      expect(await buyer.market.receipts.get(receipt!)).toMatchObject(record);
      expect((await buyer.market.receipts.proof(receipt!)).claims).toMatchObject(record);
    }
  });
});
