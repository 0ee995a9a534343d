import { newId } from '@market/kernel';

/**
 * The ids of what is shown of a journal transaction are computed from its own, whose last digit is 0: a ledger entry
 * has the position of its posting plus one there, and a receipt b for the buyer or e for the seller.
 */
export const newTransactionId = (at: Date): string => `${newId(at.getTime()).slice(0, -1)}0`;

/** The journal transaction that a ledger entry or a receipt shows. */
export const transactionIdOf = (id: string): string => `${id.slice(0, -1)}0`;

/** An entry has at most this many postings. */
export const MAX_POSTINGS = 10;

/** SQL: the id of the ledger entry of posting `o` in journal transaction `t`. */
export const ENTRY_ID = `(left(t.id::text, 35) || to_hex(o.position + 1))::uuid`;

/** The position of the posting that a ledger entry shows. */
export const positionOf = (entryId: string): number => Number.parseInt(entryId.slice(-1), 16) - 1;
