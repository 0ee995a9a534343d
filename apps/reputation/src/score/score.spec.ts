import fc from 'fast-check';
import {
  agentScoreOf,
  NO_EVIDENCE,
  tierOf,
  type AgentScore,
  type Evidence,
  type ListingTotals,
} from './agent-score.js';
import { scoreOf, type Buyer, type Purchases, type Sales } from './score.js';
import { popularityOf } from '../popularity/popularity.js';

const SEED = 20_261_121;
const NOW = new Date('2026-11-21T12:00:00Z');
const DAY_MS = 86_400_000;
const CENT = 10_000;
const DOLLAR = 100 * CENT;
const FEE = 0.05;
const daysBefore = (days: number): Date => new Date(NOW.getTime() - days * DAY_MS);

interface Trade {
  seller: string;
  buyer: string;
  paid: number;
  stars?: number;
}

/** Computes the buyers of each seller, assuming that these are all trades of the marketplace. */
function buyersBySeller(trades: Trade[]): Map<string, Buyer[]> {
  const [spent, earned] = [new Map<string, number>(), new Map<string, number>()];
  const sellers = new Map<string, Map<string, Buyer>>();
  for (const { seller, buyer, paid, stars } of trades) {
    spent.set(buyer, (spent.get(buyer) ?? 0) + paid);
    earned.set(seller, (earned.get(seller) ?? 0) + paid);
    const buyers = sellers.get(seller) ?? new Map<string, Buyer>();
    const known = buyers.get(buyer) ?? {
      party: buyer,
      spent: 0,
      earned: 0,
      purchases: [bought({ delivered: 0, paid: 0 })],
    };
    const [purchases] = known.purchases;
    known.purchases = [
      {
        ...purchases!,
        delivered: purchases!.delivered + 1,
        paid: purchases!.paid + paid,
        ...(stars ? rated(stars) : {}),
      },
    ];
    sellers.set(seller, buyers.set(buyer, known));
  }
  const complete = (buyer: Buyer): Buyer => ({
    ...buyer,
    spent: spent.get(buyer.party)!,
    earned: earned.get(buyer.party) ?? 0,
  });
  return new Map([...sellers].map(([seller, buyers]) => [seller, [...buyers.values()].map(complete)]));
}

const bought = (values: Partial<Purchases> = {}): Purchases => ({
  listingId: 'l1',
  categoryId: 'c1',
  delivered: 10,
  failed: 0,
  paid: 10 * CENT,
  reviews: 0,
  accuracySum: 0,
  ratingSum: 0,
  ...values,
});
const rated = (stars: number): Partial<Purchases> => ({ reviews: 1, accuracySum: stars, ratingSum: 3 * stars });
const paidBy = ({ purchases }: Pick<Buyer, 'purchases'>): number =>
  purchases.reduce((total, { paid }) => total + paid, 0);
/** These buyers, where the operator has received this part of the price of all sales as fees. */
const salesTo = (buyers: Buyer[], received = FEE, values: Partial<Sales> = {}): Sales => {
  const sold = buyers.reduce((total, buyer) => total + paidBy(buyer), 0);
  return { buyers, sold, feesReceived: sold * received, ...values };
};
const points = (buyers: Buyer[], received?: number): number => 1000 * scoreOf(salesTo(buyers, received)).score;
const pointsOf = (trades: Trade[]): Map<string, number> =>
  new Map([...buyersBySeller(trades)].map(([seller, buyers]) => [seller, points(buyers)]));
/** A buyer that buys from many others as well, by default for a hundred dollars here. */
const independent = (party: string, purchases: Partial<Purchases> = {}): Buyer => ({
  party,
  spent: 10 ** 15,
  earned: 0,
  purchases: [bought({ paid: 100 * DOLLAR, ...purchases })],
});
/** A buyer that buys only from this seller. */
const lone = (party: string, { paid = 10 * CENT, ...purchases }: Partial<Purchases> = {}): Buyer => ({
  party,
  spent: paid,
  earned: 0,
  purchases: [bought({ paid, ...purchases })],
});
const crowd = (size: number, make: (party: string) => Buyer): Buyer[] =>
  Array.from({ length: size }, (_, n) => make(`party ${n}`));

