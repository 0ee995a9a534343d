/** A set of slots, one bit each. All sets that meet one another are equally long. */
export type Bits = Uint32Array;

export const wordsFor = (slots: number): number => (slots + 31) >>> 5;

export const hasBit = (bits: Bits, slot: number): boolean => (bits[slot >>> 5]! & (1 << (slot & 31))) !== 0;

export function setBit(bits: Bits, slot: number): void {
  bits[slot >>> 5]! |= 1 << (slot & 31);
}

export function setBits(bits: Bits, slots: Uint32Array): void {
  for (let index = 0; index < slots.length; index += 1) setBit(bits, slots[index]!);
}

export function clearBit(bits: Bits, slot: number): void {
  bits[slot >>> 5]! &= ~(1 << (slot & 31));
}

// Searches spend most of their time in these loops: several words a turn take half the time of one.

/** Leaves in `bits` what is in both. `other` may be shorter and then ends with zeros. */
export function intersect(bits: Bits, other: Bits): void {
  const shared = Math.min(bits.length, other.length);
  let word = 0;
  for (const last = shared - 3; word < last; word += 4) {
    bits[word]! &= other[word]!;
    bits[word + 1]! &= other[word + 1]!;
    bits[word + 2]! &= other[word + 2]!;
    bits[word + 3]! &= other[word + 3]!;
  }
  for (; word < shared; word += 1) bits[word]! &= other[word]!;
  bits.fill(0, shared);
}

/** Adds to `bits` what is in the others, which may be shorter or longer: two at a time take less than one and another. */
export function unite(bits: Bits, ...others: Bits[]): void {
  let other = 0;
  for (; other + 1 < others.length; other += 2) uniteBoth(bits, others[other]!, others[other + 1]!);
  if (other < others.length) uniteFrom(0, bits, others[other]!);
}

function uniteBoth(bits: Bits, one: Bits, other: Bits): void {
  const shared = Math.min(bits.length, one.length, other.length);
  let word = 0;
  for (const last = shared - 3; word < last; word += 4) {
    bits[word]! |= one[word]! | other[word]!;
    bits[word + 1]! |= one[word + 1]! | other[word + 1]!;
    bits[word + 2]! |= one[word + 2]! | other[word + 2]!;
    bits[word + 3]! |= one[word + 3]! | other[word + 3]!;
  }
  uniteFrom(word, bits, one);
  uniteFrom(word, bits, other);
}

function uniteFrom(start: number, bits: Bits, other: Bits): void {
  const shared = Math.min(bits.length, other.length);
  let word = start;
  for (const last = shared - 3; word < last; word += 4) {
    bits[word]! |= other[word]!;
    bits[word + 1]! |= other[word + 1]!;
    bits[word + 2]! |= other[word + 2]!;
    bits[word + 3]! |= other[word + 3]!;
  }
  for (; word < shared; word += 1) bits[word]! |= other[word]!;
}

/** Takes what is in `other`, which may be shorter or longer, out of `bits`. */
export function subtract(bits: Bits, other: Bits): void {
  const shared = Math.min(bits.length, other.length);
  let word = 0;
  for (const last = shared - 3; word < last; word += 4) {
    bits[word]! &= ~other[word]!;
    bits[word + 1]! &= ~other[word + 1]!;
    bits[word + 2]! &= ~other[word + 2]!;
    bits[word + 3]! &= ~other[word + 3]!;
  }
  for (; word < shared; word += 1) bits[word]! &= ~other[word]!;
}

/**
 * Eight words at a time are added bit by bit to counters of ones, twos and fours, and only the bits that are carried out of these are
 * counted: carry-save adders. Source: Warren, Hacker's Delight, section 5-1. Words are read one by one into numbers of their own: as
 * an array they would be kept as doubles, which takes three times as long.
 */
export function countBits(bits: Bits): number {
  let eights = 0;
  let fours = 0;
  let twos = 0;
  let ones = 0;
  let word = 0;
  for (const last = bits.length - 7; word < last; word += 8) {
    let first = bits[word]!;
    let second = bits[word + 1]!;
    let odd = ones ^ first;
    let two = (ones & first) | (odd & second);
    ones = odd ^ second;
    first = bits[word + 2]!;
    second = bits[word + 3]!;
    odd = ones ^ first;
    let otherTwo = (ones & first) | (odd & second);
    ones = odd ^ second;
    odd = twos ^ two;
    const four = (twos & two) | (odd & otherTwo);
    twos = odd ^ otherTwo;
    first = bits[word + 4]!;
    second = bits[word + 5]!;
    odd = ones ^ first;
    two = (ones & first) | (odd & second);
    ones = odd ^ second;
    first = bits[word + 6]!;
    second = bits[word + 7]!;
    odd = ones ^ first;
    otherTwo = (ones & first) | (odd & second);
    ones = odd ^ second;
    odd = twos ^ two;
    const otherFour = (twos & two) | (odd & otherTwo);
    twos = odd ^ otherTwo;
    odd = fours ^ four;
    eights += countOnes((fours & four) | (odd & otherFour));
    fours = odd ^ otherFour;
  }
  let count = 8 * eights + 4 * countOnes(fours) + 2 * countOnes(twos) + countOnes(ones);
  for (; word < bits.length; word += 1) count += countOnes(bits[word]!);
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
