import fc from 'fast-check';
import { Texts } from './texts.js';

const textsOf = (added: string[]): Texts => {
  const texts = new Texts();
  for (const text of added) texts.add(text);
  return texts;
};

describe('texts', () => {
  it('are given back as they were added, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 1, maxLength: 3_000, size: 'max' }), fc.array(fc.nat(), { maxLength: 100 }), (added, asked) => {
        const texts = textsOf(added);
        const numbers = asked.map((each) => each % added.length);
        expect(texts.arrayOf(numbers)).toBe(`[${numbers.map((number) => added[number]).join(',')}]`);
      }),
      { numRuns: 30 },
    );
  });

  it('may be longer than a page, between others that are not', () => {
    const added = ['first', '☂'.repeat(2_000_000), 'between', 'x'.repeat(700_000), '', 'y'.repeat(700_000), 'last'];
    const texts = textsOf(added);
    added.forEach((text, number) => expect(texts.arrayOf([number])).toBe(`[${text}]`));
    expect(texts.arrayOf([6, 0, 1, 3, 4, 5])).toBe(`[last,first,${added[1]},${added[3]},,${added[5]}]`);
  });
});