const listing = (values: Partial<ListingTotals> = {}): ListingTotals => ({
  listingId: 'l1',
  category: { id: 'c1', name: 'Data', slug: 'data' },
  delivered: 100,
  failed: 0,
  subscriptions: 0,
  reviews: 0,
  ratingSum: 0,
  firstAt: daysBefore(74),
  lastAt: daysBefore(1),
  ...values,
});
const shown = ({ buyers = [], ...evidence }: Partial<Evidence>): AgentScore =>
  agentScoreOf(
    'an agent',
    { ...NO_EVIDENCE, listings: [listing()], lastActiveAt: daysBefore(1), ...salesTo(buyers), ...evidence },
    NOW,
  );

const micros = fc.integer({ min: 0, max: 10 ** 11 });
const anyPurchases: fc.Arbitrary<Purchases> = fc
  .record({
    categoryId: fc.constantFrom('c1', 'c2', null),
    delivered: fc.nat(100_000),
    failed: fc.nat(100_000),
    paid: micros,
    stars: fc.option(fc.integer({ min: 1, max: 5 })),
  })
  .map(({ stars, ...values }) => bought({ ...values, ...(stars === null ? {} : rated(stars)) }));
const anyBuyer: fc.Arbitrary<Buyer> = fc
  .record({
    party: fc.uuid(),
    elsewhere: micros,
    earned: micros,
    purchases: fc.array(anyPurchases, { minLength: 1, maxLength: 4 }),
  })
  .map(({ elsewhere, ...buyer }) => ({ ...buyer, spent: paidBy(buyer) + elsewhere }));
const anyBuyers = fc.uniqueArray(anyBuyer, { selector: ({ party }) => party, maxLength: 30 });
const property = { seed: SEED, numRuns: 300 };

