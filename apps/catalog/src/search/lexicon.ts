import { randomBytes } from 'node:crypto';

const FIELDS = 2;

/**
 * Numbers words, from 0 on: a hash table beside the words themselves, which finds a word in the middle of a text without
 * making a string of it. Reading every listing into the index is mostly this, and a Map took four times as long.
 */
export class Lexicon {
  readonly words: string[] = [];
  /** For each place the word's hash and its number, plus one. */
  private table = new Int32Array(FIELDS * 4_096);
  /** Nobody can choose words that all fall into one place. */
  private readonly seed = randomBytes(4).readInt32LE();

  /** @returns the number of the word, a new one if need be. */
  numberOf(text: string, start = 0, end = text.length): number {
    const hash = this.hashOf(text, start, end);
    const place = this.placeOf(hash, text, start, end);
    const known = this.table[place + 1]!;
    if (known !== 0) return known - 1;
    // A slice of a long text would keep all of it in memory.
    this.words.push(Buffer.from(text.slice(start, end)).toString());
    this.table[place] = hash;
    this.table[place + 1] = this.words.length;
    if (this.words.length * FIELDS * 2 > this.table.length) this.grow();
    return this.words.length - 1;
  }

  find(word: string): number | undefined {
    const known = this.table[this.placeOf(this.hashOf(word, 0, word.length), word, 0, word.length) + 1]!;
    return known === 0 ? undefined : known - 1;
  }

  private placeOf(hash: number, text: string, start: number, end: number): number {
    const { table } = this;
    for (let place = (hash * FIELDS) & (table.length - 1); ; place = (place + FIELDS) & (table.length - 1)) {
      const known = table[place + 1]!;
      if (known === 0 || (table[place] === hash && isAt(this.words[known - 1]!, text, start, end))) return place;
    }
  }

  private hashOf(text: string, start: number, end: number): number {
    let hash = this.seed;
    for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  private grow(): void {
    const old = this.table;
    this.table = new Int32Array(old.length * 2);
    for (let place = 0; place < old.length; place += FIELDS) {
      if (old[place + 1] === 0) continue;
      let free = (old[place]! * FIELDS) & (this.table.length - 1);
      while (this.table[free + 1] !== 0) free = (free + FIELDS) & (this.table.length - 1);
      this.table[free] = old[place]!;
      this.table[free + 1] = old[place + 1]!;
    }
  }
}

function isAt(word: string, text: string, start: number, end: number): boolean {
  if (word.length !== end - start) return false;
  for (let at = 0; at < word.length; at += 1) if (word.charCodeAt(at) !== text.charCodeAt(start + at)) return false;
  return true;
}
