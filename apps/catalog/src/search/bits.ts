/** A set of slots, one bit each. All sets that meet one another are equally long. */
export type Bits = Uint32Array;

export const wordsFor = (slots: number): number => (slots + 31) >>> 5;

export const hasBit = (bits: Bits, slot: number): boolean => (bits[slot >>> 5]! & (1 << (slot & 31))) !== 0;

export function setBit(bits: Bits, slot: number): void {
  bits[slot >>> 5]! |= 1 << (slot & 31);
}

export function clearBit(bits: Bits, slot: number): void {
  bits[slot >>> 5]! &= ~(1 << (slot & 31));
}

/** Leaves in `bits` what is in both. `other` may be shorter and then ends with zeros. */
export function intersect(bits: Bits, other: Bits): void {
  const shared = Math.min(bits.length, other.length);
  for (let word = 0; word < shared; word += 1) bits[word]! &= other[word]!;
  bits.fill(0, shared);
}

/** Adds to `bits` what is in `other`, which may be shorter or longer. */
export function unite(bits: Bits, other: Bits): void {
  const shared = Math.min(bits.length, other.length);
  for (let word = 0; word < shared; word += 1) bits[word]! |= other[word]!;
}

/** Takes what is in `other` out of `bits`. */
export function subtract(bits: Bits, other: Bits): void {
  for (let word = 0; word < bits.length; word += 1) bits[word]! &= ~other[word]!;
}

export function countBits(bits: Bits): number {
  let count = 0;
  for (let word = 0; word < bits.length; word += 1) count += countOnes(bits[word]!);
  return count;
}

/** Of 32 bits: sums of neighbouring bits, pairs, nibbles; the multiplication adds the four bytes in the highest one. */
export function countOnes(word: number): number {
  let value = word - ((word >>> 1) & 0x55555555);
  value = (value & 0x33333333) + ((value >>> 2) & 0x33333333);
  return Math.imul((value + (value >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The slots of a set, ascending. */
export function slotsOf(bits: Bits, count: number): Uint32Array {
  const slots = new Uint32Array(count);
  let found = 0;
  for (let word = 0; word < bits.length && found < count; word += 1) {
    for (let value = bits[word]!; value !== 0; value &= value - 1) slots[found++] = (word << 5) + 31 - Math.clz32(value & -value);
  }
  return slots;
}
