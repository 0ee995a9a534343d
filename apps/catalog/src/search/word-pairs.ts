import type { BitSet, BitSets } from './bit-sets.js';

/** Some forty pairs of a text, two each, take a sixth of them. */
const COLUMNS = 512;
const LAST_POSITION = 16_383;
const NO_WORD = -1;

/**
 * Which words stand next to each other in the texts, as a Bloom filter of pairs for each slot, kept by columns: a column is a set of slots.
 * To intersect those of a phrase takes a hundredth of a millisecond, and leaves few slots whose words' positions must be read to be sure.
 */
export class WordPairs {
  private readonly columns: BitSet[] = [];
  /** Of the text that is being read. */
  private readonly wordAt = new Int32Array(LAST_POSITION + 2).fill(NO_WORD);
  private readonly positions: number[] = [];
  private isAmbiguous = false;

  /** @param sets with room for every slot. */
  constructor(private readonly sets: BitSets) {}

  /** One word of the text that `end` ends. @param position from 1 on. */
  put(position: number, word: number): void {
    // PostgreSQL counts no further, and gives this one to all that follow.
    if (this.wordAt[position] !== NO_WORD) this.isAmbiguous = true;
    this.wordAt[position] = word;
    this.positions.push(position);
  }

  end(slot: number): void {
    if (this.isAmbiguous) for (let column = 0; column < COLUMNS; column += 1) this.column(column).add(slot);
    for (const position of this.positions) {
      const follower = this.wordAt[position + 1]!;
      if (follower === NO_WORD) continue;
      const hash = hashOf(this.wordAt[position]!, follower);
      this.column(firstOf(hash)).add(slot);
      this.column(secondOf(hash)).add(slot);
    }
    for (const position of this.positions) this.wordAt[position] = NO_WORD;
    this.positions.length = 0;
    this.isAmbiguous = false;
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
