import { createHash } from 'node:crypto';

const LEVELS = 3;
const BYTES_A_LEVEL = 4;
const LARGEST_INDEX = 0x7f_ff_ff_ff;

/**
 * The path to an offer's own key below a root (BIP-32, SLIP-0010), made from the offer's id: three levels of 31 bits, so that
 * nothing is counted, two offers share a key with a chance of 2^-93, and the root's owner finds each path again from the offer alone.
 */
export function depositPath(relayRequestId: string): number[] {
  const digest = createHash('sha256').update(`deposit path ${relayRequestId}`).digest();
  return Array.from({ length: LEVELS }, (_, level) => digest.readUInt32BE(level * BYTES_A_LEVEL) & LARGEST_INDEX);
}
