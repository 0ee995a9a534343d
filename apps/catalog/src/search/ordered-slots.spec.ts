import fc from 'fast-check';
import { OrderedSlots } from './ordered-slots.js';

describe('ordered slots', () => {
  it('are what sorting everything at once would give, after any batches', () => {
    const batches = fc.array(fc.record({ added: fc.uniqueArray(fc.nat({ max: 3_000 }), { maxLength: 800 }), removed: fc.array(fc.nat({ max: 3_000 }), { maxLength: 400 }) }), { maxLength: 6 });
    fc.assert(
      fc.property(batches, (all) => {
        const key = (slot: number): number => (slot * 7) % 100;
        const compare = (a: number, b: number): number => key(a) - key(b) || a - b;
        const keys = Float64Array.from({ length: 3_001 }, (_, slot) => key(slot));
        const [order, model] = [new OrderedSlots(() => keys, (a, b) => a - b), new Set<number>()];
        for (const { added, removed } of all) {
          const fresh = added.filter((slot) => !model.has(slot));
          order.add(Uint32Array.from(fresh));
          fresh.forEach((slot) => model.add(slot));
          const gone = [...new Set(removed)].filter((slot) => model.has(slot));
          order.remove(Uint32Array.from(gone));
          gone.forEach((slot) => model.delete(slot));
        }
        const sorted = [...model].sort(compare);
        expect(Array.from({ length: order.length }, (_, position) => order.at(position))).toEqual(sorted);
        expect(order.countWhile((slot) => key(slot) < 50)).toBe(sorted.filter((slot) => key(slot) < 50).length);
      }),
      { numRuns: 60 },
    );
  });
});
