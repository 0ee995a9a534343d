import { bitKernels, newMemory, PAGE_BYTES } from './bit-kernels.js';
import type { SlotList } from './slot-lists.js';

/** A set of slots, one bit each. */
export class BitSet {
  /** Other words, with the same bits, whenever its family needs more room: not to be kept. */
  words: Uint32Array = NO_WORDS;

  has(slot: number): boolean {
    return (this.words[slot >>> 5]! & (1 << (slot & 31))) !== 0;
  }

  add(slot: number): void {
    this.words[slot >>> 5]! |= 1 << (slot & 31);
  }

  addAll(slots: SlotList): void {
    const { words } = this;
    for (let index = 0; index < slots.length; index += 1) {
      const slot = slots[index]!;
      words[slot >>> 5]! |= 1 << (slot & 31);
    }
  }

  remove(slot: number): void {
    this.words[slot >>> 5]! &= ~(1 << (slot & 31));
  }

  /** Those of some slots that the set has. */
  among(slots: SlotList): SlotList {
    const { words } = this;
    const kept = new Uint32Array(slots.length);
    let count = 0;
    for (let index = 0; index < slots.length; index += 1) {
      const slot = slots[index]!;
      if ((words[slot >>> 5]! & (1 << (slot & 31))) !== 0) kept[count++] = slot;
    }
    return kept.subarray(0, count);
  }
}

const NO_WORDS = new Uint32Array(0);
/** What the kernels take at a time. */
const STEP_BYTES = 64;
/** The first page of the memory is where slots are listed: as many as so many bytes may have. */
const WINDOW_BYTES = PAGE_BYTES;
const LISTED = WINDOW_BYTES / Uint32Array.BYTES_PER_ELEMENT;
const LISTED_BYTES = LISTED / 8;

/** A family of equally long sets, in one memory of their own, so that WebAssembly can work on them. */
export class BitSets {
  private readonly memory = newMemory();
  private readonly kernels = bitKernels(this.memory);
  private readonly sets: BitSet[] = [];
  private readonly unused: BitSet[] = [];
  private bytesEach = STEP_BYTES;

  /** Makes room in every set for slots below this number. */
  reserve(slots: number): void {
    const former = this.bytesEach;
    if (slots <= former * 8) return;
    this.bytesEach = Math.ceil(Math.max(slots / 8, former * 1.25) / STEP_BYTES) * STEP_BYTES;
    this.growMemory();
    const bytes = new Uint8Array(this.memory.buffer);
    // From the last on: none is written over before it has moved.
    for (let place = this.sets.length - 1; place >= 0; place -= 1) {
      const [from, to] = [WINDOW_BYTES + place * former, WINDOW_BYTES + place * this.bytesEach];
      bytes.copyWithin(to, from, from + former).fill(0, to + former, to + this.bytesEach);
    }
    this.locate();
  }

  /** A set that is its taker's own until it is given back. */
  takeEmpty(): BitSet {
    const set = this.take();
    set.words.fill(0);
    return set;
  }

  takeCopy(of: BitSet): BitSet {
    const set = this.take();
    set.words.set(of.words);
    return set;
  }

  giveBack(set: BitSet): void {
    this.unused.push(set);
  }

  /** Leaves in a set what is in both. */
  intersect(set: BitSet, other: BitSet): void {
    this.kernels.intersect(set.words.byteOffset, other.words.byteOffset, this.bytesEach);
  }

  /** Adds to a set what is in another. */
  unite(set: BitSet, other: BitSet): void {
    this.kernels.unite(set.words.byteOffset, other.words.byteOffset, this.bytesEach);
  }

  /** Takes out of a set what is in another. */
  subtract(set: BitSet, other: BitSet): void {
    this.kernels.subtract(set.words.byteOffset, other.words.byteOffset, this.bytesEach);
  }

  /** Whether two sets have anything in common. */
  meet(set: BitSet, other: BitSet): boolean {
    return this.kernels.meets(set.words.byteOffset, other.words.byteOffset, this.bytesEach) !== 0;
  }

  count(set: BitSet): number {
    return this.kernels.count(set.words.byteOffset, this.bytesEach);
  }

  /** The slots of a set, ascending. @param count how many they are. */
  slots(set: BitSet, count: number): SlotList {
    const slots = new Uint32Array(count);
    const { window } = this;
    for (let start = 0, found = 0; found < count; start += LISTED_BYTES) {
      const listed = this.kernels.list(set.words.byteOffset + start, Math.min(LISTED_BYTES, this.bytesEach - start), start * 8, 0);
      slots.set(window.subarray(0, listed), found);
      found += listed;
    }
    return slots;
  }

  private get window(): Uint32Array {
    return new Uint32Array(this.memory.buffer, 0, LISTED);
  }

  /** With whatever was in it. */
  private take(): BitSet {
    return this.unused.pop() ?? this.another();
  }

  private another(): BitSet {
    const set = new BitSet();
    this.sets.push(set);
    if (this.growMemory()) this.locate();
    else this.locateOne(set, this.sets.length - 1);
    return set;
  }

  /** @returns whether all sets must be located again. */
  private growMemory(): boolean {
    const { byteLength } = this.memory.buffer;
    const missing = WINDOW_BYTES + this.sets.length * this.bytesEach - byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(Math.max(missing, byteLength / 4) / PAGE_BYTES));
    return missing > 0;
  }

  private locate(): void {
    this.sets.forEach((set, place) => this.locateOne(set, place));
  }

  private locateOne(set: BitSet, place: number): void {
    set.words = new Uint32Array(this.memory.buffer, WINDOW_BYTES + place * this.bytesEach, this.bytesEach / Uint32Array.BYTES_PER_ELEMENT);
  }
}
