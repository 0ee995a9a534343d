import type { Currency } from '@market/contracts';
import fc from 'fast-check';
import { chooseRoute, type RouteWish } from './choose-route.js';
import type { PaymentRail } from './payment-rail.js';
import type { UnitPrice } from './prices/unit-price.js';

const BASE = 'eip155:84532';
const DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const railOf = (routes: [Currency, string, bigint][]): PaymentRail => ({
  id: 'test',
  routes: () => routes.map(([currency, network, minimumMicros]) => ({ currency, network, decimals: 6, scheme: 'deposit', minimumMicros })),
  open: () => ({ depositAddress: '' }),
  observe: () => Promise.reject(new Error('not asked here')),
});
const rails = [railOf([['USDC', BASE, 100_000n], ['ETH', BASE, 200_000n], ['SOL', DEVNET, 0n]])];
const pricesOf = (known: Currency[]) => ({ of: (currency: Currency): Promise<UnitPrice | null> => Promise.resolve(known.includes(currency) ? { micros: 2_000_000n, at: null } : null) });
const choose = async (wish: Partial<RouteWish>, from = rails, known: Currency[] = ['USDC', 'ETH', 'SOL']): Promise<string> => {
  const choice = await chooseRoute(from, pricesOf(known), { preferredCurrency: 'USDC', priceMicros: 100_000n, mayFallBack: true, ...wish });
  return choice.kind === 'chosen' ? choice.route.currency : choice.kind;
};

describe('chooseRoute', () => {
  it.each<[string, Partial<RouteWish>, string]>([
    ['the preferred currency that carries the price exactly', {}, 'USDC'],
    ['the route with the least minimum where the preferred one cannot carry it', { priceMicros: 99_999n }, 'SOL'],
    ['nothing below the minimum when it insists on the preferred currency', { priceMicros: 99_999n, mayFallBack: false }, 'below_minimum'],
    ['the currency asked for, whatever is preferred', { originCurrency: 'ETH', priceMicros: 200_000n }, 'ETH'],
    ['nothing else than the currency asked for', { originCurrency: 'USDC', priceMicros: 1n }, 'below_minimum'],
    ['a chain by its CAIP-2 id', { originChainId: DEVNET }, 'SOL'],
    ['a chain by its reference alone', { originChainId: '84532' }, 'USDC'],
    ["the preferred currency among a chain's", { originChainId: BASE, preferredCurrency: 'ETH', priceMicros: 200_000n }, 'ETH'],
    ['another currency of the chain where the preferred one cannot carry the price', { originChainId: BASE, preferredCurrency: 'ETH', priceMicros: 150_000n }, 'USDC'],
    ['nothing on another chain than the one asked for', { originChainId: BASE, priceMicros: 1n }, 'below_minimum'],
    ['no chain it does not know', { originChainId: 'eip155:1' }, 'unavailable'],
    ['no currency on a chain that does not have it', { originChainId: BASE, originCurrency: 'SOL' }, 'unavailable'],
  ])('takes %s', async (_name, wish, expected) => expect(await choose(wish)).toBe(expected));

  it('has nothing where no rail is configured, and says so rather than naming a minimum', async () => {
    expect(await choose({}, [])).toBe('unavailable');
    expect(await choose({ mayFallBack: false, preferredCurrency: 'SOL' }, [railOf([['USDC', BASE, 0n]])])).toBe('unavailable');
  });

  it.each<[string, bigint, string]>([
    ['the route whose chain carries just so much', 50_000n, 'SOL'],
    ['another where it carries no less than more', 50_001n, 'USDC'],
  ])('takes %s', async (_name, minimumBaseUnits, expected) => {
    const rail: PaymentRail = { ...railOf([]), routes: () => [{ currency: 'SOL', network: DEVNET, decimals: 6, scheme: 'deposit', minimumMicros: 0n, minimumBaseUnits }] };
    expect(await choose({ preferredCurrency: 'SOL' }, [rail, ...rails.map((other) => ({ ...other, routes: () => other.routes().filter(({ currency }) => currency !== 'SOL') }))])).toBe(expected);
    expect(await choose({ originCurrency: 'SOL' }, [rail])).toBe(expected === 'SOL' ? 'SOL' : 'below_minimum');
  });

  it.each<[string, Partial<RouteWish>, Currency[], string]>([
    ['another route where nobody chose the one without a price', { preferredCurrency: 'ETH', priceMicros: 200_000n }, ['USDC', 'SOL'], 'SOL'],
    ['no other where its currency was chosen', { originCurrency: 'ETH', priceMicros: 200_000n }, ['USDC', 'SOL'], 'price_unavailable'],
    ['no other where the operator insists on the preferred one', { preferredCurrency: 'SOL', mayFallBack: false }, ['USDC', 'ETH'], 'price_unavailable'],
    ['another of the chain that was chosen', { originChainId: BASE, preferredCurrency: 'ETH', priceMicros: 200_000n }, ['USDC', 'SOL'], 'USDC'],
    ['none of another chain than the one chosen', { originChainId: DEVNET }, ['USDC', 'ETH'], 'price_unavailable'],
    ['none below its minimum for want of a price', { preferredCurrency: 'SOL', priceMicros: 1n }, ['USDC', 'ETH'], 'price_unavailable'],
  ])('takes, without all prices, %s', async (_name, wish, known, expected) => expect(await choose(wish, rails, known)).toBe(expected));

  it('never chooses a route that the wish excludes, that does not carry the price or has none', async () => {
    const currencies = fc.constantFrom<Currency>('USDC', 'ETH', 'SOL');
    const chains = fc.constantFrom(BASE, DEVNET, 'eip155:1');
    const someRails = fc.array(fc.array(fc.tuple(currencies, chains, fc.bigInt({ min: 0n, max: 4n })), { maxLength: 4 }).map(railOf), { maxLength: 2 });
    const wishes = fc.record({
      originCurrency: fc.option(currencies, { nil: undefined }),
      originChainId: fc.option(chains, { nil: undefined }),
      preferredCurrency: currencies,
      priceMicros: fc.bigInt({ min: 0n, max: 4n }),
      mayFallBack: fc.boolean(),
    });
    const known = fc.uniqueArray(currencies);
    await fc.assert(
      fc.asyncProperty(someRails, wishes, known, async (from, wish, priced) => {
        const choice = await chooseRoute(from, pricesOf(priced), wish);
        const possible = from
          .flatMap((rail) => rail.routes())
          .filter(({ currency, network, minimumMicros }) => (!wish.originChainId || network === wish.originChainId) && (!wish.originCurrency || currency === wish.originCurrency) && priced.includes(currency) && wish.priceMicros >= minimumMicros);
        if (choice.kind === 'chosen') expect(possible).toContainEqual(choice.route);
        else if (wish.originCurrency || wish.originChainId || wish.mayFallBack) expect(possible).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
