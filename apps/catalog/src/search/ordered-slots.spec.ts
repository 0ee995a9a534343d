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
          const gone = [...new Set(removed)].filter((slot) => model.has(slot));
          order.change(Uint32Array.from(gone), Uint32Array.from(fresh));
          gone.forEach((slot) => model.delete(slot));
          fresh.forEach((slot) => model.add(slot));
        }
        const sorted = [...model].sort(compare);
        expect(Array.from({ length: order.length }, (_, position) => order.at(position))).toEqual(sorted);
        expect(order.countWhile((slot) => key(slot) < 50)).toBe(sorted.filter((slot) => key(slot) < 50).length);
      }),
      { numRuns: 60 },
    );
  });

  it('give the place of a slot to one that is equal to it', () => {
    const keys = Float64Array.of(1, 1, 2, 1, 1);
    const ids = ['a', 'b', 'a', 'b', 'a'];
    const order = new OrderedSlots(() => keys, (a, b) => ids[a]!.localeCompare(ids[b]!));
    order.change(new Uint32Array(0), Uint32Array.of(2, 1, 0));
    order.change(Uint32Array.of(1, 0), Uint32Array.of(3, 4));
    expect([...order.part(0, order.length)]).toEqual([4, 3, 2]);
  });
});
