import { hash } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';

export interface ProofOfWorkPuzzle {
  challenge: string;
  /** How many hex zeros SHA-256(challenge + nonce) must start with. */
  difficulty: number;
}

/** About 5 ms of hashing, so that a server or a timer in the same process is never starved. */
const HASHES_BETWEEN_YIELDS = 8_192;

/**
 * Finds the nonce (`[0-9A-Za-z]{1,64}`) that solves the puzzle; on average 16^difficulty hashes, some 30 ms for 4 zeros.
 * @throws the signal's reason when it is aborted.
 */
export async function solveProofOfWork(puzzle: ProofOfWorkPuzzle, signal?: AbortSignal): Promise<string> {
  const { challenge, difficulty } = puzzle;
  if (!Number.isInteger(difficulty) || difficulty < 0 || difficulty > 64) {
    throw new RangeError(`A difficulty is a whole number of hex zeros from 0 to 64, not ${difficulty}.`);
  }
  const zeros = '0'.repeat(difficulty);
  for (let counter = 0; ; counter += 1) {
    if (counter % HASHES_BETWEEN_YIELDS === 0) {
      await nextTick();
      signal?.throwIfAborted();
    }
    const nonce = counter.toString(36);
    if (hash('sha256', challenge + nonce, 'hex').startsWith(zeros)) return nonce;
  }
}
