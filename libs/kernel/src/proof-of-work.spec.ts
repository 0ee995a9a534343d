import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { isProofOfWorkNonce, newProofOfWorkChallenge, solvesProofOfWork } from './proof-of-work.js';

const solve = (challenge: string, difficulty: number): string => {
  for (let attempt = 0; ; attempt += 1)
    if (solvesProofOfWork(challenge, attempt.toString(36), difficulty)) return attempt.toString(36);
};

describe('proof of work', () => {
  it('is solved exactly by a nonce whose digest starts with the zeros', () => {
    const challenge = newProofOfWorkChallenge();
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9A-Za-z]{1,64}$/), fc.integer({ min: 0, max: 3 }), (nonce, difficulty) => {
        const digest = createHash('sha256')
          .update(challenge + nonce)
          .digest('hex');
        expect(solvesProofOfWork(challenge, nonce, difficulty)).toBe(
          digest.slice(0, difficulty) === '0'.repeat(difficulty),
        );
      }),
    );
    expect(solvesProofOfWork(challenge, solve(challenge, 3), 3)).toBe(true);
  });

  it('is not solved by moving characters between challenge and nonce', () => {
    const challenge = newProofOfWorkChallenge();
    const nonce = solve(challenge, 2);
    for (let moved = 1; moved < 64; moved += 1) {
      expect(solvesProofOfWork(challenge.slice(0, -moved), challenge.slice(-moved) + nonce, 2)).toBe(false);
      expect(solvesProofOfWork(challenge + nonce.slice(0, moved), nonce.slice(moved), 2)).toBe(false);
    }
  });

  it.each(['', ' ', '1 ', '-1', '1\n', 'é', '🙂', '0x1f!', 'a'.repeat(65), 'a'.repeat(1e6)])(
    'refuses a malformed nonce (case %#)',
    (nonce) => {
      expect(isProofOfWorkNonce(nonce)).toBe(false);
      expect(solvesProofOfWork(newProofOfWorkChallenge(), nonce, 0)).toBe(false);
    },
  );

  it.each([-1, 0.5, 65, Number.NaN, Number.POSITIVE_INFINITY])(
    'is solved by nothing at the difficulty %p',
    (difficulty) => {
      expect(solvesProofOfWork(newProofOfWorkChallenge(), 'a', difficulty)).toBe(false);
    },
  );

  it('gives every challenge 64 hex digits of its own', () => {
    const challenges = Array.from({ length: 100 }, newProofOfWorkChallenge);
    expect(challenges.every((challenge) => /^[0-9a-f]{64}$/.test(challenge))).toBe(true);
    expect(new Set(challenges).size).toBe(100);
  });
});
