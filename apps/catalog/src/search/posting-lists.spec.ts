import fc from 'fast-check';
import { BitSets } from './bit-sets.js';
import { PostingLists } from './posting-lists.js';

const listed = (lists: PostingLists, word: number): number[] => [...lists.slots(word)];

describe('posting lists', () => {
  it('give back what was added to each, alone and among a set', () => {
    const differences = fc.array(fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 3_000_000 })), { maxLength: 2_000 });
    fc.assert(
      fc.property(fc.array(differences, { minLength: 1, maxLength: 5 }), (all) => {
        const lists = new PostingLists(new BitSets());
        const expected = all.map((steps) => {
          let slot = 0;
          return steps.map((step) => (slot += step)).filter((each) => each < 100_000_000);
        });
        // By turns, so that the blocks of one lie between those of the others.
        for (let turn = 0; turn < 2_000; turn += 1) expected.forEach((slots, word) => turn < slots.length && lists.add(word * 7, slots[turn]!));
        expected.forEach((slots, word) => {
          expect(listed(lists, word * 7)).toEqual(slots);
          expect(lists.count(word * 7)).toBe(slots.length);
        });
        expect([listed(lists, 1), lists.count(1), lists.count(1_000_000)]).toEqual([[], 0, 0]);
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['common throughout', 2, 0],
    ['rare', 40, 0],
    ['common at first', 40, 50_000],
  ])('of a word that is %s are the same however they are kept', (_how, every, allBelow) => {
    const slots = Array.from({ length: 120_000 }, (_, index) => index).filter((index) => index % every === 0 || index < allBelow);
    const sets = new BitSets();
    sets.reserve(200_000);
    const lists = new PostingLists(sets);
    for (const slot of slots) lists.add(3, slot);
    expect(listed(lists, 3)).toEqual(slots);
    const set = sets.takeEmpty();
    set.add(199_999);
    expect(lists.meets(set, 3)).toBe(false);
    lists.uniteInto(set, 3);
    lists.intersectInto(set, 3);
    expect([...sets.slots(set, slots.length)]).toEqual(slots);
    expect([sets.count(set), lists.meets(set, 3), [...lists.among(Uint32Array.of(0, 39, 40, 199_999), 3)]]).toEqual([slots.length, true, [0, 39, 40].filter((slot) => slots.includes(slot))]);
    lists.subtractFrom(set, 3);
    expect(sets.count(set)).toBe(0);
  });

  it('take little more than a byte a posting', () => {
    const sets = new BitSets();
    sets.reserve(100_000);
    const lists = new PostingLists(sets);
    for (let slot = 0; slot < 100_000; slot += 1) for (let word = slot % 100; word < 2_000; word += 100) lists.add(word, slot);
    expect(lists.bytes).toBeLessThan(2 * 1_400_000 + 2 ** 20);
  });
});
