import type { Currency } from '@market/contracts';
import fc from 'fast-check';
import { chooseRoute, type RoutePreference } from './choose-route.js';
import type { PaymentRail, Route } from './payment-rail.js';

const BASE = 'eip155:84532';
const DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const railOf = (routes: [Currency, string, bigint][], scheme: Route['scheme'] = 'deposit'): PaymentRail => ({
  id: 'test',
  payout: null,
  routes: () =>
    routes.map(([currency, network, minimumMicros]) => ({
      currency,
      network,
      decimals: 6,
      scheme,
      minimumMicros,
      unitPriceMicros: null,
    })),
  open: () => ({ payTo: '', payee: 'operator', amountBaseUnits: 1n }),
  observe: () => Promise.reject(new Error('not asked here')),
});
const rails = [
  railOf([
    ['USDC', BASE, 100_000n],
    ['ETH', BASE, 200_000n],
    ['SOL', DEVNET, 0n],
  ]),
];
const choose = (wish: Partial<RoutePreference>, from = rails): string => {
  const choice = chooseRoute(from, {
    preferredCurrency: 'USDC',
    prefersSignature: true,
    priceMicros: 100_000n,
    mayFallBack: true,
    ...wish,
  });
  return choice.kind === 'chosen' ? choice.route.currency : choice.kind;
};

describe('chooseRoute', () => {
  it.each<[string, Partial<RoutePreference>, string]>([
    ['the preferred currency that carries the price exactly', {}, 'USDC'],
    ['the route with the least minimum where the preferred one cannot carry it', { priceMicros: 99_999n }, 'SOL'],
    [
      'nothing below the minimum when it insists on the preferred currency',
      { priceMicros: 99_999n, mayFallBack: false },
      'below_minimum',
    ],
    ['the currency asked for, whatever is preferred', { originCurrency: 'ETH', priceMicros: 200_000n }, 'ETH'],
    ['nothing else than the currency asked for', { originCurrency: 'USDC', priceMicros: 1n }, 'below_minimum'],
    ['a chain by its CAIP-2 id', { originChainId: DEVNET }, 'SOL'],
    ['a chain by its reference alone', { originChainId: '84532' }, 'USDC'],
    [
      "the preferred currency among a chain's",
      { originChainId: BASE, preferredCurrency: 'ETH', priceMicros: 200_000n },
      'ETH',
    ],
    [
      'another currency of the chain where the preferred one cannot carry the price',
      { originChainId: BASE, preferredCurrency: 'ETH', priceMicros: 150_000n },
      'USDC',
    ],
    ['nothing on another chain than the one asked for', { originChainId: BASE, priceMicros: 1n }, 'below_minimum'],
    ['no chain it does not know', { originChainId: 'eip155:1' }, 'unavailable'],
    ['no currency on a chain that does not have it', { originChainId: BASE, originCurrency: 'SOL' }, 'unavailable'],
  ])('takes %s', (_name, wish, expected) => expect(choose(wish)).toBe(expected));

  describe('where a signature pays USDC', () => {
    const signed = [...rails, railOf([['USDC', BASE, 1_000n]], 'exact')];
    it.each<[string, Partial<RoutePreference>, string]>([
      ['it, whatever is preferred', { preferredCurrency: 'ETH', priceMicros: 200_000n }, 'USDC'],
      ['it on the chain asked for', { preferredCurrency: 'ETH', priceMicros: 200_000n, originChainId: BASE }, 'USDC'],
      ['the currency asked for', { originCurrency: 'ETH', priceMicros: 200_000n }, 'ETH'],
      ['the preferred currency below its minimum', { preferredCurrency: 'SOL', priceMicros: 999n }, 'SOL'],
      ['the preferred currency for what no call pays', { preferredCurrency: 'SOL', prefersSignature: false }, 'SOL'],
      ['the preferred currency where it insists on it', { preferredCurrency: 'SOL', mayFallBack: false }, 'SOL'],
    ])('takes %s', (_name, wish, expected) => expect(choose(wish, signed)).toBe(expected));

    it('takes the deposit of a rail that takes signatures for it, too', () => {
      const both = railOf([
        ['SOL', DEVNET, 0n],
        ['USDC', BASE, 100_000n],
      ]);
      const { routes } = both;
      both.routes = () => [...routes(), { ...routes()[1]!, scheme: 'exact', minimumMicros: 1_000n }];
      const wish = { preferredCurrency: 'SOL', prefersSignature: true, mayFallBack: true } as const;
      expect(chooseRoute([both], { ...wish, priceMicros: 100_000n })).toMatchObject({ route: { scheme: 'deposit' } });
      expect(chooseRoute([both], { ...wish, priceMicros: 99_999n })).toMatchObject({ route: { scheme: 'exact' } });
    });
  });

  it('has nothing where no rail is configured, and says so rather than naming a minimum', () => {
    expect(choose({}, [])).toBe('unavailable');
    expect(choose({ mayFallBack: false, preferredCurrency: 'SOL' }, [railOf([['USDC', BASE, 0n]])])).toBe(
      'unavailable',
    );
  });

  it('never chooses a route that the wish excludes or that does not carry the price', () => {
    const currencies = fc.constantFrom<Currency>('USDC', 'ETH', 'SOL');
    const chains = fc.constantFrom(BASE, DEVNET, 'eip155:1');
    const someRails = fc.array(
      fc
        .array(fc.tuple(currencies, chains, fc.bigInt({ min: 0n, max: 4n })), { maxLength: 4 })
        .map((routes) => railOf(routes)),
      { maxLength: 2 },
    );
    const wishes = fc.record({
      originCurrency: fc.option(currencies, { nil: undefined }),
      originChainId: fc.option(chains, { nil: undefined }),
      preferredCurrency: currencies,
      prefersSignature: fc.boolean(),
      priceMicros: fc.bigInt({ min: 0n, max: 4n }),
      mayFallBack: fc.boolean(),
    });
    fc.assert(
      fc.property(someRails, wishes, (from, wish) => {
        const choice = chooseRoute(from, wish);
        const possible = from
          .flatMap((rail) => rail.routes())
          .filter(
            ({ currency, network, minimumMicros }) =>
              (!wish.originChainId || network === wish.originChainId) &&
              (!wish.originCurrency || currency === wish.originCurrency) &&
              wish.priceMicros >= minimumMicros,
          );
        if (choice.kind === 'chosen') expect(possible).toContainEqual(choice.route);
        else if (wish.originCurrency || wish.originChainId || wish.mayFallBack) expect(possible).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
