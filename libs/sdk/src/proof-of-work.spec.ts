import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { solveProofOfWork } from './proof-of-work.js';

describe('solveProofOfWork', () => {
  it('finds a nonce whose digest starts with the asked zeros', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[0-9a-f]{64}$/),
        fc.integer({ min: 0, max: 3 }),
        async (challenge, difficulty) => {
          const nonce = await solveProofOfWork({ challenge, difficulty });

          const digest = createHash('sha256').update(challenge, 'utf8').update(nonce, 'utf8').digest();
          expect(nonce).toMatch(/^[0-9A-Za-z]{1,64}$/);
          expect(digest.toString('hex').slice(0, difficulty)).toBe('0'.repeat(difficulty));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('lets other work run while it searches and stops when it is cancelled', async () => {
    const cancel = new AbortController();
    setTimeout(() => cancel.abort(new Error('enough')), 1);

    await expect(solveProofOfWork({ challenge: 'x', difficulty: 64 }, { signal: cancel.signal })).rejects.toThrow(
      'enough',
    );
  });

  it('refuses a difficulty that no digest can meet', async () => {
    await expect(solveProofOfWork({ challenge: 'x', difficulty: 65 })).rejects.toThrow(RangeError);
    await expect(solveProofOfWork({ challenge: 'x', difficulty: 1.5 })).rejects.toThrow(RangeError);
  });
});
