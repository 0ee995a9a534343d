import { lengthened } from './columns.js';

const WORDS = 4;
const EMPTY = -1;
const HYPHEN = 45;

/** Slots by the ids of listings: 16 bytes an id and a hash table of 8 bytes a slot, where strings would take 100. */
export class ListingIds {
  private words = new Uint32Array(WORDS * 1_024);
  private table = new Int32Array(2_048).fill(EMPTY);
  private readonly asked = new Uint32Array(WORDS);
  private slots = 0;
  private taken = 0;

  /** Gives an id its newest slot, the next one. */
  add(id: string): number {
    const slot = this.slots;
    this.slots += 1;
    if (this.slots * WORDS > this.words.length) this.words = lengthened(this.words, this.words.length + Math.ceil(this.words.length / 8) * WORDS);
    readInto(this.words, slot * WORDS, id);
    if (this.taken * 2 >= this.table.length) this.rehash();
    this.place(slot);
    return slot;
  }

  /** The newest slot of an id, which may have been given up since. */
  slotOf(id: string): number | undefined {
    readInto(this.asked, 0, id);
    const slot = this.table[this.positionOf(this.asked, 0)]!;
    return slot === EMPTY ? undefined : slot;
  }

  /** As PostgreSQL orders uuids. */
  compare(a: number, b: number): number {
    for (let word = 0; word < WORDS; word += 1) {
      const difference = this.words[a * WORDS + word]! - this.words[b * WORDS + word]!;
      if (difference !== 0) return difference;
    }
    return 0;
  }

  private place(slot: number): void {
    const position = this.positionOf(this.words, slot * WORDS);
    if (this.table[position] === EMPTY) this.taken += 1;
    this.table[position] = slot;
  }

  /** Where the id that stands at `start` of `words` is in the table, or would be. */
  private positionOf(words: Uint32Array, start: number): number {
    const mask = this.table.length - 1;
    // The last word of a UUIDv7 is random; the multiplication spreads ids that differ in a counter only.
    let position = Math.imul(words[start + 3]! ^ words[start]!, 0x9e3779b1) >>> 0;
    for (position &= mask; ; position = (position + 1) & mask) {
      const slot = this.table[position]!;
      if (slot === EMPTY) return position;
      const at = slot * WORDS;
      if (this.words[at + 3] === words[start + 3] && this.words[at + 2] === words[start + 2] && this.words[at + 1] === words[start + 1] && this.words[at] === words[start]) return position;
    }
  }

  private rehash(): void {
    const old = this.table;
    this.table = new Int32Array(old.length * 2).fill(EMPTY);
    this.taken = 0;
    for (const slot of old) if (slot !== EMPTY) this.place(slot);
  }
}

/** The 32 hexadecimal digits of a uuid. */
function readInto(words: Uint32Array, start: number, id: string): void {
  for (let at = 0, digit = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    if (code === HYPHEN) continue;
    const position = start + (digit >>> 3);
    words[position] = (words[position]! << 4) | ((code & 0xf) + (code >>> 6) * 9);
    digit += 1;
  }
}
