import * as fc from 'fast-check';
import { isExactDouble } from './exact-number.js';

describe('isExactDouble', () => {
  it.each([
    '0', '-0', '0.0', '-0.00e5', '0e400', '1', '1.0', '1.000', '1e2', '1E+2', '100e-2', '0.1', '-12.5e-3', '1e23', '1e308', '5e-324',
    '9007199254740991', '9007199254740992', '9007199254740994', '123456789012345680000', '1.7976931348623157e308', `1${'0'.repeat(300)}`,
    `0.${'0'.repeat(400)}1e401`,
  ])('accepts %s, whose double is spelt as the same decimal', (literal) => {
    expect(isExactDouble(literal)).toBe(true);
  });

  it.each([
    '9007199254740993', '-9007199254740993', '9007199254740993.0', '1e400', '-1e400', '1e-400', '0.10000000000000001',
    '0.1000000000000000055511151231257827', '123456789012345678901', '3.14159265358979323846', '2e-324', '1e99999999999999999999',
  ])('refuses %s, which would come back as another decimal', (literal) => {
    expect(isExactDouble(literal)).toBe(false);
  });

  it('accepts every finite double as JavaScript spells it', () => {
    fc.assert(fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => isExactDouble(String(value))));
  });

  it('accepts an integer exactly when BigInt and Number agree on it', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value) => {
        const shortest = BigInt(Number(value).toLocaleString('fullwide', { useGrouping: false }));
        expect(isExactDouble(String(value))).toBe(shortest === value);
      }),
    );
  });
});
