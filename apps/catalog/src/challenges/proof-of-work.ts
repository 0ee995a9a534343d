import { createHash } from 'node:crypto';

// A fixed challenge length and a bounded nonce leave one way to split challenge + nonce, so no solution is spliced.
const CHALLENGE = /^[0-9a-f]{64}$/;
const NONCE = /^[0-9A-Za-z]{1,64}$/;

/** Whether SHA-256(challenge + nonce) in hex starts with `difficulty` zeros. Malformed input is `false`. */
export function solvesProofOfWork(challenge: string, nonce: string, difficulty: number): boolean {
  if (!CHALLENGE.test(challenge) || !NONCE.test(nonce)) return false;
  return createHash('sha256').update(challenge).update(nonce).digest('hex').startsWith('0'.repeat(difficulty));
}
