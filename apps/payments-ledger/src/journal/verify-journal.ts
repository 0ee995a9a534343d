import { sql, type Tx } from '@market/persistence';
import { boundValues, chainHash, changedColumns, GENESIS } from './chain-hash.js';
import { FEES_PAID, SALE_REASONS } from './posting.js';
import { recordedTransactions, toRecorded, type RecordedRow } from './recorded-transaction.js';

export interface JournalProblem {
  kind: 'chain_broken' | 'unbalanced' | 'balance_wrong' | 'total_not_zero';
  /** The id of a journal transaction, the address of an account, or `journal`. */
  subject: string;
  detail: string;
}

const head = sql('journal.head', 'SELECT sequence, hash FROM journal_head');
const page = sql(
  'journal.page',
  `${recordedTransactions} WHERE t.sequence > $1 AND t.sequence <= $2 ORDER BY t.sequence LIMIT $3`,
);
const wrongBalances = sql(
  'journal.wrong-balances',
  `WITH summed AS (
     SELECT account, sum(CASE direction WHEN 'credit' THEN amount_micros ELSE -amount_micros END) AS balance FROM postings GROUP BY account
   )
   SELECT a.address, a.balance_micros AS stored, coalesce(s.balance, 0) AS summed
   FROM accounts a LEFT JOIN summed s ON s.account = a.address WHERE a.balance_micros <> coalesce(s.balance, 0) ORDER BY a.address`,
);
const saleOf = sql(
  'journal.sale-of-payment',
  `SELECT r.*, (SELECT hash FROM journal_transactions WHERE sequence = r.sequence - 1) AS previous
   FROM (${recordedTransactions}
     WHERE t.payment_id = $1 AND t.reason IN (${[...SALE_REASONS, FEES_PAID].map((reason) => `'${reason}'`).join(', ')})) r`,
);
const total = sql('journal.total', 'SELECT coalesce(sum(balance_micros), 0) AS total FROM accounts');

/**
 * Reads the whole journal and reports every inconsistency. It can run while the services run: it does not read entries
 * recorded after it began, and it compares balances and sums in one statement.
 */
export async function verifyJournal(database: Pick<Tx, 'query'>, pageSize = 1_000): Promise<JournalProblem[]> {
  const problems = await verifyChain(database, pageSize);
  for (const { address, stored, summed } of await database.query<{ address: string; stored: string; summed: string }>(
    wrongBalances,
  )) {
    problems.push({
      kind: 'balance_wrong',
      subject: address,
      detail: `the account says ${stored}, its postings ${summed} micros`,
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

async function verifyChain(database: Pick<Tx, 'query'>, pageSize: number): Promise<JournalProblem[]> {
  const problems: JournalProblem[] = [];
  const [last] = await database.query<{ sequence: string; hash: Buffer }>(head);
  const running = new Map<string, bigint>();
  let sequence = 0n;
  let hash: Buffer = GENESIS;
  for (;;) {
    const transactions = await database.query<RecordedRow>(page, [sequence, last!.sequence, pageSize]);
    for (const transaction of transactions) {
      problems.push(...verifyTransaction(transaction, sequence + 1n, hash, running));
      sequence = BigInt(transaction.sequence);
      hash = transaction.hash;
    }
    if (transactions.length < pageSize) break;
  }
  if (sequence !== BigInt(last!.sequence) || !hash.equals(last!.hash))
    problems.push({
      kind: 'chain_broken',
      subject: 'journal',
      detail: `the chain ends at ${sequence}, its head says ${last!.sequence}`,
    });
  return problems;
}

/**
 * Verifies one link against the recorded previous hash, so that each change is reported once, at the transaction that
 * was changed.
 */
function verifyTransaction(
  row: RecordedRow,
  expected: bigint,
  previous: Buffer,
  running: Map<string, bigint>,
): JournalProblem[] {
  const problems: JournalProblem[] = [];
  const report = (kind: JournalProblem['kind'], detail: string): void =>
    void problems.push({ kind, subject: row.id, detail });
  const sequence = BigInt(row.sequence);
  if (sequence !== expected) report('chain_broken', `sequence ${expected} is missing before ${sequence}`);
  const broken = brokenLink(row, previous);
  if (broken !== null) report('chain_broken', broken);
  const signed = row.postings.map(
    ({ direction, amount_micros }) => BigInt(amount_micros) * (direction === 'credit' ? 1n : -1n),
  );
  const sum = signed.reduce((total, micros) => total + micros, 0n);
  if (sum !== 0n || signed.length < 2) report('unbalanced', `${signed.length} postings that sum to ${sum} micros`);
  row.postings.forEach(({ account, balance_after_micros }, index) => {
    const balance = (running.get(account) ?? 0n) + signed[index]!;
    running.set(account, BigInt(balance_after_micros));
    if (balance !== running.get(account))
      report('balance_wrong', `after it ${account} holds ${balance} micros, not ${running.get(account)}`);
  });
  return problems;
}

/**
 * Verifies that the payment of a sale or of fees, its postings and its receipts are unchanged since its journal
 * transaction was recorded. If the hash of the transaction was changed too, only `verifyJournal` finds it, at the next
 * link.
 * @returns what was changed; null if nothing was.
 */
export async function verifySale(database: Pick<Tx, 'query'>, paymentId: string): Promise<string | null> {
  const [row] = await database.query<RecordedRow & { previous: Buffer | null }>(saleOf, [paymentId]);
  return row ? brokenLink(row, row.previous ?? GENESIS) : 'its journal transaction is gone';
}

/** @returns what was changed since the transaction was recorded; null if nothing was. */
function brokenLink(row: RecordedRow, previous: Buffer): string | null {
  const recorded = toRecorded(row);
  const isWhole = chainHash(previous, boundValues(recorded)).equals(row.hash);
  const changed = changedColumns(recorded, row.checksums);
  if (isWhole)
    return changed.length === 0
      ? null
      : `changed since it was recorded under ${row.sequence}: journal_transactions.checksums`;
  return `changed since it was recorded under ${row.sequence}: ${changed.join(', ') || 'journal_transactions.hash, or the one before it'}`;
}
