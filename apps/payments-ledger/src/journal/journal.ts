import { newId, type Micros } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable, Logger } from '@nestjs/common';
import { boundValues, chainHash, checksumsOf, type PaymentFacts, type SaleFacts } from './chain-hash.js';
import { postedMicros } from './metrics.js';
import { assertBalanced, signed, type JournalEntry, type Posting } from './posting.js';

const lockHead = sql('journal.lock-head', 'SELECT sequence, hash FROM journal_head FOR UPDATE');
const balances = sql('journal.balances', 'SELECT address, balance_micros FROM accounts WHERE address = ANY($1)');
const write = sql(
  'journal.write',
  `WITH head AS (
     UPDATE journal_head SET sequence = $1, hash = $2
   ), known AS (
     INSERT INTO accounts (address, owner_id, balance_micros)
     SELECT * FROM unnest($3::text[], $4::uuid[], $5::bigint[])
     ON CONFLICT (address) DO UPDATE SET balance_micros = excluded.balance_micros
   ), transactions AS (
     INSERT INTO journal_transactions (id, sequence, reason, payment_id, recorded_at, hash, checksums)
     SELECT id, sequence, reason, payment_id, $6, hash, checksums
     FROM unnest($7::uuid[], $8::bigint[], $9::text[], $10::uuid[], $11::bytea[], $12::bytea[]) AS t (id, sequence, reason, payment_id, hash, checksums)
   )
   INSERT INTO postings (id, transaction_id, sequence, position, account, owner_id, type, direction, amount_micros, balance_after_micros)
   SELECT * FROM unnest($13::uuid[], $14::uuid[], $15::bigint[], $16::int[], $17::text[], $18::uuid[], $19::text[], $20::text[], $21::bigint[], $22::bigint[])`,
);

/** An entry with the further values that the chain binds. A sale is completed when it is recorded. */
export interface JournalRecord {
  entry: JournalEntry;
  payment: PaymentFacts;
  sale?: Omit<SaleFacts, 'completed_at'>;
  /** Of the request that brought it about, where there was one. */
  requestId?: string;
}

/**
 * Records every movement of money. Entries are balanced before they are sent and again by the database; each is chained to the
 * one before by its hash. The head row serialises all writers, so balances need no locks of their own.
 */
@Injectable()
export class Journal {
  private readonly logger = new Logger('Journal');

  async record(tx: Tx, entries: JournalRecord[], recordedAt: Date): Promise<void> {
    if (entries.length === 0) return;
    tx.afterCommit(() => entries.forEach((recorded) => this.tell(recorded)));
    entries.forEach(({ entry }) => assertBalanced(entry));
    const [head] = await tx.query<{ sequence: string; hash: Buffer }>(lockHead);
    const owners = new Map(
      entries.flatMap(({ entry }) =>
        entry.postings.map((posting) => [posting.account.address, posting.account.ownerId] as const),
      ),
    );
    const running = new Map<string, Micros>([...owners.keys()].map((address) => [address, 0n]));
    for (const row of await tx.query<{ address: string; balance_micros: string }>(balances, [[...owners.keys()]]))
      running.set(row.address, BigInt(row.balance_micros));

    let { hash } = head!;
    const first = BigInt(head!.sequence) + 1n;
    const transactions = entries.map(({ entry, payment, sale }, index) => {
      const [id, sequence] = [newId(recordedAt.getTime()), first + BigInt(index)];
      const postings = entry.postings.map((posting, position) => {
        const { account, type, direction, amountMicros } = posting;
        const balanceAfter = running.get(account.address)! + signed(posting);
        running.set(account.address, balanceAfter);
        return {
          transactionId: id,
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
        payment,
        sale: sale ? { ...sale, completed_at: recordedAt } : null,
        postings,
      });
      hash = chainHash(hash, values);
      return { id, sequence, hash, checksums: checksumsOf(values), entry, postings };
    });
    const postings = transactions.flatMap((transaction) => transaction.postings);
    await tx.query(write, [
      transactions.at(-1)!.sequence,
      hash,
      [...running.keys()],
      [...running.keys()].map((address) => owners.get(address) ?? null),
      [...running.values()],
      recordedAt,
      transactions.map(({ id }) => id),
      transactions.map((transaction) => transaction.sequence),
      transactions.map(({ entry }) => entry.reason),
      transactions.map(({ entry }) => entry.paymentId),
      transactions.map((transaction) => transaction.hash),
      transactions.map(({ checksums }) => checksums),
      postings.map(({ id }) => id),
      postings.map(({ transactionId }) => transactionId),
      postings.map((posting) => posting.sequence),
      postings.map(({ position }) => position),
      postings.map(({ account }) => account),
      postings.map(({ owner_id }) => owner_id),
      postings.map(({ type }) => type),
      postings.map(({ direction }) => direction),
      postings.map(({ amount_micros }) => amount_micros),
      postings.map(({ balance_after_micros }) => balance_after_micros),
    ]);
  }

  private tell({ entry: { reason, paymentId, postings }, requestId }: JournalRecord): void {
    for (const { direction, type, amountMicros } of postings)
      if (direction === 'credit') postedMicros.inc({ reason, type }, Number(amountMicros));
    const [{ amountMicros }] = postings as [Posting];
    this.logger.log({
      msg: reason,
      payment_id: paymentId,
      amount_micros: String(amountMicros),
      request_id: requestId,
    });
  }
}
