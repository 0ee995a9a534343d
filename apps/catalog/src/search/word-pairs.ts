import type { BitSet, BitSets } from './bit-sets.js';
import type { OrderedWords } from './ordered-words.js';

/** Some forty pairs of a text, two each, take a sixth of them. */
const COLUMNS = 512;
/** Ten million pairs, which a million texts have, share them: a few rare ones are taken for frequent, which does no harm. */
const COUNTERS = 1 << 22;
/** Texts with such a pair are as many as a search may read. */
const MOST_RARE = 255;

/**
 * Which words stand next to each other in the texts, as a Bloom filter of pairs for each slot, kept by columns: a column is a set of slots.
 * To intersect those of a phrase takes a hundredth of a millisecond, and leaves few slots whose texts must be read to be sure.
 */
export class WordPairs {
  private readonly columns: BitSet[] = [];
  private readonly met = new Uint8Array(COUNTERS);

  /**
   * @param sets with room for every slot.
   * @param mostRare pairs that were met more often are frequent.
   */
  constructor(
    private readonly sets: BitSets,
    private readonly mostRare = MOST_RARE,
  ) {}

  /** @param frequent is told of every pair in the text that is frequent by now. */
  add(slot: number, { words, positions, count }: OrderedWords, frequent: (word: number, follower: number) => void): void {
    for (let index = 0; index < count; index += 1) {
      const next = positions[index]! + 1;
      // More than one word may have the last position that PostgreSQL counts.
      for (let other = index + 1; other < count && positions[other]! <= next; other += 1) {
        if (positions[other] !== next) continue;
        const hash = hashOf(words[index]!, words[other]!);
        this.column(firstOf(hash)).add(slot);
        this.column(secondOf(hash)).add(slot);
        if (this.met[hash & (COUNTERS - 1)]! < this.mostRare) this.met[hash & (COUNTERS - 1)]! += 1;
        else frequent(words[index]!, words[other]!);
      }
    }
  }

  /** Sets of slots; one in which a word is followed by another is in all of them. */
  with(word: number, follower: number): BitSet[] {
    const hash = hashOf(word, follower);
    return [this.column(firstOf(hash)), this.column(secondOf(hash))];
  }

  private column(column: number): BitSet {
    return (this.columns[column] ??= this.sets.takeEmpty());
  }
}

function hashOf(word: number, follower: number): number {
  let hash = Math.imul(word, 0x9e3779b1) ^ Math.imul(follower, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

const firstOf = (hash: number): number => hash & (COLUMNS - 1);
const secondOf = (hash: number): number => (hash >>> 16) & (COLUMNS - 1);
