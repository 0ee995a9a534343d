import { hasBit, intersect, setBit, slotsOf, unite, wordsFor, type Bits } from './bits.js';

/** Below this a list is never as large as the bits it would be turned into are worth. */
const LEAST_DENSE = 32_768;
/** A list that holds more than one slot in so many is kept as bits: read 15 times as fast, and at most twice as large. */
const DENSE_ONE_IN = 16;

/**
 * Where a word occurs: numbers that only grow, as the differences between neighbours, seven bits a byte (the usual
 * form of an inverted index; a posting takes 1.2 bytes on average). Common words are bits instead.
 */
export class Postings {
  private bytes = new Uint8Array(8);
  private length = 0;
  private last = -1;
  private dense: Bits | undefined;
  count = 0;

  get byteLength(): number {
    return this.dense?.byteLength ?? this.bytes.byteLength;
  }

  /** @param slot greater than every one before; repeating the last changes nothing. */
  add(slot: number): void {
    if (slot === this.last) return;
    if (this.dense) this.addDense(this.dense, slot);
    else this.addDifference(slot - this.last);
    this.last = slot;
    this.count += 1;
    if (!this.dense && this.count > LEAST_DENSE && this.count * DENSE_ONE_IN > slot) this.becomeDense();
  }

  /** Adds its slots to a set. */
  uniteInto(bits: Bits): void {
    if (this.dense) unite(bits, this.dense);
    else this.forEach((slot) => setBit(bits, slot));
  }

  /** Leaves in a set only its slots. @param scratch as long as `bits`; overwritten. */
  intersectInto(bits: Bits, scratch: Bits): void {
    if (this.dense) return intersect(bits, this.dense);
    scratch.fill(0);
    this.uniteInto(scratch);
    intersect(bits, scratch);
  }

  /** Whether it has a slot in common with a set. */
  meets(bits: Bits): boolean {
    if (this.dense) return this.dense.some((word, index) => (word & (bits[index] ?? 0)) !== 0);
    let found = false;
    this.forEach((slot) => {
      found ||= hasBit(bits, slot);
    });
    return found;
  }

  /** Ascending. */
  forEach(visit: (slot: number) => void): void {
    if (this.dense) return slotsOf(this.dense, this.count).forEach(visit);
    const { bytes, length } = this;
    let slot = -1;
    for (let at = 0; at < length; ) {
      let byte = bytes[at++]!;
      let difference = byte & 0x7f;
      for (let shift = 7; byte > 0x7f; shift += 7) {
        byte = bytes[at++]!;
        difference |= (byte & 0x7f) << shift;
      }
      slot += difference;
      visit(slot);
    }
  }

  private addDifference(difference: number): void {
    if (this.length + 5 > this.bytes.length) this.bytes = copyOf(this.bytes, Math.ceil(this.bytes.length * 1.5) + 4);
    for (; difference > 0x7f; difference >>>= 7) this.bytes[this.length++] = (difference & 0x7f) | 0x80;
    this.bytes[this.length++] = difference;
  }

  private addDense(dense: Bits, slot: number): void {
    if (slot >>> 5 < dense.length) return setBit(dense, slot);
    this.dense = new Uint32Array(Math.ceil((slot >>> 5) * 1.25) + 1);
    this.dense.set(dense);
    setBit(this.dense, slot);
  }

  private becomeDense(): void {
    const dense = new Uint32Array(Math.ceil(wordsFor(this.last + 1) * 1.25));
    this.uniteInto(dense);
    this.dense = dense;
    this.bytes = new Uint8Array(0);
    this.length = 0;
  }
}

function copyOf(bytes: Uint8Array, capacity: number): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(capacity);
  copy.set(bytes);
  return copy;
}