describe(`a score (seed ${SEED})`, () => {
  it('is the same in whatever order its facts lie, and all its parts are shares', () => {
    const cases = anyBuyers.chain((buyers) =>
      fc.tuple(
        fc.constant(buyers),
        fc.shuffledSubarray(
          buyers.map((buyer) => ({ ...buyer, purchases: [...buyer.purchases].reverse() })),
          { minLength: buyers.length },
        ),
      ),
    );
    fc.assert(
      fc.property(cases, ([buyers, shuffled]) => {
        const score = scoreOf(salesTo(buyers));
        expect(scoreOf(salesTo(shuffled))).toEqual(score);
        for (const share of [score.score, score.reliability, score.accuracy, score.reputation, score.volume])
          expect(share >= 0 && share <= 1).toBe(true);
      }),
      property,
    );
  });

  it('is no gold while the operator has received less than 500 dollars, whoever bought for however much', () => {
    const fees = fc.integer({ min: 0, max: 500 * DOLLAR - 1 });
    fc.assert(
      fc.property(anyBuyers, fees, (buyers, feesReceived) => {
        const all = buyers.map((buyer) => ({ ...buyer, purchases: [bought({ paid: paidBy(buyer), ...rated(5) })] }));
        for (const shop of [buyers, all, [...all, ...crowd(500, (party) => independent(party, rated(5)))]]) {
          const { score_tier } = shown({ ...salesTo(shop), feesReceived });
          expect(['bronze', 'silver']).toContain(score_tier);
        }
      }),
      { ...property, numRuns: 50 },
    );
  });

  it('is bronze, of at most 200 points, as long as no fee was received, from however many buyers', () => {
    fc.assert(
      fc.property(anyBuyers, (buyers) => {
        for (const shop of [buyers, [...buyers, ...crowd(500, (party) => independent(party, rated(5)))]])
          expect(points(shop, 0)).toBeLessThan(200);
      }),
      { ...property, numRuns: 50 },
    );
  });

  it('has more volume the more fees, buyers and money there are, here and elsewhere', () => {
    const volume = (buyers: Buyer[], received?: number): number => scoreOf(salesTo(buyers, received)).volume;
    fc.assert(
      fc.property(anyBuyers, anyBuyer, micros, ([first, ...rest], other, more) => {
        if (!first) return;
        const [purchase, ...purchases] = first.purchases;
        const before = volume([first, ...rest]);
        const paidMore = [{ ...purchase!, paid: purchase!.paid + more }, ...purchases];
        for (const after of [
          volume([first, ...rest], 0.06),
          volume([first, ...rest, { ...other, party: 'another' }]),
          volume([{ ...first, spent: first.spent + more, purchases: paidMore }, ...rest]),
          volume([{ ...first, spent: first.spent + more }, ...rest]),
        ])
          expect(after).toBeGreaterThanOrEqual(before - 1e-9);
      }),
      property,
    );
  });

  it('counts a thousand dollars of a buyer, however much it pays, and so a sale without a fee for nothing', () => {
    const fees = (buyers: Buyer[], received?: number): number => {
      const { buyers: known, volume } = scoreOf(salesTo(buyers, received));
      const part = (volume - 0.2 * (known / (known + 0.4))) / 0.8;
      return 1_400 * (part / (1 - part)) ** 2;
    };
    const payer = (dollars: number): Buyer => independent('a', { paid: dollars * DOLLAR });
    expect([100, 1_000, 10_000, 1_000_000].map((dollars) => Math.round(fees([payer(dollars)])))).toEqual([
      5, 50, 50, 50,
    ]);
    expect(fees(crowd(20, independent))).toBeCloseTo(100, 1);
    expect(fees(crowd(20, independent), FEE / 4)).toBeCloseTo(25, 1);
    expect(fees(crowd(20, independent), 0)).toBeCloseTo(0, 6);
    expect(fees(crowd(20, (party) => lone(party, { paid: 100 * DOLLAR })))).toBeCloseTo(10, 1);
  });

  it.each([
    ['5 cents by one who buys from no other seller', lone('a', { delivered: 1, paid: 5 * CENT })],
    ['5 cents by one who buys elsewhere', independent('a', { delivered: 1, paid: 5 * CENT })],
    ['100 dollars by one who buys from no other seller', lone('a', { delivered: 1, paid: 100 * DOLLAR })],
    ['100 dollars by one who buys elsewhere and gives five stars', independent('a', { delivered: 1, ...rated(5) })],
  ])('of one delivered call at %s is provisional and between 50 and 250', (_what, buyer) => {
    const { market_score, provisional } = shown({ buyers: [buyer], listings: [listing({ delivered: 1 })] });
    expect(provisional).toEqual({ reason: 'few_transactions', transactions: 1, required: 10 });
    expect(market_score).toBeGreaterThanOrEqual(50);
    expect(market_score).toBeLessThan(250);
  });

  it('loses less than 30 points by one failure in a hundred calls, whosever calls they are', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { minLength: 99, maxLength: 99 }), fc.nat(98), (callers, unlucky) => {
        const with_ = (failed: number): Buyer[] =>
          [...new Set(callers)].map((n) =>
            independent(`p${n}`, {
              paid: 1_000 * DOLLAR,
              delivered: callers.filter((caller) => caller === n).length,
              failed: n === callers[unlucky] ? failed : 0,
            }),
          );
        const [before, after] = [points(with_(0)), points(with_(1))];
        expect(after).toBeLessThan(before);
        expect(before - after).toBeLessThan(30);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  it('counts at most twenty calls of a buyer', () => {
    const satisfied = crowd(3, (party) => independent(party, { delivered: 20 }));
    const { reliability } = scoreOf(salesTo([...satisfied, independent('z', { delivered: 2_000, failed: 18_000 })]));
    expect(reliability).toBeCloseTo((3 * 20 + 2) / (4 * 20), 9);
  });

  it.each<[string, Buyer, Buyer]>([
    ['earned half of what it spent', { ...independent('a'), earned: 5 * 10 ** 14 }, independent('a', { paid: 0 })],
    [
      'earned a quarter of what it spent as half of the money',
      { ...independent('a'), earned: 25 * 10 ** 13 },
      independent('a', { paid: 50 * DOLLAR }),
    ],
  ])('counts a buyer that %s as nothing or less', (_what, buyer, other) => {
    const beside = crowd(5, independent);
    expect(scoreOf(salesTo([...beside, buyer], 0)).buyers).toBeCloseTo(
      scoreOf(salesTo([...beside, other], 0)).buyers,
      2,
    );
  });

  it('of the worked example in the README is what it says there', () => {
    const buyers = [
      {
        party: 'a',
        spent: 800 * DOLLAR,
        earned: 0,
        purchases: [bought({ delivered: 10, paid: 200 * DOLLAR, ...rated(5) })],
      },
      { party: 'b', spent: 20 * DOLLAR, earned: 0, purchases: [bought({ delivered: 1, paid: 20 * DOLLAR })] },
      {
        party: 'c',
        spent: 400 * DOLLAR,
        earned: 100 * DOLLAR,
        purchases: [bought({ delivered: 4, failed: 1, paid: 80 * DOLLAR })],
      },
    ];
    expect(shown({ buyers, feesReceived: 15 * DOLLAR })).toMatchObject({
      market_score: 218.3,
      components: { reliability: 980.9, reputation: 954.2, volume: 233.2 },
    });
  });
});

describe(`money that goes round (seed ${SEED})`, () => {
  it('counts for nothing, in cycles of any length, however they cross', () => {
    const members = Array.from({ length: 8 }, (_, n) => `m${n}`);
    const cycle = fc.tuple(fc.shuffledSubarray(members, { minLength: 2 }), fc.integer({ min: 1, max: 10 ** 8 }));
    fc.assert(
      fc.property(fc.array(cycle, { minLength: 1, maxLength: 20 }), (cycles) => {
        const trades = cycles.flatMap(([ring, paid]) =>
          ring.map((buyer, n): Trade => ({ buyer, seller: ring[(n + 1) % ring.length]!, paid, stars: 5 })),
        );
        expect(Math.max(...pointsOf(trades).values())).toBe(0);
      }),
      { seed: SEED },
    );
  });

  const RING = 50;
  const members = Array.from({ length: RING }, (_, n) => `m${n}`);
  /** A deterministic random number generator. */
  const dice =
    (state = SEED >>> 0) =>
    (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  const ringOf = (knows: (seller: number, buyer: number) => boolean, paid: number, stars?: number): Trade[] => {
    const pairs = members.flatMap((seller, s) =>
      members.flatMap((buyer, b) => (s !== b && knows(s, b) ? [{ seller, buyer }] : [])),
    );
    const roll = dice();
    return Array.from({ length: 10_000 }, () => ({ ...pairs[roll(pairs.length)]!, paid, stars }));
  };

  it.each<[string, Trade[]]>([
    ['at random', ringOf(() => true, 5 * CENT)],
    ['at the smallest price', ringOf(() => true, 1)],
    ['at a high price', ringOf(() => true, 500 * CENT)],
    ['in a circle', ringOf((seller, buyer) => buyer === (seller + 1) % RING, 5 * CENT)],
    ['with a few neighbours each', ringOf((seller, buyer) => (buyer - seller + RING) % RING <= 5, 5 * CENT)],
    ['with five stars each time', ringOf(() => true, 5 * CENT, 5)],
    [
      'and buy of a real seller now and then',
      [
        ...ringOf(() => true, 5 * CENT),
        ...members.flatMap((buyer) => [1, 2, 3].map(() => ({ seller: 'real', buyer, paid: 2 * CENT }))),
      ],
    ],
  ])('gains a ring of 50 that trade 10,000 times %s at most 25 points', (_how, trades) => {
    const best = Math.max(...[...pointsOf(trades)].filter(([seller]) => seller !== 'real').map(([, score]) => score));
    expect(best).toBeLessThanOrEqual(25);
  });

  it('adds nothing to a member that had honest buyers before', () => {
    const sales = crowd(20, lone).map(({ party }) => ({ seller: 'm0', buyer: party, paid: 10 * CENT }));
    const [before, after] = [pointsOf(sales), pointsOf([...sales, ...ringOf(() => true, 5 * CENT)])];
    expect(after.get('m0')! - before.get('m0')!).toBeLessThanOrEqual(25);
  });
});

describe('what cheating costs', () => {
  const WALLETS = 1_000;
  type Wallet = (party: string, dollars: number) => Buyer;
  /** Whole dollars of fees that the operator received when the wallets, with five stars each, reach the points. */
  const costOf = (wallet: Wallet, target: number): number => {
    const reached = (fees: number): boolean => {
      const wallets = crowd(WALLETS, (party) => wallet(party, fees / FEE / WALLETS));
      return points(wallets) >= target;
    };
    let [low, high] = [0, 1_000_000];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (reached(middle)) high = middle;
      else low = middle;
    }
    return high;
  };
  const fresh: Wallet = (party, dollars) => lone(party, { paid: dollars * DOLLAR, ...rated(5) });
  const known: Wallet = (party, dollars) => independent(party, { paid: dollars * DOLLAR, ...rated(5) });
  const twin: Wallet = (party, dollars) => ({ ...fresh(party, dollars), spent: 2 * dollars * DOLLAR });

  it.each<[string, number, Wallet, number]>([
    ['silver', 250, fresh, 336],
    ['gold', 500, fresh, 9_109],
    ['platinum', 750, fresh, 138_830],
    ['silver', 250, twin, 12],
    ['gold', 500, twin, 918],
    ['platinum', 750, twin, 12_332],
    ['silver', 250, known, 7],
    ['gold', 500, known, 505],
    ['platinum', 750, known, 6_783],
  ])('%s, %d points by a thousand wallets, in dollars of fees as the README says', (_tier, target, wallet, dollars) => {
    expect(costOf(wallet, target)).toBe(dollars);
  });

  it('by sixty new wallets that buy for play money, or whose fees are never paid, ends at 143 of 1000 points', () => {
    const wallets = crowd(60, (party) => lone(party, { paid: 1_000 * DOLLAR, ...rated(5) }));
    expect(Math.round(points(wallets, 0))).toBe(142);
    expect(shown({ buyers: wallets, feesReceived: 0 })).toMatchObject({ score_tier: 'bronze' });
  });

  it('against another seller is in proportion: one star by 200 new wallets for $20 costs one with $2,000 of sales a point', () => {
    const satisfied = crowd(20, (party) => independent(party, rated(5)));
    const attack = crowd(200, (party) => lone(`z ${party}`, { paid: 10 * CENT, delivered: 1, ...rated(1) }));
    expect(points(satisfied) - points([...satisfied, ...attack])).toBeLessThan(1);
  });
});

describe('popularity', () => {
  const sold = (listingId: string, party: string, paid: number, delivered: number, spent = paid): Buyer => ({
    party,
    spent,
    earned: 0,
    purchases: [bought({ listingId, paid, delivered })],
  });
  const popularity = (listingId: string, buyers: Buyer[], received?: number): number => {
    const delivered = buyers.reduce((total, { purchases }) => total + purchases[0]!.delivered, 0);
    return popularityOf([{ listingId, delivered, subscriptions: 0 }], salesTo(buyers, received))[0]!.popularity;
  };
  const two = ['x', 'y'].map((party) => sold('real', party, DOLLAR, 2, 5 * DOLLAR));

  it.each<[string, Buyer[]]>([
    ['200 purchases of a tenth of a cent by one buyer', [sold('l', 'a', 20 * CENT, 200)]],
    ['2,000 purchases by one buyer that buys elsewhere', [sold('l', 'a', 200 * CENT, 2_000, 400 * CENT)]],
    ['sixty new wallets', crowd(60, (party) => sold('l', party, 10 * CENT, 1))],
    [
      'five thousand new wallets that pay a hundred dollars',
      crowd(5_000, (party) => sold('l', party, 100 * DOLLAR, 1)),
    ],
  ])('of %s, for which no fee came, is less than that of two buyers that exist elsewhere', (_what, attack) => {
    expect(popularity('l', attack, 0)).toBeLessThan(popularity('real', two));
    expect(popularity('l', attack, 0)).toBeLessThan(popularity('real', two, 0));
  });

  it('grows with purchases, by free ones only where nothing else tells listings apart', () => {
    expect(popularity('l', [sold('l', 'a', 50 * CENT, 2)])).toBeGreaterThan(
      popularity('l', [sold('l', 'a', 25 * CENT, 1)]),
    );
    expect(popularity('l', [sold('l', 'a', 0, 5_000)])).toBe(999);
    expect(popularity('l', [sold('l', 'a', 1_000, 1)], 0)).toBeGreaterThan(999);
    expect(popularity('l', [])).toBe(0);
    expect(
      popularity(
        'l',
        crowd(5_000, (party) => independent(party, { paid: 10 ** 12, listingId: 'l' })),
      ),
    ).toBeLessThan(1e9);
  });
});

describe('a score as it is shown', () => {
  it('of a category is of the sales in it', () => {
    const listings = [
      listing({ delivered: 90, failed: 10, reviews: 2, ratingSum: 27 }),
      listing({ category: { id: 'c2', name: 'Text', slug: 'text' }, delivered: 0, subscriptions: 3 }),
      listing({ category: null }),
    ];
    const { categories, market_score } = shown({ listings, buyers: crowd(20, independent) });
    expect(categories).toEqual([
      {
        category_id: 'c1',
        category: { name: 'Data', slug: 'data' },
        score: market_score,
        transaction_count: 90,
        avg_review_rating: 4.5,
        success_rate: 0.9,
      },
      {
        category_id: 'c2',
        category: { name: 'Text', slug: 'text' },
        score: 0,
        transaction_count: 3,
        avg_review_rating: null,
        success_rate: null,
      },
    ]);
  });

  it('is provisional while it says little, and its components multiply to it', () => {
    const of = (delivered: number, buyers: Buyer[], values: Partial<Evidence> = {}): AgentScore['provisional'] =>
      shown({ buyers, listings: [listing({ delivered })], ...values }).provisional;
    expect(of(0, [])).toEqual({ reason: 'no_transactions', transactions: 0, required: 10 });
    expect(of(9, crowd(20, independent))).toEqual({ reason: 'few_transactions', transactions: 9, required: 10 });
    expect(of(10, crowd(100, lone))).toEqual({
      reason: 'few_independent_buyers',
      ...{ transactions: 10, required: 10, buyers: 0.9, required_buyers: 3 },
    });
    const counted = { transactions: 10, required: 10 };
    expect(of(10, crowd(10, independent), { feesReceived: 0 })).toEqual({ reason: 'no_fees_received', ...counted });
    expect(of(10, crowd(10, independent))).toBeNull();
    const { market_score, components } = shown({
      buyers: crowd(7, (party) => independent(party, { failed: 1, ...rated(4.5) })),
    });
    expect((components.reliability * components.reputation * components.volume) / 1e6).toBeCloseTo(market_score, 0);
    expect(components).toMatchObject({ accuracy: 875, longevity: 200 });
  });

  it('leaves proofs of work out, and of those what is no measure', () => {
    const solves = (solveMs: number[]): AgentScore => shown({ buyers: crowd(20, independent), solveMs });
    expect(solves([90, 100, 110, 100, 95, 600_000]).capability).toEqual({
      avg_pow_solve_ms: 96,
      best_pow_solve_ms: 90,
    });
    expect(solves([7]).capability).toEqual({ avg_pow_solve_ms: 7, best_pow_solve_ms: 7 });
    expect({ ...solves([1, 1, 1]), capability: null }).toEqual({ ...solves([]), capability: null });
  });

  it('has the tier of its points, and none while unscored', () => {
    expect([0, 249.9, 250, 499.9, 500, 749.9, 750, 1000].map(tierOf)).toEqual([
      'bronze',
      'bronze',
      'silver',
      'silver',
      'gold',
      'gold',
      'platinum',
      'platinum',
    ]);
    expect(shown({ listings: [] })).toMatchObject({
      status: 'unscored',
      score_tier: 'unrated',
      components: { longevity: 0 },
      meta: { scored_at: null },
    });
  });

  it.each([
    [6.9, 'fresh', 'scored'],
    [7, 'aging', 'scored'],
    [30, 'stale', 'scored'],
    [89.9, 'stale', 'scored'],
    [90, 'stale', 'inactive'],
  ])('%p days after the last sign of its agent is %s and %s', (days, freshness, status) => {
    expect(shown({ lastActiveAt: daysBefore(days) })).toMatchObject({ status, meta: { freshness } });
  });
});
