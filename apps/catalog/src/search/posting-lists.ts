import type { BitSet, BitSets } from './bit-sets.js';
import { lengthened } from './columns.js';
import { NumberLists } from './number-lists.js';
import { inBoth, type SlotList } from './slot-lists.js';

/** A list that is longer, and holds more than one slot in so many, is kept as a set: up to hundreds of times as fast, up to 16 times as large. */
const DEFAULT_LEAST_DENSE = 8_192;
const DENSE_ONE_IN = 128;

const FIELDS = 2;
const [COUNT, LAST] = [0, 1];

/**
 * For each word, by its number, the slots it occurs in: the differences between neighbours (the usual form of an inverted
 * index), or a set of bits where it is common.
 */
export class PostingLists {
  private lists = new Int32Array(FIELDS * 1_024);
  private readonly differences = new NumberLists();
  private readonly dense = new Map<number, BitSet>();

  /**
   * @param sets with room for every slot that is added.
   * @param leastDense shorter lists are never kept as sets.
   */
  constructor(
    private readonly sets: BitSets,
    private readonly leastDense = DEFAULT_LEAST_DENSE,
  ) {}

  /** Of what is kept as lists. */
  get bytes(): number {
    return this.differences.bytes + this.lists.byteLength;
  }

  count(word: number): number {
    return this.lists[word * FIELDS + COUNT] ?? 0;
  }

  /** The slot added last; undefined where there is none. */
  last(word: number): number | undefined {
    return this.count(word) === 0 ? undefined : this.lists[word * FIELDS + LAST];
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

  /** How many slots of a word are kept as a list; Infinity where they are kept as a set. */
  listed(word: number): number {
    return this.dense.has(word) ? Infinity : this.count(word);
  }

  /** Those of some slots that have a word. */
  among(slots: SlotList, word: number): SlotList {
    const dense = this.dense.get(word);
    return dense ? dense.among(slots) : inBoth(slots, this.slots(word));
  }

  slots(word: number): SlotList {
    const dense = this.dense.get(word);
    if (dense) return this.sets.slots(dense, this.count(word));
    const slots = this.differences.read(word, this.count(word));
    let last = -1;
    for (let index = 0; index < slots.length; index += 1) slots[index] = last += slots[index]!;
    return slots;
  }

  /** Adds the slots of a word to a set. */
  uniteInto(set: BitSet, word: number): void {
    const dense = this.dense.get(word);
    if (dense) this.sets.unite(set, dense);
    else set.addAll(this.slots(word));
  }

  /** Takes a word's slots out of a set. */
  subtractFrom(set: BitSet, word: number): void {
    const dense = this.dense.get(word);
    if (dense) this.sets.subtract(set, dense);
    else for (const slot of this.slots(word)) set.remove(slot);
  }

  /** Leaves in a set only a word's slots. */
  intersectInto(set: BitSet, word: number): void {
    const dense = this.dense.get(word);
    if (dense) return this.sets.intersect(set, dense);
    const listed = this.sets.takeEmpty();
    listed.addAll(this.slots(word));
    this.sets.intersect(set, listed);
    this.sets.giveBack(listed);
  }

  /** Whether a word has a slot in common with a set. */
  meets(set: BitSet, word: number): boolean {
    const dense = this.dense.get(word);
    return dense ? this.sets.meet(dense, set) : this.slots(word).some((slot) => set.has(slot));
  }

  /** Where the list is kept as a set, or is common enough to be from now on. Its differences are not used again: they are few. */
  private addDense(word: number, count: number, slot: number): boolean {
    let dense = this.dense.get(word);
    if (!dense) {
      if (count * DENSE_ONE_IN <= slot) return false;
      const slots = this.slots(word);
      this.dense.set(word, (dense = this.sets.takeEmpty()));
      dense.addAll(slots);
    }
    dense.add(slot);
    return true;
  }

  private growLists(length: number): void {
    this.lists = lengthened(this.lists, Math.max(length, Math.ceil((this.lists.length * 1.5) / FIELDS) * FIELDS));
  }
}
