import { newId } from '@market/kernel';
import fc from 'fast-check';
import { countAll, filterOf, largePage, smallResult } from './search-statements.js';

const CANARY = `'"; DROP $1 --`;
const filters = fc.record(
  { q: fc.constant(CANARY), categoryId: fc.constant(newId()), pricingModel: fc.constant('monthly' as const), deliveryType: fc.constant('api' as const), minPriceMicros: fc.constant('17'), maxPriceMicros: fc.constant('1717') },
  { requiredKeys: [] },
);
const sorts = fc.constantFrom('newest', 'popular', 'price_low', 'price_high' as const);
const modes = fc.constantFrom('words', 'resemblance' as const);

describe('the statements of a search', () => {
  it('hold no value, number their parameters without gaps, and fit the length of a prepared name', () => {
    fc.assert(
      fc.property(filters, sorts, modes, (given, sort, mode) => {
        const filter = filterOf(given, mode);
        expect([...filter.values].sort()).toEqual(Object.values(given).sort());
        for (const [statement, beside] of [[smallResult(filter, sort), 2], [largePage(filter, sort), 2], [countAll(filter), 0]] as const) {
          const numbers = new Set([...statement.text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
          expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: filter.values.length + beside }, (_, index) => index + 1));
          for (const value of Object.values(given)) if (value.length > 3 && value !== 'monthly') expect(statement.text).not.toContain(value);
          expect(statement.name.length).toBeLessThanOrEqual(63);
        }
      }),
    );
  });

  it('never show what is not active', () => {
    fc.assert(fc.property(filters, modes, (given, mode) => expect(filterOf(given, mode).conditions).toMatch(/^l\.status = 'active'/)));
  });
});
