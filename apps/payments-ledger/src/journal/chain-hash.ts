import { createHash } from 'node:crypto';
import type { Posting } from './posting.js';

export const GENESIS = Buffer.alloc(32);

/** What of a journal transaction the chain binds. */
export interface ChainedTransaction {
  id: string;
  sequence: bigint;
  reason: string;
  paymentId: string;
  recordedAt: Date;
  postings: Pick<Posting, 'account' | 'type' | 'direction' | 'amountMicros'>[];
}

/** SHA-256 over the previous hash and one line a fact; changing any recorded fact breaks every later link. */
export function chainHash(previous: Buffer, transaction: ChainedTransaction): Buffer {
  const lines = [
    transaction.sequence.toString(),
    transaction.id,
    transaction.reason,
    transaction.paymentId,
    transaction.recordedAt.toISOString(),
    ...transaction.postings.map(({ account, type, direction, amountMicros }) => `${account.address} ${type} ${direction} ${amountMicros}`),
  ];
  return createHash('sha256').update(previous).update(lines.join('\n')).digest();
}
