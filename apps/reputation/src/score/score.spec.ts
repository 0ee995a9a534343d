import fc from 'fast-check';
import { asOf, roundedDown, roundedUp, scoreOf, standingOf, type Buyer, type Evidence, type ListingTotals, type Ratings, type Score, type Tie, type Trade } from './score.js';

const SEED = 20_261_121;
const NOW = new Date('2026-11-21T12:00:00Z');
const DAY_MS = 86_400_000;
const DOLLAR = 1_000_000n;
const daysBefore = (days: number): Date => new Date(NOW.getTime() - days * DAY_MS);

const trade = (values: Partial<Trade> = {}): Trade => ({ categoryId: 'c1', delivered: 10, failed: 0, paid: DOLLAR, firstAt: daysBefore(60), lastAt: daysBefore(1), ratings: null, ...values });
const listing = (values: Partial<ListingTotals> = {}): ListingTotals => ({ category: { id: 'c1', name: 'Data', slug: 'data' }, delivered: 100, failed: 0, subscriptions: 0, reviews: 0, ratingSum: 0, ...values });
const stars = (n: number): Ratings => ({ accuracy: n, reliability: n, value: n });

/** Pays five sellers of its own, ten dollars each, that have a thousand dollars of other custom. */
const independent = (party: string, trades: Trade[] = [trade()]): Buyer => ({
  party,
  isFunded: true,
  tenure: 3,
  trades,
  elsewhere: Array.from({ length: 5 }, (_, n): Tie => ({ seller: `${party} shop ${n}`, paid: 10n * DOLLAR, revenue: 1_000n * DOLLAR, isKin: false })),
});
const stranger = (party: string, trades: Trade[] = [trade()]): Buyer => ({ party, isFunded: true, tenure: 3, trades, elsewhere: [] });
const crowd = (size: number, make: (party: string) => Buyer): Buyer[] => Array.from({ length: size }, (_, n) => make(`party ${String(n).padStart(5, '0')}`));
const evidence = (buyers: Buyer[], listings = [listing()]): Evidence => ({ listings, buyers, solveMs: [], lastActiveAt: daysBefore(1) });
const marketScore = (buyers: Buyer[]): number => scoreOf(evidence(buyers)).market_score;

