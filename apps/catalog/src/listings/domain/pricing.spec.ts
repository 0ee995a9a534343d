import fc from 'fast-check';
import { MAX_PRICE_MICROS, pricingProblem, type Price } from './pricing.js';

const paid = fc.constantFrom<Price['model']>('per_call', 'monthly', 'yearly', 'usage_tiered');
const problem = (model: Price['model'], amountMicros: bigint, currency = 'USD') => pricingProblem({ model, amountMicros, currency });

describe('a price', () => {
  it('is anything from nothing to a million dollars on a paid model', () => {
    fc.assert(fc.property(paid, fc.bigInt(0n, MAX_PRICE_MICROS), (model, amount) => expect(problem(model, amount)).toBeNull()));
    expect(problem('monthly', 0n)).toBeNull();
    expect(problem('monthly', 1_000_000_000_000n)).toBeNull();
  });

  it('is refused beyond a million dollars and below nothing', () => {
    fc.assert(fc.property(paid, fc.bigInt(MAX_PRICE_MICROS + 1n, 10n ** 18n), (model, amount) => expect(problem(model, amount)).toContain('1000000')));
    fc.assert(fc.property(paid, fc.bigInt(-(10n ** 18n), -1n), (model, amount) => expect(problem(model, amount)).not.toBeNull()));
  });

  it('is nothing on a free listing', () => {
    expect(problem('free', 0n)).toBeNull();
    fc.assert(fc.property(fc.bigInt(1n, 10n ** 18n), (amount) => expect(problem('free', amount)).toContain('0 on free')));
  });

  it.each(['EUR', 'usd', '', 'USDC'])('is not shown in %j', (currency) => {
    expect(problem('free', 0n, currency)).toContain('USD');
  });
});
