import { sha256 } from '@noble/hashes/sha2';
import { utf8ToBytes } from '@noble/hashes/utils';
import type { Cancellable } from './http.js';

export interface ProofOfWorkPuzzle {
  challenge: string;
  /** The number of hex zeros that SHA-256(challenge + nonce) must start with. */
  difficulty: number;
}

export interface ProofOfWorkOptions extends Cancellable {
  /** Called every few milliseconds with the number of nonces tried and the number that is needed on average. */
  onProgress?: (tried: number, expected: number) => void;
}

/** About 15 ms of hashing, so that other work of the same thread is not delayed for longer. */
const HASHES_BETWEEN_YIELDS = 4_096;

/**
 * Finds the nonce (`[0-9A-Za-z]{1,64}`) that solves the puzzle; on average 16^difficulty hashes, a quarter of a second
 * for 4 zeros.
 * @throws the signal's reason when it is aborted.
 */
export async function solveProofOfWork(
  { challenge, difficulty }: ProofOfWorkPuzzle,
  { signal, onProgress }: ProofOfWorkOptions = {},
): Promise<string> {
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > 64) {
    throw new RangeError(`A difficulty is a whole number of hex zeros from 0 to 64, not ${difficulty}.`);
  }
  const afterChallenge = sha256.create().update(utf8ToBytes(challenge));
  const hash = afterChallenge.clone();
  for (let counter = 0; ; counter += 1) {
    if (counter % HASHES_BETWEEN_YIELDS === 0) {
      await new Promise((resolve) => setTimeout(resolve));
      signal?.throwIfAborted();
      onProgress?.(counter, 16 ** difficulty);
    }
    const nonce = counter.toString(36);
    if (startsWithZeros(afterChallenge._cloneInto(hash).update(utf8ToBytes(nonce)).digest(), difficulty)) return nonce;
  }
}

function startsWithZeros(digest: Uint8Array, difficulty: number): boolean {
  const wholeBytes = difficulty >> 1;
  for (let index = 0; index < wholeBytes; index += 1) if (digest[index] !== 0) return false;
  return difficulty % 2 === 0 || digest[wholeBytes]! < 16;
}
