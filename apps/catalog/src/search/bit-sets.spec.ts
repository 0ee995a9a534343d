import fc from 'fast-check';
import { readFile } from 'node:fs/promises';
import wabt from 'wabt';
import { WASM_BASE64 } from './bit-kernels.js';
import { BitSets, type BitSet } from './bit-sets.js';

/** More than are listed at a time. */
const MOST = 20_000;
const anySlots = fc.oneof(
  { weight: 8, arbitrary: fc.uniqueArray(fc.nat({ max: 600 }), { maxLength: 200 }) },
  { weight: 8, arbitrary: fc.uniqueArray(fc.nat({ max: MOST - 1 }), { maxLength: 60 }) },
  { weight: 1, arbitrary: fc.constant(Array.from({ length: MOST }, (_, slot) => slot)) },
);

// As text: comparing two arrays of thousands takes long.
const listed = (sets: BitSets, set: BitSet): string => sets.slots(set, sets.count(set)).join();
const ascending = (slots: Iterable<number>): string => Uint32Array.from(slots).sort().join();

describe('sets of bits', () => {
  it('are combined, counted and listed as any other sets', () => {
    fc.assert(
      fc.property(anySlots, anySlots, (slots, others) => {
        const sets = new BitSets();
        sets.reserve(MOST);
        const [set, other] = [sets.takeEmpty(), sets.takeEmpty()];
        set.addAll(Uint32Array.from(slots));
        for (const slot of others) other.add(slot);
        const [those, these] = [new Set(slots), new Set(others)];
        expect(listed(sets, set)).toEqual(ascending(slots));
        expect(sets.meet(set, other)).toBe(slots.some((slot) => these.has(slot)));
        const changed = (how: 'intersect' | 'subtract' | 'unite'): string => {
          const copy = sets.takeCopy(set);
          sets[how](copy, other);
          const result = listed(sets, copy);
          sets.giveBack(copy);
          return result;
        };
        expect(changed('intersect')).toEqual(ascending(slots.filter((slot) => these.has(slot))));
        expect(changed('subtract')).toEqual(ascending(slots.filter((slot) => !these.has(slot))));
        expect(changed('unite')).toEqual(ascending(new Set([...those, ...these])));
        expect(listed(sets, set)).toEqual(ascending(slots));
        for (const slot of others) set.remove(slot);
        expect(listed(sets, set)).toEqual(ascending(slots.filter((slot) => !these.has(slot))));
        expect([...those].every((slot) => set.has(slot) !== these.has(slot))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('keep what they have while their family grows in number and length', () => {
    const anyStep = fc.oneof(fc.record({ reserve: fc.nat({ max: MOST }) }), fc.record({ slots: anySlots }));
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 20 }), (steps) => {
        const sets = new BitSets();
        let room = 0;
        const held: { set: BitSet; slots: number[] }[] = [];
        for (const step of steps) {
          if ('reserve' in step) {
            room = Math.max(room, step.reserve);
            sets.reserve(step.reserve);
          } else {
            const set = sets.takeEmpty();
            const slots = step.slots.filter((slot) => slot < room);
            set.addAll(Uint32Array.from(slots));
            held.push({ set, slots });
          }
          for (const { set, slots } of held) expect(listed(sets, set)).toEqual(ascending(slots));
        }
      }),
      { numRuns: 50 },
    );
  });

  it('are worked on by what bit-kernels.wat says', async () => {
    const source = await readFile(new URL('bit-kernels.wat', import.meta.url), 'utf8');
    const { parseWat } = await wabt();
    const { buffer } = parseWat('bit-kernels.wat', source, { simd: true }).toBinary({});
    expect(WASM_BASE64).toBe(Buffer.from(buffer).toString('base64'));
  });
});
