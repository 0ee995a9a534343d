import fc from 'fast-check';
import { microsFromUsdNumber, usdNumber } from './money.js';
import { isUnits, MAX_UNITS, unitsFrom, usedMicros, type Usage } from './usage.js';

/** Ends that grow, and one tier more, which has none. */
const usages = fc
  .record({
    per: fc.integer({ min: 1, max: 1_000_000 }),
    ends: fc.uniqueArray(fc.integer({ min: 1, max: 1_000_000 }), { maxLength: 4 }),
    prices: fc.array(fc.bigInt({ min: 0n, max: 10n ** 12n }).map(usdNumber), { minLength: 5, maxLength: 5 }),
  })
  .map(({ per, ends, prices }) => ({
    per,
    tiers: [...ends.toSorted((a, b) => a - b), null].map((up_to, n) => ({ up_to, price: prices[n]! })),
  }));
const units = fc.integer({ min: 0, max: 2_000_000 });
const NO_LIMIT = 10n ** 30n;

describe('the price of what was used', () => {
  const tokens = {
    per: 1_000,
    tiers: [
      { up_to: 2_000, price: 0.0005 },
      { up_to: 10_000, price: 0.0003 },
      { up_to: null, price: 0.0001 },
    ],
  };
  it.each([
    [0, 0n],
    [1, 0n],
    [2, 1n],
    [2_000, 1_000n],
    [2_001, 1_000n],
    [2_004, 1_001n],
    [10_000, 3_400n],
    [20_000, 4_400n],
  ])('prices each unit in the tier that it is in: %d', (used, micros) => {
    expect(usedMicros(tokens, used, NO_LIMIT)).toBe(micros);
  });

  it('is what unit after unit costs, for any tiers', () => {
    fc.assert(
      fc.property(usages, fc.integer({ min: 0, max: 300 }), ({ per, tiers }, used) => {
        const ascending = { per, tiers: shortened(tiers) };
        let priced = 0n;
        for (let unit = 1; unit <= used; unit += 1)
          priced += microsFromUsdNumber(ascending.tiers.find(({ up_to }) => up_to === null || unit <= up_to)!.price)!;
        expect(usedMicros(ascending, used, NO_LIMIT)).toBe(priced / BigInt(per));
      }),
    );
  });

  it('never costs more than the most, and never less for more', () => {
    fc.assert(
      fc.property(usages, units, units, fc.bigInt({ min: 0n, max: 10n ** 13n }), (usage, a, b, most) => {
        const [fewer, more] = [Math.min(a, b), Math.max(a, b)].map((n) => usedMicros(usage, n, most)) as [
          bigint,
          bigint,
        ];
        expect(fewer).toBeLessThanOrEqual(more);
        expect(more).toBeLessThanOrEqual(most);
        expect(usedMicros(usage, a, most)).toBe(
          usedMicros(usage, a, NO_LIMIT) < most ? usedMicros(usage, a, NO_LIMIT) : most,
        );
      }),
    );
  });

  it('loses less than a micro when it is counted in two calls', () => {
    fc.assert(
      fc.property(
        units,
        units,
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.integer({ min: 1 }),
        (a, b, micros, per) => {
          const flat = { per, tiers: [{ up_to: null, price: usdNumber(micros) }] };
          const [one, two, both] = [a, b, a + b].map((n) => usedMicros(flat, n, NO_LIMIT)) as [bigint, bigint, bigint];
          expect(both - one - two === 0n || both - one - two === 1n).toBe(true);
        },
      ),
    );
  });

  it('prices nothing but whole units', () => {
    for (const wrong of [-1, 0.5, NaN, Infinity, MAX_UNITS + 1]) {
      expect(isUnits(wrong)).toBe(false);
      expect(() => usedMicros(tokens, wrong, NO_LIMIT)).toThrow(RangeError);
    }
    expect([0, 1, MAX_UNITS].every(isUnits)).toBe(true);
    expect(isUnits('1')).toBe(false);
  });

  it.each(['', ' 1', '-1', '+1', '1.0', '1e3', '0x1', '1,2', '1234567890123456', undefined, ['1', '2'], 1])(
    'reads no units from %j',
    (text) => expect(unitsFrom(text)).toBeUndefined(),
  );
  it('reads digits', () => expect(['0', '007', '999999999999999'].map(unitsFrom)).toEqual([0, 7, MAX_UNITS]));
});

/** The same prices with ends that few units reach. */
function shortened(tiers: Usage['tiers']): Usage['tiers'] {
  const ends = [...new Set(tiers.flatMap(({ up_to }) => (up_to === null ? [] : (up_to % 100) + 1)))];
  return [...ends.sort((a, b) => a - b), null].map((up_to, n) => ({ ...tiers[n]!, up_to }));
}
