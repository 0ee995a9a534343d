import { sql, type Tx } from '@market/persistence';
import { boundValues, changedColumns, digestOf, GENESIS, linkOf } from './chain-hash.js';
import { FEES_PAID, SALE_REASONS } from './posting.js';
import { recordedTransactions, toRecorded, type RecordedRow } from './recorded-transaction.js';

export interface JournalProblem {
  kind: 'chain_broken' | 'unbalanced' | 'balance_wrong' | 'total_not_zero';
  /** The id of a journal transaction, the address of an account, or `journal`. */
  subject: string;
  detail: string;
}

const head = sql('journal.head', 'SELECT sequence, link FROM journal_head');
const page = sql(
  'journal.page',
  `${recordedTransactions} WHERE t.sequence > $1 AND t.sequence <= $2 ORDER BY t.sequence LIMIT $3`,
);
const SIGNED = `CASE direction WHEN 'credit' THEN amount_micros ELSE -amount_micros END`;
const wrongBalances = sql(
  'journal.wrong-balances',
  `WITH summed AS (
     SELECT account, sum(${SIGNED}) AS balance FROM postings
     WHERE sequence <= (SELECT sequence FROM balances_until) GROUP BY account
   )
   SELECT coalesce(a.address, s.account) AS address, coalesce(a.balance_micros, 0) AS stored, coalesce(s.balance, 0) AS summed
   FROM accounts a FULL JOIN summed s ON s.account = a.address
   WHERE coalesce(a.balance_micros, 0) <> coalesce(s.balance, 0) ORDER BY 1`,
);
const wrongSnapshots = sql(
  'journal.wrong-snapshots',
  `SELECT account AS address, sequence, stored, summed FROM (
     SELECT account, sequence, stored, sum(micros) OVER (PARTITION BY account ORDER BY sequence, stored NULLS FIRST) AS summed
     FROM (
       SELECT account, sequence, sum(${SIGNED}) AS micros, NULL::bigint AS stored FROM postings GROUP BY account, sequence
       UNION ALL SELECT account, sequence, 0, balance_micros FROM balance_snapshots
     ) moved
   ) running WHERE stored <> summed ORDER BY account, sequence`,
);
const orphans = sql(
  'journal.orphans',
  `SELECT DISTINCT o.sequence FROM postings o
   WHERE o.sequence <= $1 AND NOT EXISTS (SELECT 1 FROM journal_transactions t WHERE t.sequence = o.sequence) ORDER BY 1`,
);
const saleOf = sql(
  'journal.sale-of-payment',
  `${recordedTransactions}
   WHERE t.payment_id = $1 AND t.reason IN (${[...SALE_REASONS, FEES_PAID].map((reason) => `'${reason}'`).join(', ')})`,
);
const total = sql('journal.total', 'SELECT coalesce(sum(balance_micros), 0) AS total FROM accounts');

/**
 * Reads the whole journal and reports every inconsistency. It can run while the services run: it does not read entries
 * recorded after it began, and it compares balances and sums in one statement.
 */
export async function verifyJournal(database: Pick<Tx, 'query'>, pageSize = 1_000): Promise<JournalProblem[]> {
  const problems = await verifyChain(database, pageSize);
  const wrong = [
    ...(await database.query<WrongBalance>(wrongBalances)),
    ...(await database.query<WrongBalance>(wrongSnapshots)),
  ];
  for (const { address, sequence, stored, summed } of wrong) {
    const what = sequence === undefined ? 'the account' : `its snapshot at ${sequence}`;
    problems.push({
      kind: 'balance_wrong',
      subject: address,
      detail: `${what} says ${stored}, its postings ${summed} micros`,
    });
  }
  const [sum] = await database.query<{ total: string }>(total);
  if (BigInt(sum!.total) !== 0n)
    problems.push({
      kind: 'total_not_zero',
      subject: 'journal',
      detail: `all accounts together hold ${sum!.total} micros`,
    });
  return problems;
}

interface WrongBalance {
  address: string;
  sequence?: string;
  stored: string;
  summed: string;
}

async function verifyChain(database: Pick<Tx, 'query'>, pageSize: number): Promise<JournalProblem[]> {
  const problems: JournalProblem[] = [];
  const report = (kind: JournalProblem['kind'], subject: string, detail: string): void =>
    void problems.push({ kind, subject, detail });
  const [last] = await database.query<{ sequence: string; link: Buffer }>(head);
  let sequence = 0n;
  let link: Buffer = GENESIS;
  /** The digests of the transactions since the last link. */
  let group: Buffer[] = [];
  for (;;) {
    const rows = await database.query<RecordedRow>(page, [sequence, last!.sequence, pageSize]);
    for (const row of rows) {
      const expected = sequence + 1n;
      sequence = BigInt(row.sequence);
      if (sequence !== expected) report('chain_broken', row.id, `sequence ${expected} is missing before ${sequence}`);
      const changed = changedSince(row);
      if (changed !== null) report('chain_broken', row.id, changed);
      const wrong = unbalanced(row);
      if (wrong !== null) report('unbalanced', row.id, wrong);
      group.push(row.digest);
      if (row.link === null) continue;
      // Each link is verified against the recorded one before it, so that a change is reported once.
      if (!linkOf(link, group).equals(row.link))
        report(
          'chain_broken',
          row.id,
          `its link does not follow from the one before it and the ${group.length} digests since then`,
        );
      [link, group] = [row.link, []];
    }
    if (rows.length < pageSize) break;
  }
  if (sequence !== BigInt(last!.sequence) || group.length > 0 || !link.equals(last!.link))
    report('chain_broken', 'journal', `the chain ends at ${sequence}, its head says ${last!.sequence}`);
  for (const row of await database.query<{ sequence: string }>(orphans, [last!.sequence]))
    report('chain_broken', 'journal', `there are postings at ${row.sequence} and no transaction`);
  return problems;
}

function unbalanced({ postings }: RecordedRow): string | null {
  const sum = postings.reduce(
    (total, { direction, amount_micros }) => total + BigInt(amount_micros) * (direction === 'credit' ? 1n : -1n),
    0n,
  );
  return sum !== 0n || postings.length < 2 ? `${postings.length} postings that sum to ${sum} micros` : null;
}

/**
 * Verifies that the payment of a sale or of fees and its postings are unchanged since its journal transaction was
 * recorded. If the digest of the transaction was changed too, only `verifyJournal` finds it, at the next link.
 * @returns what was changed; null if nothing was.
 */
export async function verifySale(database: Pick<Tx, 'query'>, paymentId: string): Promise<string | null> {
  const [row] = await database.query<RecordedRow>(saleOf, [paymentId]);
  return row ? changedSince(row) : 'its journal transaction is gone';
}

/** @returns what was changed since the transaction was recorded; null if nothing was. */
function changedSince(row: RecordedRow): string | null {
  const recorded = toRecorded(row);
  const isWhole = digestOf(boundValues(recorded)).equals(row.digest);
  const changed = changedColumns(recorded, row.checksums);
  if (isWhole && changed.length === 0) return null;
  const what = isWhole ? 'journal_transactions.checksums' : changed.join(', ') || 'journal_transactions.digest';
  return `changed since it was recorded under ${row.sequence}: ${what}`;
}
