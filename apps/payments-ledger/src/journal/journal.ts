import { invariant } from '@market/kernel';
import { traceIdOf, type RequestContext } from '@market/messaging';
import { sql, withParameters, type Tx } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import {
  boundValues,
  checksumsOf,
  digestOf,
  type PaymentFacts,
  type PayoutFacts,
  type RefundFacts,
} from './chain-hash.js';
import { MAX_POSTINGS, newTransactionId } from './entry-ids.js';
import { postedMicros } from './metrics.js';
import { assertBalanced, type JournalEntry, type Posting } from './posting.js';

/** The head is read and advanced here alone, so it is locked from this statement to the commit. */
const write = withParameters(
  {
    count: 'int',
    digests: 'bytea',
    recorded_at: 'timestamptz',
    entries: `place int, id uuid, reason text, payment_id uuid, payout_id uuid, request_digest bytea, response_digest bytea,
      seller_status_code int, digest bytea, checksums bytea`,
    lines: 'place int, position int, account text, owner_id uuid, type text, direction text, amount_micros bigint',
  },
  ({ count, digests, recorded_at, entries, lines }) =>
    sql(
      'journal.write',
      `WITH head AS (
         UPDATE journal_head SET sequence = sequence + ${count}, link = sha256(link || ${digests})
         RETURNING sequence - ${count} AS before, link
       ), transactions AS (
         INSERT INTO journal_transactions (sequence, id, reason, payment_id, payout_id, request_digest, response_digest,
           seller_status_code, recorded_at, digest, checksums, link)
         SELECT before + place, id, reason, payment_id, payout_id, request_digest, response_digest,
           seller_status_code, ${recorded_at}, digest, checksums, CASE WHEN place = ${count} THEN link END
         FROM ${entries.table}, head
       )
       INSERT INTO postings (sequence, position, account, owner_id, type, direction, amount_micros)
       SELECT before + place, position, account, owner_id, type, direction, amount_micros FROM ${lines.table}, head`,
    ),
);

/** An entry with the other values that the chain binds. A sale is completed when it is recorded. */
export interface JournalRecord {
  entry: JournalEntry;
  /** The subject of the entry. Exactly one of the two is set. */
  payment?: PaymentFacts;
  payout?: PayoutFacts;
  sale?: { payer: string | null; exchange?: Exchange };
  /** The refund that the entry pays. */
  refund?: RefundFacts;
  /** The request that caused the entry, if any. */
  context?: Pick<RequestContext, 'requestId' | 'traceparent'>;
}

/** What a call exchanged: SHA-256 of the canonical request and of the answer, and the seller's HTTP status. */
interface Exchange {
  request_digest: Buffer;
  response_digest: Buffer;
  seller_status_code: number;
}
const NO_EXCHANGE = { request_digest: null, response_digest: null, seller_status_code: null };

/**
 * Records every movement of money. The service checks that an entry is balanced before it sends it, and the database
 * checks it again. Entries that are recorded together are one link of the chain of hashes. No balance is written here:
 * it is the sum of the postings.
 */
@Injectable()
export class Journal {
  private readonly logger = new Logger('Journal');

  /** Sends one statement, which should be the last of its transaction, because it locks the head of the chain. */
  record(tx: Tx, records: JournalRecord[], recordedAt: Date): void {
    if (records.length === 0) return;
    tx.afterCommit(() => records.forEach((recorded) => this.logRecord(recorded)));
    const entries = records.map((recorded, index) => toRows(recorded, index + 1, recordedAt));
    tx.send(
      write,
      write.values({
        count: entries.length,
        digests: Buffer.concat(entries.map(({ row }) => row.digest)),
        recorded_at: recordedAt,
        entries: entries.map(({ row }) => row),
        lines: entries.flatMap(({ lines }) => lines),
      }),
    );
  }

  private logRecord({ entry: { reason, paymentId, payoutId, postings }, context }: JournalRecord): void {
    for (const { direction, type, amountMicros } of postings)
      if (direction === 'credit') postedMicros.inc({ reason, type }, Number(amountMicros));
    const [{ amountMicros }] = postings as [Posting];
    this.logger.log({
      msg: reason,
      payment_id: paymentId ?? undefined,
      payout_id: payoutId,
      amount_micros: String(amountMicros),
      request_id: context?.requestId,
      trace_id: traceIdOf(context?.traceparent),
    });
  }
}

function toRows({ entry, payment, payout, sale, refund }: JournalRecord, place: number, recordedAt: Date) {
  assertBalanced(entry);
  invariant(entry.postings.length <= MAX_POSTINGS, 'the ids of ledger entries have one digit for their position');
  const lines = entry.postings.map(({ account, type, direction, amountMicros }, position) => ({
    place,
    position,
    account: account.address,
    owner_id: account.ownerId,
    type,
    direction,
    amount_micros: amountMicros,
  }));
  const exchange = sale?.exchange ?? NO_EXCHANGE;
  const id = newTransactionId(recordedAt);
  const values = boundValues({
    id,
    reason: entry.reason,
    payment_id: entry.paymentId,
    recorded_at: recordedAt,
    payment: payment ?? null,
    payout: payout ?? null,
    sale: sale ? { completed_at: recordedAt, payer: sale.payer, ...exchange } : null,
    refund,
    postings: lines,
  });
  const checksums = checksumsOf(values);
  const row = {
    place,
    id,
    reason: entry.reason,
    payment_id: entry.paymentId,
    payout_id: entry.payoutId ?? null,
    ...exchange,
    digest: digestOf(values, checksums),
    checksums,
  };
  return { row, lines };
}
