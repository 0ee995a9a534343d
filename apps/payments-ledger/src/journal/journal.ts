import { newId, type Micros } from '@market/kernel';
import { traceIdOf, type RequestContext } from '@market/messaging';
import { sql, withParameters, type Tx } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import {
  boundValues,
  chainHash,
  checksumsOf,
  type PaymentFacts,
  type PayoutFacts,
  type RefundFacts,
  type SaleFacts,
} from './chain-hash.js';
import { postedMicros } from './metrics.js';
import { assertBalanced, signed, type JournalEntry, type Posting } from './posting.js';

const lockHead = sql('journal.lock-head', 'SELECT sequence, hash FROM journal_head FOR UPDATE');
const findBalances = sql('journal.balances', 'SELECT address, balance_micros FROM accounts WHERE address = ANY($1)');
const write = withParameters(
  {
    sequence: 'bigint',
    hash: 'bytea',
    recorded_at: 'timestamptz',
    balances: 'address text, owner_id uuid, balance_micros bigint',
    entries: 'id uuid, sequence bigint, reason text, payment_id uuid, payout_id uuid, hash bytea, checksums bytea',
    lines: `id uuid, transaction_id uuid, sequence bigint, position int, account text, owner_id uuid, type text, direction text,
      amount_micros bigint, balance_after_micros bigint`,
  },
  ({ sequence, hash, recorded_at, balances, entries, lines }) =>
    sql(
      'journal.write',
      `WITH head AS (
         UPDATE journal_head SET sequence = ${sequence}, hash = ${hash}
       ), known AS (
         INSERT INTO accounts (${balances.columns}) SELECT * FROM ${balances.table}
         ON CONFLICT (address) DO UPDATE SET balance_micros = excluded.balance_micros
       ), transactions AS (
         INSERT INTO journal_transactions (${entries.columns}, recorded_at) SELECT *, ${recorded_at} FROM ${entries.table}
       )
       INSERT INTO postings (${lines.columns}) SELECT * FROM ${lines.table}`,
    ),
);

/** An entry with the other values that the chain binds. A sale is completed when it is recorded. */
export interface JournalRecord {
  entry: JournalEntry;
  /** The subject of the entry. Exactly one of the two is set. */
  payment?: PaymentFacts;
  payout?: PayoutFacts;
  sale?: Omit<SaleFacts, 'completed_at'>;
  /** The refund that the entry pays. */
  refund?: RefundFacts;
  /** The request that caused the entry, if any. */
  context?: Pick<RequestContext, 'requestId' | 'traceparent'>;
}

/**
 * Records every movement of money. The service checks that an entry is balanced before it sends it, and the database
 * checks it again. The hash of each entry includes the hash of the previous one. The lock of the head row serialises
 * all writers, so balances need no locks of their own. It is held for one round trip, because everything written here
 * is sent together with the commit.
 */
@Injectable()
export class Journal {
  private readonly logger = new Logger('Journal');

  async record(tx: Tx, entries: JournalRecord[], recordedAt: Date): Promise<void> {
    if (entries.length === 0) return;
    tx.afterCommit(() => entries.forEach((recorded) => this.tell(recorded)));
    entries.forEach(({ entry }) => assertBalanced(entry));
    const owners = new Map(
      entries.flatMap(({ entry }) =>
        entry.postings.map((posting) => [posting.account.address, posting.account.ownerId] as const),
      ),
    );
    // Both statements take one round trip. PostgreSQL executes them in order, so it reads the balances after it has
    // locked the head.
    const [[head], balances] = await Promise.all([
      tx.query<{ sequence: string; hash: Buffer }>(lockHead),
      tx.query<{ address: string; balance_micros: string }>(findBalances, [[...owners.keys()]]),
    ]);
    const running = new Map<string, Micros>([...owners.keys()].map((address) => [address, 0n]));
    for (const { address, balance_micros } of balances) running.set(address, BigInt(balance_micros));

    let { hash } = head!;
    const first = BigInt(head!.sequence) + 1n;
    const transactions = entries.map(({ entry, payment, payout, sale, refund }, index) => {
      const [id, sequence] = [newId(recordedAt.getTime()), first + BigInt(index)];
      const postings = entry.postings.map((posting, position) => {
        const { account, type, direction, amountMicros } = posting;
        const balanceAfter = running.get(account.address)! + signed(posting);
        running.set(account.address, balanceAfter);
        return {
          transaction_id: id,
          id: newId(recordedAt.getTime()),
          sequence,
          position,
          account: account.address,
          owner_id: account.ownerId,
          type,
          direction,
          amount_micros: amountMicros,
          balance_after_micros: balanceAfter,
        };
      });
      const values = boundValues({
        id,
        sequence,
        reason: entry.reason,
        payment_id: entry.paymentId,
        recorded_at: recordedAt,
        payment: payment ?? null,
        payout: payout ?? null,
        sale: sale ? { ...sale, completed_at: recordedAt } : null,
        refund,
        postings,
      });
      hash = chainHash(hash, values);
      return {
        id,
        sequence,
        reason: entry.reason,
        payment_id: entry.paymentId,
        payout_id: entry.payoutId ?? null,
        hash,
        checksums: checksumsOf(values),
        postings,
      };
    });
    const values = write.values({
      sequence: transactions.at(-1)!.sequence,
      hash,
      recorded_at: recordedAt,
      balances: [...running].map(([address, balance_micros]) => ({
        address,
        owner_id: owners.get(address),
        balance_micros,
      })),
      entries: transactions,
      lines: transactions.flatMap(({ postings }) => postings),
    });
    tx.send(write, values);
  }

  private tell({ entry: { reason, paymentId, payoutId, postings }, context }: JournalRecord): void {
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
