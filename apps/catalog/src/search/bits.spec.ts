import fc from 'fast-check';
import { countBits, intersect, slotsOf, subtract, unite } from './bits.js';

const words = (length: number) => fc.array(fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1, -0x8000_0000)), { minLength: length, maxLength: length }).map((values) => Uint32Array.from(values));
const anyPair = fc.nat({ max: 40 }).chain((length) => fc.tuple(words(length), words(length)));
const ones = (bits: Uint32Array): number[] => [...bits].flatMap((word, index) => Array.from({ length: 32 }, (_, bit) => ((word >>> bit) & 1 ? index * 32 + bit : -1)).filter((slot) => slot >= 0));

describe('sets of bits', () => {
  it('count, list and combine what a look at each bit finds, whatever their length', () => {
    fc.assert(
      fc.property(anyPair, ([bits, other]) => {
        const [those, others] = [ones(bits), new Set(ones(other))];
        expect(countBits(bits)).toBe(those.length);
        expect([...slotsOf(bits, those.length)]).toEqual(those);
        const changed = (change: typeof intersect): number[] => {
          const copy = bits.slice();
          change(copy, other);
          return ones(copy);
        };
        expect(changed(intersect)).toEqual(those.filter((slot) => others.has(slot)));
        expect(changed(subtract)).toEqual(those.filter((slot) => !others.has(slot)));
        expect(changed(unite)).toEqual([...new Set([...those, ...others])].sort((a, b) => a - b));
      }),
      { numRuns: 300 },
    );
  });

  it('take in, and give away, what longer, shorter and several others have', () => {
    const anyWords = fc.nat({ max: 20 }).chain(words);
    fc.assert(
      fc.property(anyWords, fc.array(anyWords, { maxLength: 5 }), (bits, others) => {
        const held = new Set(ones(bits));
        const within = others.map((other) => ones(other).filter((slot) => slot < bits.length * 32));
        const united = bits.slice();
        unite(united, ...others);
        expect(new Set(ones(united))).toEqual(new Set([...held, ...within.flat()]));
        const left = bits.slice();
        others.forEach((other) => subtract(left, other));
        within.flat().forEach((slot) => held.delete(slot));
        expect(new Set(ones(left))).toEqual(held);
      }),
      { numRuns: 300 },
    );
  });
});
