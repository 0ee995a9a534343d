import fc from 'fast-check';
import { checkOffer, type OfferLimits } from './check-offer.js';
import { MarketplaceError } from './errors.js';
import type { Offer, PaymentRoute } from './types.js';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const NETWORK = 'eip155:84532';
const DEPOSIT = '0x52908400098527886E0F7030069857D2E4169EE7';
const ID = `0x${'ab'.repeat(32)}`;

const offer = (requirements: Partial<Offer['requirements']> = {}, more: Partial<Offer> = {}): Offer => ({
  relay_request_id: ID,
  provider: 'relay',
  requirements: {
    depositAddress: DEPOSIT,
    amount: '0.25',
    amount_base_units: '250000',
    currency: 'USDC',
    network: NETWORK,
    relayRequestId: ID,
    expiresAt: '2026-11-21T12:15:00Z',
    ...requirements,
  },
  fees: { gross_amount: 0.25, fee_rate: 0.05, fee_amount: 0.0125, provider_receives: 0.2375 },
  ...more,
});
const exact = {
  scheme: 'exact',
  network: NETWORK,
  amount: '250000',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: DEPOSIT,
  maxTimeoutSeconds: 600,
  extra: { name: 'USDC', version: '2', relayRequestId: ID },
};
const asking = (changes: object): Offer => offer({}, { x402: { x402Version: 2, accepts: [{ ...exact, ...changes }] } });
const inEth = (amount: string): Offer => offer({ currency: 'ETH', amount, amount_base_units: undefined });
const routes = async (): Promise<PaymentRoute[]> =>
  [{ currency: 'ETH', network: NETWORK, unit_price_usd: 2500 }] as PaymentRoute[];

/** Null if the offer may be paid, else the reason why not. */
async function refusal(checked: Offer, limits: OfferLimits = { maxPriceUsd: '1' }, now = NOW): Promise<string | null> {
  try {
    await checkOffer(checked, limits, now, routes);
    return null;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    expect(error).toMatchObject({
      status: 402,
      payment: checked,
      message: expect.stringMatching(/nothing was paid\.$/) as string,
    });
    return error.code === 'OFFER_REFUSED' ? String(error.details?.['reason']) : error.code;
  }
}

describe('an offer', () => {
  it('that is as it should be may be paid, in each currency', async () => {
    expect(await refusal(offer())).toBeNull();
    expect(await refusal(asking({}))).toBeNull();
    expect(await refusal(asking({ payTo: DEPOSIT.toLowerCase() }))).toBeNull();
    expect(await refusal(inEth('0.0001'))).toBeNull();
  });

  it('that only a signature pays may be signed for on another chain, for the same amount and payment', async () => {
    const signable = (changes: object): Offer =>
      offer(
        { depositAddress: null },
        {
          x402: {
            x402Version: 2,
            accepts: [exact, { ...exact, network: 'eip155:8453', payTo: `0x${'9'.repeat(40)}`, ...changes }],
          },
        },
      );
    expect(await refusal(signable({}))).toBeNull();
    expect(await refusal(signable({ amount: '250001' }))).toBe('x402_mismatch');
    expect(await refusal(signable({ extra: { ...exact.extra, relayRequestId: `0x${'cd'.repeat(32)}` } }))).toBe(
      'x402_mismatch',
    );
  });

  it.each([
    ['is for another payment', offer({ relayRequestId: `0x${'cd'.repeat(32)}` }), 'relay_request_id_mismatch'],
    ['is over', offer({ expiresAt: '2026-11-21T11:59:59Z' }), 'offer_expired'],
    ['is over in a moment', offer({ expiresAt: '2026-11-21T12:00:14Z' }), 'offer_expired'],
    ['ends at no time', offer({ expiresAt: 'soon' }), 'offer_expired'],
    ['states two amounts', offer({ amount_base_units: '2500000' }), 'amount_mismatch'],
    [
      'states an amount finer than its currency',
      offer({ amount: '0.2500001', amount_base_units: undefined }),
      'amount_mismatch',
    ],
    ['asks for nothing', offer({ amount: '0', amount_base_units: '0' }), 'amount_mismatch'],
    ['asks for less than nothing', offer({ amount: '-1', amount_base_units: '-1000000' }), 'amount_mismatch'],
    ['has a signed maximum of its own', asking({ scheme: 'upto', amount: '250001' }), 'x402_mismatch'],
    ['has a signed amount of its own', asking({ amount: '250001' }), 'x402_mismatch'],
    [
      'has a signed recipient of its own',
      asking({ payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' }),
      'x402_mismatch',
    ],
    ['has a signed network of its own', asking({ network: 'eip155:8453' }), 'x402_mismatch'],
    [
      'signs for another payment',
      asking({ extra: { ...exact.extra, relayRequestId: `0x${'cd'.repeat(32)}` } }),
      'x402_mismatch',
    ],
    ['asks for more than its price', offer({ amount: '0.250001', amount_base_units: '250001' }), 'amount_above_price'],
    ['asks for more coin than its price', inEth('0.000106'), 'amount_above_price'],
    [
      'is in a currency nobody values',
      offer({ currency: 'SOL', amount: '0.0025', amount_base_units: undefined }),
      'currency_without_price',
    ],
    ['is above the limit', offer({ amount: '1.000001', amount_base_units: '1000001' }), 'PRICE_ABOVE_LIMIT'],
    [
      'states no price',
      offer({ currency: 'ETH', amount: '0.0001', amount_base_units: undefined }, { fees: undefined }),
      'PRICE_ABOVE_LIMIT',
    ],
  ])('that %s is not paid', async (_what, refused, reason) => {
    expect(await refusal(refused)).toBe(reason);
  });

  it('is held to the price of the listing that was read', async () => {
    expect(await refusal(offer(), { maxPriceUsd: 1, listedPriceUsd: 0.25 })).toBeNull();
    expect(await refusal(offer(), { maxPriceUsd: 1, listedPriceUsd: 0.249999 })).toBe('price_above_listing');
  });

  it('may ask for its route what it was allowed to, and the limit holds for all of it', async () => {
    const dear = offer({ amount: '0.3', amount_base_units: '300000' });
    expect(await refusal(dear, { maxPriceUsd: 1 })).toBe('amount_above_price');
    expect(await refusal(dear, { maxPriceUsd: 1, maxRouteFeeUsd: '0.05' })).toBeNull();
    expect(await refusal(dear, { maxPriceUsd: '0.29', maxRouteFeeUsd: '0.05' })).toBe('PRICE_ABOVE_LIMIT');
    expect(await refusal(inEth('0.0004'), { maxPriceUsd: '0.9', maxRouteFeeUsd: '5' })).toBe('PRICE_ABOVE_LIMIT');
  });

  it('is never worth more than the limit in USDC, whatever it states', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3_000_000 }),
        fc.integer({ min: 1, max: 3_000_000 }),
        fc.integer({ min: 1, max: 3_000_000 }),
        async (units, price, limit) => {
          const usd = (micros: number): string =>
            `${Math.floor(micros / 1_000_000)}.${String(micros % 1_000_000).padStart(6, '0')}`;
          const checked = offer(
            { amount: usd(units), amount_base_units: String(units) },
            { fees: { gross_amount: Number(usd(price)), fee_rate: 0, fee_amount: 0, provider_receives: 0 } },
          );
          expect((await refusal(checked, { maxPriceUsd: usd(limit) })) === null).toBe(units <= price && price <= limit);
        },
      ),
    );
  });
});
