import fc from 'fast-check';
import { listingDifficulty } from './listing-difficulty.js';

describe('the difficulty of a listing', () => {
  it('rises by one with every step of listings made', () => {
    expect([0, 24, 25, 49, 50].map((recent) => listingDifficulty({ base: 4, step: 25, recent }))).toEqual([
      4, 4, 5, 5, 6,
    ]);
  });

  it('never falls, and stays where it can be written', () => {
    fc.assert(
      fc.property(fc.nat({ max: 16 }), fc.integer({ min: 1, max: 10_000 }), fc.nat(), (base, step, recent) => {
        const difficulty = listingDifficulty({ base, step, recent });
        expect(difficulty).toBeGreaterThanOrEqual(base);
        expect(difficulty).toBeLessThanOrEqual(16);
        expect(listingDifficulty({ base, step, recent: recent + 1 })).toBeGreaterThanOrEqual(difficulty);
      }),
    );
  });

  it('makes a thousand listings in an hour cost more than anyone has: 2^60 hashes', () => {
    let bits = 0;
    for (let recent = 0; recent < 1_000; recent += 1)
      bits = Math.max(bits, 4 * listingDifficulty({ base: 4, step: 25, recent }));
    expect(bits).toBeGreaterThanOrEqual(60);
  });
});
