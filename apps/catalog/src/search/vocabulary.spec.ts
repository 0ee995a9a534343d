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

  it.each(['zzz', 'we', '10024', 'x'.repeat(100), ''])('finds nothing for %j', (word) => {
    expect(closest(word)).toEqual([]);
  });
});