describe('a score', () => {
  const micros = fc.bigInt(0n, 10n ** 12n);
  const rating = fc.integer({ min: 1, max: 5 });
  const anyTrade: fc.Arbitrary<Trade> = fc.record({
    categoryId: fc.constantFrom('c1', 'c2', null),
    delivered: fc.nat(100_000),
    failed: fc.nat(100_000),
    paid: micros,
    firstAt: fc.integer({ min: 100, max: 4_000 }).map(daysBefore),
    lastAt: fc.integer({ min: 0, max: 100 }).map(daysBefore),
    ratings: fc.option(fc.record({ accuracy: rating, reliability: rating, value: rating })),
  });
  const anyTie: fc.Arbitrary<Tie> = fc.record({ seller: fc.constantFrom('s1', 's2', 's3', 's4', 's5', 's6'), paid: micros, revenue: micros, isKin: fc.boolean() });
  const anyBuyers = fc.uniqueArray(
    fc.record({ party: fc.uuid(), isFunded: fc.boolean(), tenure: fc.integer({ min: 0, max: 3 }), trades: fc.array(anyTrade, { minLength: 1, maxLength: 4 }), elsewhere: fc.uniqueArray(anyTie, { selector: (tie) => tie.seller }) }),
    { selector: (buyer) => buyer.party, maxLength: 30 },
  );
  const anyListings = fc.array(fc.record({ category: fc.constantFrom({ id: 'c1', name: 'Data', slug: 'data' }, { id: 'c2', name: 'Text', slug: 'text' }, null), delivered: fc.nat(100_000), failed: fc.nat(1_000), subscriptions: fc.nat(1_000), reviews: fc.constant(2), ratingSum: fc.integer({ min: 6, max: 30 }) }), { maxLength: 5 });
  const anyEvidence: fc.Arbitrary<Evidence> = fc.record({ listings: anyListings, buyers: anyBuyers, solveMs: fc.array(fc.nat(600_000), { maxLength: 20 }), lastActiveAt: fc.option(fc.integer({ min: 0, max: 1_000 }).map(daysBefore)) });

  it(`is between 0 and 1000, all of it, whatever happened (seed ${SEED})`, () => {
    fc.assert(
      fc.property(anyEvidence, (facts) => {
        const score = scoreOf(facts);
        const now = asOf(score, NOW);
        for (const value of [score.market_score, now.market_score, ...Object.values(score.components), ...now.categories.map((category) => category.score)]) {
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1000);
          expect(Math.round(value * 10) / 10).toBe(value);
        }
        for (const { success_rate, avg_review_rating } of score.categories) {
          if (success_rate !== null) expect(success_rate >= 0 && success_rate <= 1).toBe(true);
          if (avg_review_rating !== null) expect(avg_review_rating >= 1 && avg_review_rating <= 5).toBe(true);
        }
        expect(JSON.parse(JSON.stringify(score))).toEqual(score);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it(`is the same in whatever order its evidence lies (seed ${SEED})`, () => {
    const shuffled = anyEvidence.chain((facts) =>
      fc.tuple(
        fc.constant(facts),
        fc.record({
          listings: fc.shuffledSubarray(facts.listings, { minLength: facts.listings.length }),
          buyers: fc.shuffledSubarray(facts.buyers.map((buyer) => ({ ...buyer, elsewhere: [...buyer.elsewhere].reverse() })), { minLength: facts.buyers.length }),
          solveMs: fc.shuffledSubarray(facts.solveMs, { minLength: facts.solveMs.length }),
          lastActiveAt: fc.constant(facts.lastActiveAt),
        }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([facts, other]) => {
        expect(scoreOf(other)).toEqual(scoreOf(facts));
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  it(`gains at most 25 points by buyers that were seen nowhere else, however many and however satisfied (seed ${SEED})`, () => {
    fc.assert(
      fc.property(fc.array(anyTrade, { minLength: 1, maxLength: 500 }), (trades) => {
        expect(marketScore(trades.map((one, n) => stranger(`p${n}`, [{ ...one, failed: 0, ratings: stars(5) }])))).toBeLessThanOrEqual(25);
      }),
      { seed: SEED, numRuns: 50 },
    );
  });

  it('grows with independent buyers, each the less the more there are', () => {
    const scores = [0, 1, 5, 20, 80, 320].map((size) => marketScore(crowd(size, independent)));
    expect(scores).toEqual([...scores].sort((a, b) => a - b));
    expect(new Set(scores).size).toBe(scores.length);
    expect(scores[3]! - scores[2]!).toBeGreaterThan(scores[5]! - scores[4]!);
  });

  it('does not grow with what one buyer does beyond its say', () => {
    const said = marketScore(crowd(10, (party) => independent(party, [trade({ delivered: 20 })])));
    const shouted = marketScore(crowd(10, (party) => independent(party, [trade({ delivered: 1_000_000, paid: 1_000_000n * DOLLAR })])));
    expect(shouted).toBe(said);
  });

  it.each<[string, (buyer: Buyer) => Buyer]>([
    ['whose money only circulates', (buyer) => ({ ...buyer, isFunded: false })],
    ['whose other sellers trade with this one', (buyer) => ({ ...buyer, elsewhere: buyer.elsewhere.map((tie) => ({ ...tie, isKin: true })) })],
    ['whose other sellers live of the same buyers', (buyer) => ({ ...buyer, elsewhere: buyer.elsewhere.map((tie) => ({ ...tie, revenue: tie.paid })) })],
    ['that pay nothing', (buyer) => ({ ...buyer, trades: [trade({ paid: 0n })] })],
  ])('is nothing by buyers %s', (_who, change) => {
    expect(marketScore(crowd(50, (party) => change(independent(party))))).toBe(0);
  });

  it('is nearly nothing by buyers of a day', () => {
    expect(marketScore(crowd(50, (party) => ({ ...independent(party), tenure: 0 })))).toBeLessThanOrEqual(25);
  });

  it('follows what independent buyers say of the answers, not that there were answers', () => {
    const junk = marketScore(crowd(20, (party) => independent(party, [trade({ ratings: { accuracy: 1, reliability: 5, value: 1 } })])));
    const sound = marketScore(crowd(20, (party) => independent(party, [trade({ failed: 1, ratings: stars(5) })])));
    expect(junk).toBeLessThan(0.6 * sound);
  });

  it('falls with calls that fail', () => {
    const scores = [0, 5, 20, 1_000].map((failed) => marketScore(crowd(20, (party) => independent(party, [trade({ failed })]))));
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(scores[3]!).toBeLessThan(0.8 * scores[0]!);
  });

  it('moves by less than 50 when 500 strangers leave one star', () => {
    const established = crowd(20, (party) => independent(party, [trade({ ratings: stars(5) })]));
    const bombers = crowd(500, (party) => stranger(`z ${party}`, [trade({ paid: 10_000n, delivered: 1, ratings: stars(1) })]));
    expect(Math.abs(marketScore([...established, ...bombers]) - marketScore(established))).toBeLessThan(50);
  });

  it('of a category is of the sales in it', () => {
    const listings = [listing({ delivered: 90, failed: 10, reviews: 2, ratingSum: 27 }), listing({ category: { id: 'c2', name: 'Text', slug: 'text' }, delivered: 0, subscriptions: 3 }), listing({ category: null })];
    const { categories } = scoreOf(evidence(crowd(20, independent), listings));
    expect(categories).toEqual([
      { category_id: 'c1', category: { name: 'Data', slug: 'data' }, score: marketScore(crowd(20, independent)), transaction_count: 90, avg_review_rating: 4.5, success_rate: 0.9 },
      { category_id: 'c2', category: { name: 'Text', slug: 'text' }, score: 0, transaction_count: 3, avg_review_rating: null, success_rate: null },
    ]);
  });

  it('is provisional while it says little', () => {
    const of = (transactions: number, buyers: Buyer[]): Score['provisional'] => scoreOf(evidence(buyers, [listing({ delivered: transactions })])).provisional;
    expect(of(0, [])).toEqual({ reason: 'no_transactions', transactions: 0, required: 10 });
    expect(of(9, crowd(20, independent))).toEqual({ reason: 'few_transactions', transactions: 9, required: 10 });
    expect(of(10, crowd(20, stranger))).toEqual({ reason: 'few_independent_buyers', transactions: 10, required: 10 });
    expect(of(10, crowd(20, independent))).toBeNull();
  });

  it('leaves proofs of work out, and of those what is no measure', () => {
    const solves = (solveMs: number[]): Score => scoreOf({ ...evidence(crowd(20, independent)), solveMs });
    expect(solves([90, 100, 110, 100, 95, 600_000]).capability).toEqual({ avg_pow_solve_ms: 96, best_pow_solve_ms: 90 });
    expect(solves([7]).capability).toEqual({ avg_pow_solve_ms: 7, best_pow_solve_ms: 7 });
    expect({ ...solves([1, 1, 1]), capability: null }).toEqual({ ...solves([]), capability: null });
  });
});

describe('a score as it is read', () => {
  const scored = (market_score: number, idleDays: number, is_scored = true): Score => ({ ...scoreOf(evidence([])), is_scored, market_score, last_active_at: daysBefore(idleDays).toISOString() });

  it.each([
    [0, 'bronze'],
    [249.9, 'bronze'],
    [250, 'silver'],
    [499.9, 'silver'],
    [500, 'gold'],
    [749.9, 'gold'],
    [750, 'platinum'],
    [1000, 'platinum'],
  ])('of %p is %s', (score, tier) => {
    expect(asOf(scored(score, 0), NOW).score_tier).toBe(tier);
    expect(asOf(scored(score, 0, false), NOW)).toMatchObject({ score_tier: 'unrated', status: 'unscored' });
  });

  it.each([
    [0, 'fresh', 'scored', 800],
    [6.9, 'fresh', 'scored', 800],
    [7, 'aging', 'scored', 800],
    [29.9, 'aging', 'scored', 800],
    [30, 'stale', 'scored', 800],
    [89.9, 'stale', 'scored', 635.2],
    [90, 'stale', 'inactive', 635],
    [210, 'stale', 'inactive', 400],
    [390, 'stale', 'inactive', 200],
  ])('%p days after the last sign of its agent is %s, %s and %p', (days, freshness, status, score) => {
    expect(asOf(scored(800, days), NOW)).toMatchObject({ freshness, status, market_score: score });
  });
});

describe('a party', () => {
  const totals = { spent: 100n, earned: 0n, sampledEarnings: { all: 0n, circulating: 0n }, firstPurchaseAt: daysBefore(10), lastPurchaseAt: NOW };

  it('is a net payer while it spends twice what it earns', () => {
    expect([0n, 50n, 51n].map((earned) => standingOf({ ...totals, earned }).isNetPayer)).toEqual([true, true, false]);
    expect(standingOf({ ...totals, spent: 0n }).isNetPayer).toBe(false);
  });

  it('that resells counts as a buyer, unless what it earns only goes round', () => {
    const reseller = (circulating: bigint) => standingOf({ ...totals, earned: 300n, sampledEarnings: { all: 300n, circulating } });
    expect([0n, 50n, 51n, 300n].map((circulating) => reseller(circulating).isFunded)).toEqual([true, true, false, false]);
  });

  it('has the tenure of the time between its purchases', () => {
    expect([0, 0.9, 1, 6.9, 7, 29.9, 30, 400].map((days) => standingOf({ ...totals, firstPurchaseAt: daysBefore(days) }).tenure)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    expect(standingOf({ ...totals, firstPurchaseAt: null, lastPurchaseAt: null }).tenure).toBe(0);
  });

  it('shows amounts that are near the true ones, and seldom others', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 18n), (amount) => {
        const [down, up] = [roundedDown(amount), roundedUp(amount)];
        expect(down <= amount && amount <= up).toBe(true);
        expect(4n * up <= 5n * amount + 4n && 5n * down >= 4n * amount - 5n).toBe(true);
        expect([roundedDown(down), roundedUp(up)]).toEqual([down, up]);
      }),
      { seed: SEED },
    );
    expect(new Set(Array.from({ length: 1_000_000 >> 4 }, (_, n) => roundedDown(BigInt(n)))).size).toBeLessThan(80);
  });
});
