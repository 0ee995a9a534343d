import { newId, type Micros } from '@market/kernel';
import { sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { chainHash } from './chain-hash.js';
import { assertBalanced, signed, type JournalEntry } from './posting.js';

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
     INSERT INTO journal_transactions (id, sequence, reason, payment_id, recorded_at, hash)
     SELECT id, sequence, reason, payment_id, $6, hash
     FROM unnest($7::uuid[], $8::bigint[], $9::text[], $10::uuid[], $11::bytea[]) AS t (id, sequence, reason, payment_id, hash)
   )
   INSERT INTO postings (id, transaction_id, sequence, position, account, owner_id, type, direction, amount_micros, balance_after_micros)
   SELECT * FROM unnest($12::uuid[], $13::uuid[], $14::bigint[], $15::int[], $16::text[], $17::uuid[], $18::text[], $19::text[], $20::bigint[], $21::bigint[])`,
);

/**
 * The one door for money. Entries are balanced before they are sent and again by the database; each is chained to the
 * one before by its hash. The head row serialises all writers, so balances need no locks of their own: three
 * statements for any number of entries.
 */
@Injectable()
export class Journal {
  async record(tx: Tx, entries: JournalEntry[], recordedAt: Date): Promise<void> {
    if (entries.length === 0) return;
    entries.forEach(assertBalanced);
    const [head] = await tx.query<{ sequence: string; hash: Buffer }>(lockHead);
    const owners = new Map(entries.flatMap((entry) => entry.postings.map((posting) => [posting.account.address, posting.account.ownerId] as const)));
    const running = new Map<string, Micros>([...owners.keys()].map((address) => [address, 0n]));
    for (const row of await tx.query<{ address: string; balance_micros: string }>(balances, [[...owners.keys()]])) running.set(row.address, BigInt(row.balance_micros));

    let sequence = BigInt(head!.sequence);
    let { hash } = head!;
    const transactions: { id: string; sequence: bigint; hash: Buffer; entry: JournalEntry }[] = [];
    const postings: { transactionId: string; sequence: bigint; position: number; entry: JournalEntry['postings'][number]; balanceAfter: Micros }[] = [];
    for (const entry of entries) {
      sequence += 1n;
      const id = newId(recordedAt.getTime());
      hash = chainHash(hash, { id, sequence, reason: entry.reason, paymentId: entry.paymentId, recordedAt, postings: entry.postings });
      transactions.push({ id, sequence, hash, entry });
      entry.postings.forEach((posting, position) => {
        const balanceAfter = running.get(posting.account.address)! + signed(posting);
        running.set(posting.account.address, balanceAfter);
        postings.push({ transactionId: id, sequence, position, entry: posting, balanceAfter });
      });
    }
    await tx.query(write, [
      sequence,
      hash,
      [...running.keys()],
      [...running.keys()].map((address) => owners.get(address) ?? null),
      [...running.values()],
      recordedAt,
      transactions.map((transaction) => transaction.id),
      transactions.map((transaction) => transaction.sequence),
      transactions.map(({ entry }) => entry.reason),
      transactions.map(({ entry }) => entry.paymentId),
      transactions.map((transaction) => transaction.hash),
      postings.map(() => newId(recordedAt.getTime())),
      postings.map((posting) => posting.transactionId),
      postings.map((posting) => posting.sequence),
      postings.map((posting) => posting.position),
      postings.map(({ entry }) => entry.account.address),
      postings.map(({ entry }) => entry.account.ownerId),
      postings.map(({ entry }) => entry.type),
      postings.map(({ entry }) => entry.direction),
      postings.map(({ entry }) => entry.amountMicros),
      postings.map((posting) => posting.balanceAfter),
    ]);
  }
}
