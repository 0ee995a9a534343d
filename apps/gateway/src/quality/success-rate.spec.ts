import * as fc from 'fast-check';
import { successRate, successLowerBound } from './success-rate.js';

describe('a success rate', () => {
  it.each([
    [0, 0, null],
    [1, 0, 1],
    [0, 3, 0],
    [2, 1, 0.6667],
    [99_999, 1, 1],
  ])('of %i successes and %i failures is %j', (successes, failures, rate) =>
    expect(successRate({ successes, failures })).toBe(rate),
  );

  it.each([
    [0, 0, 0],
    [1, 0, 0.2065],
    [20, 0, 0.8389],
    [98, 2, 0.93],
    [0, 20, 0],
    [0, 11, 0],
  ])('is sure for %i successes and %i failures from %d on', (successes, failures, expected) =>
    expect(successLowerBound({ successes, failures })).toBeCloseTo(expected, 4),
  );

  it('is never surer than it is, and surer with each success, less sure with each failure', () => {
    const count = fc.integer({ min: 0, max: 1_000_000 });
    fc.assert(
      fc.property(count, count, (successes, failures) => {
        const known = successLowerBound({ successes, failures });
        expect(known).toBeGreaterThanOrEqual(0);
        expect(known).toBeLessThanOrEqual(successes === 0 ? 0 : successes / (successes + failures));
        expect(successLowerBound({ successes: successes + 1, failures })).toBeGreaterThan(known);
        expect(successLowerBound({ successes, failures: failures + 1 })).toBeLessThanOrEqual(known);
      }),
    );
  });
});
