import fc from 'fast-check';
import { Vocabulary } from './vocabulary.js';

const vocabularyOf = (...words: string[]): Vocabulary => {
  const vocabulary = new Vocabulary();
  words.forEach((word) => vocabulary.add(word));
  return vocabulary;
};

describe('the vocabulary', () => {
  const words = vocabularyOf('weather', 'whether', 'translat', 'station', 'nation', 'real-tim', 'größe', '10023');
  const closest = (word: string): string[] => words.closestTo(word, () => true);

  it('finds the words most like a misspelt one', () => {
    expect(closest('weathr')).toEqual(['weather']);
    expect(closest('wether')).toEqual(['weather', 'whether']);
    expect(closest('tranlsat')).toEqual(['translat']);
    expect(closest('staton')).toEqual(['station']);
    expect(closest('realtim')).toEqual(['real-tim']);
    expect(closest('grösse')).toEqual(['größe']);
  });

  it('passes over words that nobody uses any more', () => {
    expect(words.closestTo('wether', (word) => word !== 'weather')).toEqual(['whether']);
    expect(words.closestTo('wether', () => false)).toEqual([]);
  });

  it('finds what comparing a word with each of them finds', () => {
    const trigramsOf = (word: string): string[] => [...new Set(Array.from(`  ${word} `.slice(2), (_, at) => `  ${word} `.slice(at, at + 3)))];
    const similarity = (a: string, b: string): number => {
      const common = trigramsOf(a).filter((trigram) => trigramsOf(b).includes(trigram)).length;
      return common / (trigramsOf(a).length + trigramsOf(b).length - common);
    };
    // Of few letters, so that many resemble each other.
    const anyWord = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'd'), minLength: 3, maxLength: 12 });
    fc.assert(
      fc.property(fc.uniqueArray(anyWord, { minLength: 1, maxLength: 60, size: 'max' }), anyWord, fc.func(fc.boolean()), (known, asked, isInUse) => {
        const used = known.filter((word) => isInUse(word));
        const best = Math.max(...used.map((word) => similarity(word, asked)));
        const expected = best >= 0.3 ? used.filter((word) => similarity(word, asked) === best) : [];
        expect(new Set(vocabularyOf(...known).closestTo(asked, isInUse))).toEqual(new Set(expected));
      }),
      { numRuns: 500 },
    );
  });

  it.each(['zzz', 'we', '10024', 'x'.repeat(100), ''])('finds nothing for %j', (word) => {
    expect(closest(word)).toEqual([]);
  });
});
