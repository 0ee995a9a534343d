import fc from 'fast-check';
import {
  agentScoreOf,
  NO_EVIDENCE,
  tierOf,
  type AgentScore,
  type Evidence,
  type ListingTotals,
} from './agent-score.js';
import { scoreOf, type Buyer, type Purchases } from './score.js';

const SEED = 20_261_121;
const NOW = new Date('2026-11-21T12:00:00Z');
const DAY_MS = 86_400_000;
const CENT = 10_000;
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
const points = (buyers: Buyer[]): number => 1000 * scoreOf(buyers).score;
const pointsOf = (trades: Trade[]): Map<string, number> =>
  new Map([...buyersBySeller(trades)].map(([seller, buyers]) => [seller, points(buyers)]));
/** A buyer that pays this seller ten cents, and other sellers the same amount. */
const independent = (party: string, purchases: Partial<Purchases> = {}): Buyer => ({
  party,
  spent: 20 * CENT,
  earned: 0,
  purchases: [bought(purchases)],
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
const shown = (evidence: Partial<Evidence>): AgentScore =>
  agentScoreOf('an agent', { ...NO_EVIDENCE, listings: [listing()], lastActiveAt: daysBefore(1), ...evidence }, NOW);

const micros = fc.integer({ min: 0, max: 10 ** 9 });
const anyPurchases: fc.Arbitrary<Purchases> = fc
  .record({
    categoryId: fc.constantFrom('c1', 'c2', null),
    delivered: fc.nat(100_000),
    failed: fc.nat(100_000),
    paid: micros,
    stars: fc.option(fc.integer({ min: 1, max: 5 })),
  })
  .map(({ stars, ...values }) => bought({ ...values, ...(stars === null ? {} : rated(stars)) }));
const paidBy = ({ purchases }: Pick<Buyer, 'purchases'>): number =>
  purchases.reduce((total, { paid }) => total + paid, 0);
const anyBuyer: fc.Arbitrary<Buyer> = fc
  .record({
    party: fc.uuid(),
    elsewhere: micros,
    earned: micros,
    purchases: fc.array(anyPurchases, { minLength: 1, maxLength: 4 }),
  })
  .map(({ elsewhere, ...buyer }) => ({ ...buyer, spent: paidBy(buyer) + elsewhere }));
const anyBuyers = fc.uniqueArray(anyBuyer, { selector: ({ party }) => party, maxLength: 30 });

describe('a score', () => {
  it(`is the same in whatever order its facts lie, and never more than the net money paid for it (seed ${SEED})`, () => {
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
        const score = scoreOf(buyers);
        expect(scoreOf(shuffled)).toEqual(score);
        for (const share of [score.score, score.reliability, score.accuracy, score.reputation, score.volume])
          expect(share >= 0 && share <= 1).toBe(true);
        const net = buyers.reduce(
          (total, buyer) => total + Math.max(0, paidBy(buyer) * (1 - (2 * buyer.earned) / Math.max(1, buyer.spent))),
          0,
        );
        expect(score.score).toBeLessThanOrEqual(net / (net + 15 * CENT) + 1e-9);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it.each([
    ['5 cents by one who buys of nobody else', lone('a', { delivered: 1, paid: 5 * CENT })],
    ['5 cents by one who buys elsewhere', { ...lone('a', { delivered: 1, paid: 5 * CENT }), spent: 10_000 * CENT }],
    ['100 dollars by one who buys of nobody else', lone('a', { delivered: 1, paid: 10_000 * CENT })],
    [
      '100 dollars by one who buys elsewhere and gives five stars',
      { ...lone('a', { delivered: 1, paid: 10_000 * CENT, ...rated(5) }), spent: 10 ** 12 },
    ],
  ])('of one delivered call at %s is provisional and between 50 and 400', (_what, buyer) => {
    const { market_score, provisional } = shown({ buyers: [buyer], listings: [listing({ delivered: 1 })] });
    expect(provisional).toEqual({ reason: 'few_transactions', transactions: 1, required: 10 });
    expect(market_score).toBeGreaterThanOrEqual(50);
    expect(market_score).toBeLessThanOrEqual(400);
  });

  it('of ten independent buyers, all delivered and no reviews, is at least 500, even where each bought just one call at 5 cents', () => {
    expect(points(crowd(10, lone))).toBeCloseTo(612.2, 1);
    expect(points(crowd(10, (party) => lone(party, { delivered: 1, paid: 5 * CENT })))).toBeCloseTo(517.2, 1);
  });

  it(`loses less than 30 points by one failure in a hundred calls, whosever calls they are (seed ${SEED})`, () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { minLength: 99, maxLength: 99 }), fc.nat(98), (callers, unlucky) => {
        const with_ = (failed: number): Buyer[] =>
          [...new Set(callers)].map((n) =>
            independent(`p${n}`, {
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
    expect(scoreOf([...satisfied, independent('z', { delivered: 2_000, failed: 18_000 })]).reliability).toBeCloseTo(
      (3 * 20 + 2) / (4 * 20),
      9,
    );
  });

  it('grows with buyers, each the less the more there are, and beyond 750 only by reviews above four stars', () => {
    const scores = [1, 5, 20, 80, 320].map((size) => points(crowd(size, independent)));
    expect(scores).toEqual([...scores].sort((a, b) => a - b));
    expect(scores[2]! - scores[1]!).toBeGreaterThan(scores[4]! - scores[3]!);
    expect(scores[4]).toBeLessThan(750);
    expect(points(crowd(20, (party) => independent(party, rated(4))))).toBe(scores[2]);
    expect(points(crowd(20, (party) => independent(party, rated(5))))).toBeGreaterThan(900);
    expect(points(crowd(20, (party) => independent(party, rated(2))))).toBeLessThan(250);
  });

  it.each<[string, Buyer, Buyer, number]>([
    ['pays half as much', independent('a'), { ...independent('a', { paid: 5 * CENT }), spent: 10 * CENT }, 1 / 2],
    [
      'pays a thousand times as much, and calls as often',
      independent('a'),
      { ...independent('a', { paid: 10_000 * CENT, delivered: 10_000 }), spent: 20_000 * CENT },
      1,
    ],
    ['buys of nobody else', { ...independent('a'), spent: 10 ** 12 }, lone('a'), 2 / 3],
    ['earned a quarter of what it spent', independent('a'), { ...independent('a'), earned: 5 * CENT }, 1 / 2],
    ['earned half of what it spent', independent('a'), { ...independent('a'), earned: 10 * CENT }, 0],
    ['pays nothing', independent('a'), independent('a', { paid: 0 }), 0],
  ])('counts a buyer that %s accordingly', (_what, buyer, other, share) => {
    expect(scoreOf([other]).buyers / scoreOf([buyer]).buyers).toBeCloseTo(share, 5);
  });

  it('of the worked example in the README is what it says there', () => {
    const buyers = [
      {
        party: 'a',
        spent: 200 * CENT,
        earned: 0,
        purchases: [bought({ delivered: 10, paid: 50 * CENT, ...rated(5) })],
      },
      { party: 'b', spent: 5 * CENT, earned: 0, purchases: [bought({ delivered: 1, paid: 5 * CENT })] },
      {
        party: 'c',
        spent: 100 * CENT,
        earned: 25 * CENT,
        purchases: [bought({ delivered: 4, failed: 1, paid: 20 * CENT })],
      },
    ];
    expect(buyers.map((buyer) => scoreOf([buyer]).buyers.toFixed(2))).toEqual(['0.92', '0.33', '0.93']);
    expect(points([...buyers, ...crowd(17, (party) => ({ ...buyers[0]!, party }))])).toBeCloseTo(900.7, 1);
    expect(shown({ buyers })).toMatchObject({
      market_score: 473.4,
      components: { reliability: 934.1, reputation: 855, volume: 592.8 },
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
  const honest = points(crowd(20, lone));
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
  ])(
    'gains a ring of 50 that trade 10,000 times %s at most 25 points, and twenty buyers outrank it',
    (_how, trades) => {
      const best = Math.max(...[...pointsOf(trades)].filter(([seller]) => seller !== 'real').map(([, score]) => score));
      expect(best).toBeLessThanOrEqual(25);
      expect(honest).toBeGreaterThan(best + 500);
    },
  );

  it('adds nothing to a member that had honest buyers before', () => {
    const sales = crowd(20, lone).map(({ party }) => ({ seller: 'm0', buyer: party, paid: 10 * CENT }));
    const [before, after] = [pointsOf(sales), pointsOf([...sales, ...ringOf(() => true, 5 * CENT)])];
    expect(after.get('m0')! - before.get('m0')!).toBeLessThanOrEqual(25);
  });
});

describe('the cheapest known way to cheat', () => {
  /**
   * New wallets with money from outside. Each buys from each of the cheat's sellers for ten cents and gives five stars.
   */
  const cheat = (wallets: number, sellers: number): Trade[] =>
    Array.from({ length: wallets }, (_, w) =>
      Array.from({ length: sellers }, (_seller, s) => ({ seller: `s${s}`, buyer: `w${w}`, paid: 10 * CENT, stars: 5 })),
    ).flat();

  it.each([
    [500, 1, 3, 1.5],
    [500, 100, 2, 1],
    [750, 1, 7, 3.5],
    [750, 100, 5, 2.5],
    [900, 1, 21, 10.5],
    [900, 100, 14, 7],
  ])(
    'to %d points for each of %d sellers takes %d wallets and %d cents of fees a seller, and no fewer wallets do',
    (target, sellers, wallets, feeCents) => {
      const scores = pointsOf(cheat(wallets, sellers));
      expect(Math.min(...scores.values())).toBeGreaterThanOrEqual(target);
      expect(Math.max(...pointsOf(cheat(wallets - 1, sellers)).values())).toBeLessThan(target);
      const spent = cheat(wallets, sellers).reduce((total, { paid }) => total + paid, 0);
      expect((spent * FEE) / sellers / CENT).toBeCloseTo(feeCents, 9);
      // This is the minimum cost of the score, however the money is divided among accounts.
      expect(spent / sellers).toBeGreaterThanOrEqual((15 * CENT * target) / (1000 - target));
    },
  );

  it('against another seller is one star by who pays it: 50 points of one with twenty full buyers take 20 cents, under many names', () => {
    const satisfied = crowd(20, (party) => ({ ...independent(party, rated(5)), spent: 10 ** 12 }));
    const after = (names: number, cents: number): number =>
      points([
        ...satisfied,
        ...crowd(names, (party) => lone(`z ${party}`, { paid: (cents * CENT) / names, delivered: 1, ...rated(1) })),
      ]);
    for (const names of [2, 20, 200]) expect(points(satisfied) - after(names, 20)).toBeCloseTo(54, 0);
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
    const of = (delivered: number, buyers: Buyer[]): AgentScore['provisional'] =>
      shown({ buyers, listings: [listing({ delivered })] }).provisional;
    expect(of(0, [])).toEqual({ reason: 'no_transactions', transactions: 0, required: 10 });
    expect(of(9, crowd(20, independent))).toEqual({ reason: 'few_transactions', transactions: 9, required: 10 });
    expect(of(10, crowd(3, independent))).toEqual({ reason: 'few_independent_buyers', transactions: 10, required: 10 });
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
