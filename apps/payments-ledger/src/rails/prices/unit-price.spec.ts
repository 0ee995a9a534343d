import fc from 'fast-check';
import { DOLLAR, leastPrice, microsOf, toBaseUnits } from './unit-price.js';

describe('toBaseUnits', () => {
  it('is a dollar a USDC', () => {
    expect(toBaseUnits(50_000n, DOLLAR.micros, 6)).toBe(50_000n);
  });

  it('rounds up, by less than one base unit, so that what arrives always covers the price', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n }), fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.constantFrom(6, 9, 18), (usd, unitPrice, decimals) => {
        const units = toBaseUnits(usd, unitPrice, decimals);
        const scale = 10n ** BigInt(decimals);
        expect(units * unitPrice >= usd * scale).toBe(true);
        expect((units - 1n) * unitPrice < usd * scale).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    expect(toBaseUnits(100_000n, 150_000_000n, 9)).toBe(666_667n);
  });
});

describe('leastPrice', () => {
  it('is the first price that comes to so many base units', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.constantFrom(6, 9, 18), (baseUnits, unitPrice, decimals) => {
        const price = leastPrice(baseUnits, unitPrice, decimals);
        expect(toBaseUnits(price, unitPrice, decimals) >= baseUnits).toBe(true);
        expect(toBaseUnits(price - 1n, unitPrice, decimals) < baseUnits).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    expect([leastPrice(0n, 1n, 9), leastPrice(890_880n, 150_000_000n, 9)]).toEqual([0n, 133_632n]);
  });
});

describe('microsOf', () => {
  it('never names a higher price than it was given, and one lower by less than a micro', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.integer({ min: 0, max: 36 }), (units, decimals) => {
        const scale = 10n ** BigInt(decimals);
        if (units * 1_000_000n < scale) return void expect(() => microsOf(units, decimals)).toThrow('not above 0');
        const micros = microsOf(units, decimals);
        expect(micros * scale <= units * 1_000_000n && (micros + 1n) * scale > units * 1_000_000n).toBe(true);
      }),
      { numRuns: 5_000 },
    );
    expect(microsOf(300_012_345_678n, 8)).toBe(3_000_123_456n);
  });

  it('is no price at 0 and below', () => {
    for (const units of [0n, -1n, -(10n ** 20n)]) expect(() => microsOf(units, 8)).toThrow('not above 0');
  });
});
