import { clearBit, countOnes, hasBit, intersect, setBit, setBits, slotsOf, subtract, unite, wordsFor, type Bits } from './bits.js';
import { NumberLists } from './number-lists.js';
import { inBits, inBoth, type SlotList } from './slot-lists.js';

/** A list that is longer, and holds more than one slot in so many, is kept as bits: up to 60 times as fast, up to 8 times as large. */
const DEFAULT_LEAST_DENSE = 8_192;
const DENSE_ONE_IN = 64;

const FIELDS = 2;
const [COUNT, LAST] = [0, 1];

/**
 * For each word, by its number, the slots it occurs in: the differences between neighbours (the usual form of an inverted
 * index), or bits where it is common.
 */
export class PostingLists {
  private lists = new Int32Array(FIELDS * 1_024);
  private readonly differences = new NumberLists();
  private readonly dense = new Map<number, Bits>();

  /** @param leastDense shorter lists are never kept as bits. */
  constructor(private readonly leastDense = DEFAULT_LEAST_DENSE) {}

  get bytes(): number {
    return this.differences.bytes + this.lists.byteLength + [...this.dense.values()].reduce((sum, bits) => sum + bits.byteLength, 0);
  }

  count(word: number): number {
    return this.lists[word * FIELDS + COUNT] ?? 0;
  }

  /** @param slot greater than every one before in this list. */
  add(word: number, slot: number): void {
    const list = word * FIELDS;
    if (list >= this.lists.length) this.growLists(list + FIELDS);
    const count = this.lists[list + COUNT]!;
    const last = count === 0 ? -1 : this.lists[list + LAST]!;
    if (count < this.leastDense || !this.addDense(word, count, slot)) this.differences.append(word, slot - last);
    this.lists[list + COUNT] = count + 1;
    this.lists[list + LAST] = slot;
  }

  /** How many slots of a word are kept as a list; Infinity where they are kept as bits. */
  listed(word: number): number {
    return this.dense.has(word) ? Infinity : this.count(word);
  }

  /** Those of some slots that have a word. */
  among(slots: SlotList, word: number): SlotList {
    const dense = this.dense.get(word);
    return dense ? inBits(slots, dense) : inBoth(slots, this.slots(word));
  }

  slots(word: number): SlotList {
    const dense = this.dense.get(word);
    if (dense) return slotsOf(dense, this.count(word));
    const slots = this.differences.read(word, this.count(word));
    let last = -1;
    for (let index = 0; index < slots.length; index += 1) slots[index] = last += slots[index]!;
    return slots;
  }

  /** Tells of ascending slots of a word how many of its postings come before each. */
  ranks(word: number): (slot: number) => number {
    const dense = this.dense.get(word);
    if (!dense) {
      const slots = this.slots(word);
      let rank = 0;
      return (slot) => {
        while (slots[rank]! < slot) rank += 1;
        return rank;
      };
    }
    let [before, part] = [0, 0];
    return (slot) => {
      for (; part < slot >>> 5; part += 1) before += countOnes(dense[part]!);
      return before + countOnes(dense[part]! & ((1 << (slot & 31)) - 1));
    };
  }

  /** Adds the slots of some words to a set. */
  uniteInto(bits: Bits, words: number[]): void {
    unite(bits, ...words.map((word) => this.dense.get(word)).filter((dense) => dense !== undefined));
    for (const word of words) if (!this.dense.has(word)) setBits(bits, this.slots(word));
  }

  /** Takes a word's slots out of a set. */
  subtractFrom(bits: Bits, word: number): void {
    const dense = this.dense.get(word);
    if (dense) subtract(bits, dense);
    else for (const slot of this.slots(word)) clearBit(bits, slot);
  }

  /** Leaves in a set only a word's slots. @param scratch as long as `bits`; overwritten. */
  intersectInto(bits: Bits, word: number, scratch: Bits): void {
    const dense = this.dense.get(word);
    if (dense) return intersect(bits, dense);
    scratch.fill(0);
    setBits(scratch, this.slots(word));
    intersect(bits, scratch);
  }

  /** Whether a word has a slot in common with a set. */
  meets(bits: Bits, word: number): boolean {
    const dense = this.dense.get(word);
    if (dense) return dense.some((part, index) => (part & (bits[index] ?? 0)) !== 0);
    return this.slots(word).some((slot) => hasBit(bits, slot));
  }

  /** Where the list is kept as bits, or is common enough to be from now on. Its differences are not used again: they are few. */
  private addDense(word: number, count: number, slot: number): boolean {
    let dense = this.dense.get(word);
    if (!dense && count * DENSE_ONE_IN <= slot) return false;
    if (!dense || slot >>> 5 >= dense.length) {
      const longer = new Uint32Array(Math.ceil(wordsFor(slot + 1) * 1.25));
      this.uniteInto(longer, [word]);
      this.dense.set(word, (dense = longer));
    }
    setBit(dense, slot);
    return true;
  }

  private growLists(length: number): void {
    const longer = new Int32Array(Math.max(length, Math.ceil((this.lists.length * 1.5) / FIELDS) * FIELDS));
    longer.set(this.lists);
    this.lists = longer;
  }
}
