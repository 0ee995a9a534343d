import fc from 'fast-check';
import { BitSets } from './bit-sets.js';
import { OrderedWords } from './ordered-words.js';
import { WordPairs } from './word-pairs.js';

/** Texts of words that stand one behind the other, the last of them at the last position that PostgreSQL counts. */
function pairsOf(texts: number[][], { firstPosition = 1, mostRare = 255, frequent = (): void => undefined }: { firstPosition?: number; mostRare?: number; frequent?: (word: number, follower: number) => void } = {}): WordPairs {
  const sets = new BitSets();
  sets.reserve(texts.length);
  const pairs = new WordPairs(sets, mostRare);
  texts.forEach((words, slot) => {
    const text = new OrderedWords();
    words.forEach((word, index) => text.put(word, Math.min(firstPosition + index, 16_383)));
    text.sort();
    pairs.add(slot, text, frequent);
  });
  return pairs;
}

const isLikely = (pairs: WordPairs, slot: number, word: number, follower: number): boolean => pairs.with(word, follower).every((set) => set.has(slot));

describe('pairs of words', () => {
  it('are never missed, also where positions end', () => {
    const anyText = fc.array(fc.nat({ max: 30 }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 20 }), fc.constantFrom(1, 16_370), (texts, firstPosition) => {
        const pairs = pairsOf(texts, { firstPosition });
        texts.forEach((words, slot) => {
          const last = 16_383 - firstPosition;
          words.slice(1, last + 1).forEach((follower, index) => expect(isLikely(pairs, slot, words[index]!, follower)).toBe(true));
          words.slice(last).forEach((follower) => expect(isLikely(pairs, slot, words[last - 1]!, follower)).toBe(true));
        });
      }),
    );
  });

  it('are told from the time on at which they are frequent', () => {
    const told: number[][] = [];
    pairsOf([[1, 2], [1, 2, 3], [7, 8, 1, 2], [1, 2], [2, 3]], { mostRare: 2, frequent: (...pair) => told.push(pair) });
    expect(told).toEqual([[1, 2], [1, 2]]);
  });

  it('leave few texts that do not have them', () => {
    const texts = fc.sample(fc.array(fc.nat({ max: 20_000 }), { minLength: 45, maxLength: 45 }), { numRuns: 2_000, seed: 20_261_122 });
    const pairs = pairsOf(texts);
    const likely = texts.filter((_, slot) => isLikely(pairs, slot, 30_000, 30_001));
    expect(likely.length).toBeLessThan(texts.length / 15);
  });
});
