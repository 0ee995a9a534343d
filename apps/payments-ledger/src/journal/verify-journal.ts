import { sql, type Tx } from '@market/persistence';
import { chainHash, GENESIS } from './chain-hash.js';
import { signed, type Posting, type PostingType } from './posting.js';

export interface JournalProblem {
  kind: 'chain_broken' | 'unbalanced' | 'balance_wrong' | 'total_not_zero';
  /** A journal transaction's id, an account's address, or `journal`. */
  subject: string;
  detail: string;
}

interface TransactionRow {
  id: string;
  sequence: string;
  reason: string;
  payment_id: string;
  recorded_at: Date;
  hash: Buffer;
  postings: { account: string; type: PostingType; direction: Posting['direction']; amount: string; balance_after: string }[];
}

const head = sql('journal.head', 'SELECT sequence, hash FROM journal_head');
const page = sql(
  'journal.page',
  `SELECT t.id, t.sequence, t.reason, t.payment_id, t.recorded_at, t.hash,
     coalesce((SELECT json_agg(json_build_object('account', o.account, 'type', o.type, 'direction', o.direction, 'amount', o.amount_micros::text, 'balance_after', o.balance_after_micros::text) ORDER BY o.position)
       FROM postings o WHERE o.transaction_id = t.id), '[]') AS postings
   FROM journal_transactions t WHERE t.sequence > $1 AND t.sequence <= $2 ORDER BY t.sequence LIMIT $3`,
);
const wrongBalances = sql(
  'journal.wrong-balances',
  `WITH summed AS (
     SELECT account, sum(CASE direction WHEN 'credit' THEN amount_micros ELSE -amount_micros END) AS balance FROM postings GROUP BY account
   )
   SELECT a.address, a.balance_micros AS kept, coalesce(s.balance, 0) AS summed
   FROM accounts a LEFT JOIN summed s ON s.account = a.address WHERE a.balance_micros <> coalesce(s.balance, 0) ORDER BY a.address`,
);
const total = sql('journal.total', 'SELECT coalesce(sum(balance_micros), 0) AS total FROM accounts');

/**
 * Reads the whole journal and says what is wrong with it; nothing, for books that nobody touched. Safe beside running
 * services: what is recorded after it began is not looked at, balances and sums are compared in one statement.
 */
export async function verifyJournal(database: Pick<Tx, 'query'>, pageSize = 1_000): Promise<JournalProblem[]> {
  const problems = await verifyChain(database, pageSize);
  for (const { address, kept, summed } of await database.query<{ address: string; kept: string; summed: string }>(wrongBalances)) {
    problems.push({ kind: 'balance_wrong', subject: address, detail: `the account says ${kept}, its postings ${summed} micros` });
  }
  const [sum] = await database.query<{ total: string }>(total);
  if (BigInt(sum!.total) !== 0n) problems.push({ kind: 'total_not_zero', subject: 'journal', detail: `all accounts together hold ${sum!.total} micros` });
  return problems;
}

async function verifyChain(database: Pick<Tx, 'query'>, pageSize: number): Promise<JournalProblem[]> {
  const problems: JournalProblem[] = [];
  const [last] = await database.query<{ sequence: string; hash: Buffer }>(head);
  const running = new Map<string, bigint>();
  let sequence = 0n;
  let hash: Buffer = GENESIS;
  for (;;) {
    const transactions = await database.query<TransactionRow>(page, [sequence, last!.sequence, pageSize]);
    for (const transaction of transactions) {
      problems.push(...verifyTransaction(transaction, sequence + 1n, hash, running));
      sequence = BigInt(transaction.sequence);
      hash = transaction.hash;
    }
    if (transactions.length < pageSize) break;
  }
  if (sequence !== BigInt(last!.sequence) || !hash.equals(last!.hash)) problems.push({ kind: 'chain_broken', subject: 'journal', detail: `the chain ends at ${sequence}, its head says ${last!.sequence}` });
  return problems;
}

/** One link: it goes on from the recorded hash before it, so that each change is reported once and where it is. */
function verifyTransaction(row: TransactionRow, expected: bigint, previous: Buffer, running: Map<string, bigint>): JournalProblem[] {
  const problems: JournalProblem[] = [];
  const report = (kind: JournalProblem['kind'], detail: string): void => void problems.push({ kind, subject: row.id, detail });
  const sequence = BigInt(row.sequence);
  const postings = row.postings.map(({ account, type, direction, amount }) => ({ account: { address: account, ownerId: null }, type, direction, amountMicros: BigInt(amount) }));
  if (sequence !== expected) report('chain_broken', `sequence ${expected} is missing before ${sequence}`);
  const hash = chainHash(previous, { id: row.id, sequence, reason: row.reason, paymentId: row.payment_id, recordedAt: row.recorded_at, postings });
  if (!hash.equals(row.hash)) report('chain_broken', `what is recorded under ${sequence} does not have the hash recorded for it`);
  const sum = postings.reduce((total, posting) => total + signed(posting), 0n);
  if (sum !== 0n || postings.length < 2) report('unbalanced', `${postings.length} postings that sum to ${sum} micros`);
  postings.forEach((posting, index) => {
    const { address } = posting.account;
    const balance = (running.get(address) ?? 0n) + signed(posting);
    running.set(address, BigInt(row.postings[index]!.balance_after));
    if (balance !== running.get(address)) report('balance_wrong', `after it ${address} holds ${balance} micros, not ${running.get(address)}`);
  });
  return problems;
}
