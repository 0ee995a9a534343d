import fc from 'fast-check';
import { Texts } from './texts.js';

describe('texts', () => {
  it('are given back as they were added', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 3_000, size: 'max' }), (added) => {
        const texts = new Texts();
        for (const text of added) texts.add(text);
        expect(added.map((_, number) => texts.at(number))).toEqual(added);
      }),
      { numRuns: 30 },
    );
  });

  it('may be longer than a page, between others that are not', () => {
    const added = ['first', '☂'.repeat(2_000_000), 'between', 'x'.repeat(700_000), '', 'y'.repeat(700_000), 'last'];
    const texts = new Texts();
    for (const text of added) texts.add(text);
    expect(added.map((_, number) => texts.at(number))).toEqual(added);
  });
});
