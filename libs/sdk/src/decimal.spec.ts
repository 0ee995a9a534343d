import fc from 'fast-check';
import { addDecimals, compareDecimals, formatCents, formatUsd, multiplyDecimals, toBaseUnits } from './decimal.js';

/** Micros as the decimal that an answer contains. */
const decimalOf = (micros: bigint): string => `${micros / 1_000_000n}.${String(micros % 1_000_000n).padStart(6, '0')}`;
const micros = fc.bigInt({ min: 0n, max: 10n ** 15n });

describe('compareDecimals', () => {
  it('orders decimal strings and JSON numbers as their exact values', () => {
    fc.assert(
      fc.property(micros, micros, (a, b) => {
        const order = a < b ? -1 : a > b ? 1 : 0;
        expect(compareDecimals(decimalOf(a), decimalOf(b))).toBe(order);
        expect(compareDecimals(Number(decimalOf(a)), decimalOf(b))).toBe(order);
      }),
    );
  });

  it.each(['', '.5', '1.', 'NaN', '1,5', '0x10', '1e9999', ' '])('refuses %p', (text) => {
    expect(() => compareDecimals(text, 0)).toThrow(RangeError);
  });
});

describe('arithmetic', () => {
  it('adds and multiplies exactly', () => {
    fc.assert(
      fc.property(micros, micros, (a, b) => {
        expect(compareDecimals(addDecimals(decimalOf(a), decimalOf(b)), decimalOf(a + b))).toBe(0);
        expect(toBaseUnits(multiplyDecimals(decimalOf(a), decimalOf(b)), 12)).toBe(a * b);
      }),
    );
  });

  it('knows an amount in its smallest unit, and none that is finer', () => {
    fc.assert(fc.property(micros, (amount) => expect(toBaseUnits(decimalOf(amount), 6)).toBe(amount)));
    expect([toBaseUnits('0.2500', 2), toBaseUnits(1e-7, 18), toBaseUnits('3', 0)]).toEqual([25n, 100_000_000_000n, 3n]);
    expect(() => toBaseUnits('0.0000001', 6)).toThrow(RangeError);
  });
});

it.each([
  [0, '$0.00'],
  [0.05, '$0.05'],
  ['0.0025', '$0.0025'],
  [1e-6, '$0.000001'],
  ['1234567.5', '$1,234,567.50'],
  [-2, '-$2.00'],
])('formats %p dollars as %s', (amount, text) => {
  expect(formatUsd(amount)).toBe(text);
});

it.each([
  [5, '$0.05'],
  [0.25, '$0.0025'],
  [4.75, '$0.0475'],
  [123456, '$1,234.56'],
  [0.0001, '$0.000001'],
])('formats %p cents as %s', (cents, text) => {
  expect(formatCents(cents)).toBe(text);
});
