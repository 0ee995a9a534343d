import fc from 'fast-check';
import { Lexicon } from './lexicon.js';

describe('the lexicon', () => {
  it('numbers words as they come, wherever in a text they stand', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 4 }), { maxLength: 300 }), (words) => {
        const [lexicon, model] = [new Lexicon(), new Map<string, number>()];
        for (const word of words) {
          if (!model.has(word)) model.set(word, model.size);
          expect(lexicon.numberOf(`«${word}»`, 1, word.length + 1)).toBe(model.get(word));
        }
        expect(lexicon.words).toEqual([...model.keys()]);
        for (const word of [...words, 'unheard']) expect(lexicon.find(word)).toBe(model.get(word));
      }),
    );
  });

  it('grows', () => {
    const lexicon = new Lexicon();
    const words = Array.from({ length: 50_000 }, (_, number) => `word${number}`);
    const numbers = words.map((_, number) => number);
    expect(words.map((word) => lexicon.numberOf(word))).toEqual(numbers);
    expect(words.map((word) => lexicon.find(word))).toEqual(numbers);
  });
});
