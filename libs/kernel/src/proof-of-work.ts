import { createHash, randomBytes } from 'node:crypto';

/** The number of hex digits of a SHA-256 digest, which is the longest possible run of zeros. */
const DIGEST_HEX_DIGITS = 64;

// The challenge has a fixed length and the nonce a bounded one, so challenge + nonce can be split in only one way.
const CHALLENGE = /^[0-9a-f]{64}$/;
const NONCE = /^[0-9A-Za-z]{1,64}$/;

/** Returns a new challenge: 32 random bytes as 64 hex digits. */
export const newProofOfWorkChallenge = (): string => randomBytes(32).toString('hex');

export const isProofOfWorkNonce = (nonce: string): boolean => NONCE.test(nonce);

/** Whether SHA-256(challenge + nonce) in hex starts with `difficulty` zeros. Malformed input is `false`. */
export function solvesProofOfWork(challenge: string, nonce: string, difficulty: number): boolean {
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > DIGEST_HEX_DIGITS) return false;
  if (!CHALLENGE.test(challenge) || !isProofOfWorkNonce(nonce)) return false;
  const digest = createHash('sha256').update(challenge).update(nonce).digest('hex');
  return digest.startsWith('0'.repeat(difficulty));
}
