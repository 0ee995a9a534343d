import { newId } from '@market/kernel';
import type { Database, Tx } from '@market/persistence';
import {
  PAGES_AT_A_TIME,
  verifyChain,
  verifyJournal,
  verifyTotal,
  type JournalProblem,
  type Place,
} from '../journal/verify-journal.js';
import { verifyCheckpoints, verifyCounts } from './checkpoints.js';
import type { Checkpoint, ReceiptSigner } from './receipt-signer.js';
import { verifyPayments, type PaymentProblem } from './verify-payments.js';

/** An id (UUIDv7) begins with the time of the process that made it. The clocks of processes differ by less than this. */
const MAX_CLOCK_SKEW_MS = 600_000;

/** Sums over the postings of a busy day, or of all time with `isFull`, take longer than statements of requests may. */
const STATEMENT_TIMEOUT_MS = 3_600_000;

/** Works on the books through connections of its own, so that no request waits for one. */
export async function withOwnConnections<T>(database: Database, work: (pool: Database) => Promise<T>): Promise<T> {
  const pool = await database.openPool({
    poolSize: PAGES_AT_A_TIME,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    // A page finds its payments by their index, instead of reading all payments.
    settings: { random_page_cost: '1.1' },
  });
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}

interface Verified {
  problems: (JournalProblem | PaymentProblem)[];
  /** Up to where the journal was read. */
  head: Place;
  last: { checkpoint: Checkpoint; digest: string } | null;
}

/**
 * Reads what came after the last checkpoint that fits the books, or everything if there is none or if `isFull`. It only
 * reads, and can run while the services run.
 */
export async function verifyBooks(
  database: Pick<Tx, 'query'>,
  signer: ReceiptSigner,
  { isFull }: { isFull: boolean },
): Promise<Verified> {
  const { problems, last } = await verifyCheckpoints(database, signer);
  if (isFull || !last) {
    const journal = await verifyJournal(database);
    const counts = last ? await verifyCounts(database, last.checkpoint) : [];
    return {
      problems: [...problems, ...journal.problems, ...counts, ...(await verifyPayments(database, journal))],
      head: journal.head,
      last,
    };
  }
  const { sequence, link, iat } = last.checkpoint;
  const chain = await verifyChain(database, { sequence, link: Buffer.from(link, 'hex') });
  const total = await verifyTotal(database);
  const payments = await verifyPayments(database, chain, { sequence, id: newId(iat * 1000 - MAX_CLOCK_SKEW_MS) });
  return { problems: [...problems, ...chain.problems, ...total, ...payments], head: chain.head, last };
}
