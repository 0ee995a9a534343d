import { countOf, TEST_SEED } from '@market/test-servers/threats';
import fc from 'fast-check';
import {
  centsNumber,
  feeRateNumber,
  formatDecimal,
  microsFromUsdNumber,
  parseDecimal,
  splitFee,
  usdNumber,
} from './money.js';

describe('money', () => {
  it('splits every gross amount into a fee and a net that add up exactly, rounding in favour of the seller', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), fc.integer({ min: 0, max: 10_000 }), (gross, bps) => {
        const split = splitFee(gross, bps);
        expect(split.fee + split.net).toBe(gross);
        expect(split.fee * 10_000n).toBeLessThanOrEqual(gross * BigInt(bps));
        expect((split.fee + 1n) * 10_000n).toBeGreaterThan(gross * BigInt(bps));
      }),
      { seed: TEST_SEED, numRuns: countOf('fees') },
    );
  });

  it('reads back every amount it writes, at every scale', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }), fc.integer({ min: 0, max: 18 }), (units, scale) => {
        expect(parseDecimal(formatDecimal(units, scale), scale)).toBe(units);
      }),
      { seed: TEST_SEED, numRuns: countOf('decimals') },
    );
  });

  it('reads every JSON price with up to six decimals without losing a micro', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 1_000_000_000_000n }), (micros) => {
        expect(microsFromUsdNumber(JSON.parse(formatDecimal(micros, 6)) as number)).toBe(micros);
        expect(usdNumber(micros)).toBe(JSON.parse(formatDecimal(micros, 6)));
      }),
    );
  });

  it.each([
    [0.1 + 0.2, null],
    [0.0000001, null],
    [1e-6, 1n],
    [1.5e-5, 15n],
    [19.99, 19_990_000n],
    [-1, null],
    [-0, 0n],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [1e21, null],
  ])('reads the JSON number %p as %p micros', (usd, micros) => {
    expect(microsFromUsdNumber(usd)).toBe(micros);
  });

  it.each(['', ' 1', '1 ', '+1', '-1', '1e3', '0x10', '1.', '.5', '1,5', '١', '1_000'])(
    'refuses %p as decimal text',
    (text) => {
      expect(parseDecimal(text, 6)).toBeNull();
    },
  );

  it('shows cents and fee rates as exact JSON numbers', () => {
    expect(centsNumber(12_345n)).toBe(1.2345);
    expect(centsNumber(1_000_000n)).toBe(100);
    expect(feeRateNumber(500)).toBe(0.05);
  });
});
