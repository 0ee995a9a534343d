import fc from 'fast-check';
import { hasBit, slotsOf, wordsFor } from './bits.js';
import { Postings } from './postings.js';

const postingsWith = (slots: Iterable<number>): Postings => {
  const postings = new Postings();
  for (const slot of slots) postings.add(slot);
  return postings;
};

const listed = (postings: Postings): number[] => {
  const found: number[] = [];
  postings.forEach((slot) => found.push(slot));
  return found;
};

const ascending = fc.uniqueArray(fc.integer({ min: 0, max: 5_000_000 }), { maxLength: 200 }).map((slots) => slots.sort((a, b) => a - b));

describe('postings', () => {
  it('give back what was added, alone and among a set', () => {
    fc.assert(
      fc.property(ascending, ascending, (mine, others) => {
        const postings = postingsWith(mine);
        expect(listed(postings)).toEqual(mine);
        expect(postings.count).toBe(mine.length);
        const both = mine.filter((slot) => others.includes(slot));
        const bits = new Uint32Array(wordsFor(5_000_001));
        postingsWith(others).uniteInto(bits);
        expect(postings.meets(bits)).toBe(both.length > 0);
        postings.intersectInto(bits, new Uint32Array(bits.length));
        expect([...slotsOf(bits, both.length)]).toEqual(both);
      }),
      { numRuns: 30 },
    );
  });

  it('take a slot that is repeated once', () => {
    expect(listed(postingsWith([3, 3, 9, 9]))).toEqual([3, 9]);
  });

  it.each([
    ['common', 2],
    ['rare', 40],
  ])('of a %s word are the same however they are kept', (_how, every) => {
    const slots = Array.from({ length: 120_000 }, (_, index) => index).filter((index) => index % every === 0 || index < 50_000);
    const postings = postingsWith(slots);
    expect(postings.byteLength).toBeLessThan(slots.length);
    expect(listed(postings)).toEqual(slots);
    const bits = new Uint32Array(wordsFor(200_000)).fill(0xffffffff);
    postings.intersectInto(bits, new Uint32Array(bits.length));
    expect([...slotsOf(bits, slots.length)]).toEqual(slots);
    expect([hasBit(bits, 199_999), postings.meets(new Uint32Array(bits.length)), postings.meets(bits)]).toEqual([false, false, true]);
  });
});
