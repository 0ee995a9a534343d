import { createHash } from 'node:crypto';
import { solvesProofOfWork } from './proof-of-work.js';

const challenge = 'c0ffee'.repeat(10) + 'abcd';
const digest = (nonce: string): string => createHash('sha256').update(challenge + nonce).digest('hex');
const solution = (difficulty: number): string => {
  for (let nonce = 0; ; nonce += 1) if (digest(String(nonce)).startsWith('0'.repeat(difficulty))) return String(nonce);
};

describe('the proof of work of a listing', () => {
  it('is a nonce whose digest with the challenge starts with the zeros asked for', () => {
    for (let nonce = 0; nonce < 2_000; nonce += 1) expect(solvesProofOfWork(challenge, String(nonce), 2)).toBe(digest(String(nonce)).startsWith('00'));
    expect(solvesProofOfWork(challenge, solution(3), 3)).toBe(true);
  });

  it('is not spliced: no border between challenge and nonce but the one', () => {
    const nonce = solution(2);
    expect(solvesProofOfWork(challenge + nonce[0], nonce.slice(1), 2)).toBe(false);
    expect(solvesProofOfWork(challenge.slice(0, -1), challenge.at(-1) + nonce, 2)).toBe(false);
  });

  it.each(['', ' 1', '1\n', 'é', '\0', '1'.repeat(65), '🦊', '-1'])('is not %j, at no difficulty', (nonce) => {
    expect(solvesProofOfWork(challenge, nonce, 0)).toBe(false);
  });
});
