import { lengthened } from './columns.js';

/** Slots in one order, changed in batches: each batch moves what stands behind it once, however large it is. */
export class OrderedSlots {
  private slots = new Uint32Array(1_024);
  length = 0;

  /**
   * @param column gives the key of each slot.
   * @param compareEqual a total order of slots that have the same key; zero means the same slot.
   */
  constructor(
    private readonly column: () => Float64Array,
    private readonly compareEqual: (a: number, b: number) => number,
  ) {}

  /** By slot. */
  get keys(): Float64Array {
    return this.column();
  }

  compare(a: number, b: number): number {
    const { keys } = this;
    return keys[a]! - keys[b]! || this.compareEqual(a, b);
  }

  at(position: number): number {
    return this.slots[position]!;
  }

  /** The slots from one position up to another, until the next change. */
  part(first: number, end: number): Uint32Array {
    return this.slots.subarray(first, Math.max(first, end));
  }

  /** How many slots stand before the first for which `isBefore` is false; it must be true for a prefix of the order. */
  countWhile(isBefore: (slot: number) => boolean, among = this.length): number {
    let [low, high] = [0, among];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.slots[middle]!)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param added none of which is here. */
  add(added: Uint32Array): void {
    const batch = added.slice().sort((a, b) => this.compare(a, b));
    this.reserve(this.length + batch.length);
    let end = this.length;
    for (let left = batch.length; left > 0; left -= 1) {
      const slot = batch[left - 1]!;
      const position = this.positionOf(slot, end);
      this.slots.copyWithin(position + left, position, end);
      this.slots[position + left - 1] = slot;
      end = position;
    }
    this.length += batch.length;
  }

  /** @param removed all of which are here, with the keys they were added with. */
  remove(removed: Uint32Array): void {
    const positions = Uint32Array.from(removed, (slot) => this.positionOf(slot)).sort();
    positions.forEach((position, gone) => {
      const end = positions[gone + 1] ?? this.length;
      this.slots.copyWithin(position - gone, position + 1, end);
    });
    this.length -= positions.length;
  }

  private positionOf(slot: number, among?: number): number {
    return this.countWhile((other) => this.compare(other, slot) < 0, among);
  }

  private reserve(length: number): void {
    if (length <= this.slots.length) return;
    this.slots = lengthened(this.slots, Math.max(length, Math.ceil(this.slots.length * 1.5)));
  }
}
