import { createHash } from 'node:crypto';
import { batchSql, sql, type Tx } from '@market/persistence';
import { BEGINNING, type JournalProblem, type Place } from '../journal/verify-journal.js';
import { SIGNED } from '../journal/recorded-transaction.js';
import type { Checkpoint, ReceiptSigner } from './receipt-signer.js';

const stored = sql(
  'checkpoints.stored',
  `SELECT c.sequence, c.jws, t.link FROM checkpoints c LEFT JOIN journal_transactions t ON t.sequence = c.sequence
   ORDER BY c.sequence`,
);
/** Two processes may try at once, and only one checkpoint follows the one before. */
const insert = sql(
  'checkpoints.insert',
  'INSERT INTO checkpoints (sequence, after, jws) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
);
const made = sql('checkpoints.last-made-at', 'SELECT max(made_at) AS made_at FROM checkpoints');
const countPostings = batchSql(
  'SELECT count(*)::int AS count FROM postings WHERE sequence > $1::bigint AND sequence <= $2::bigint',
);
/** What `accounts` holds, less what was posted after the place, or more what was posted until there. */
const balances = batchSql(
  `WITH moved AS (
     SELECT account, sum(CASE WHEN sequence > u THEN 1 ELSE -1 END * ${SIGNED}) AS micros
     FROM postings, (SELECT sequence AS u FROM balances_until) until
     WHERE sequence > least($1::bigint, u) AND sequence <= greatest($1::bigint, u) GROUP BY account
   ), held AS (
     SELECT coalesce(a.address, m.account) AS address, coalesce(a.balance_micros, 0) + coalesce(m.micros, 0) AS micros
     FROM accounts a FULL JOIN moved m ON m.account = a.address
   )
   SELECT count(*)::int AS accounts,
     encode(sha256(coalesce(string_agg(digest, '' ORDER BY address COLLATE "C"), '')), 'hex') AS balances
   FROM (SELECT address, sha256(convert_to(address || ' ' || micros, 'UTF8')) AS digest FROM held WHERE micros <> 0) digests`,
);

export async function lastMadeAt(database: Pick<Tx, 'query'>): Promise<Date | null> {
  const [row] = await database.query<{ made_at: Date | null }>(made);
  return row!.made_at;
}

/** Signs what the books are at a place up to which they were verified. */
export async function writeCheckpoint(
  database: Pick<Tx, 'query'>,
  signer: ReceiptSigner,
  head: Place,
  last: { checkpoint: Checkpoint; digest: string } | null,
): Promise<void> {
  const after = last?.checkpoint.sequence ?? BEGINNING.sequence;
  const [added] = await database.query<{ count: number }>(countPostings, [after, head.sequence]);
  const [held] = await database.query<Pick<Checkpoint, 'accounts' | 'balances'>>(balances, [head.sequence]);
  const jws = signer.signCheckpoint({
    iat: Math.floor(Date.now() / 1000),
    sequence: head.sequence,
    link: head.link.toString('hex'),
    postings: (last?.checkpoint.postings ?? 0) + added!.count,
    ...held!,
    previous: last?.digest ?? null,
  });
  await database.query(insert, [head.sequence, after, jws]);
}

/**
 * Verifies the signatures and the order of all checkpoints, that the chain has their links, and the balances at the last.
 * @returns the last that fits the books.
 */
export async function verifyCheckpoints(
  database: Pick<Tx, 'query'>,
  signer: ReceiptSigner,
): Promise<{ problems: JournalProblem[]; last: { checkpoint: Checkpoint; digest: string } | null }> {
  const problems: JournalProblem[] = [];
  let last: { checkpoint: Checkpoint; digest: string } | null = null;
  let previous: string | null = null;
  for (const { sequence, jws, link } of await database.query<{ sequence: string; jws: string; link: Buffer | null }>(
    stored,
  )) {
    const checkpoint = await signer.readCheckpoint(jws);
    const report = (detail: string): void =>
      void problems.push({ kind: 'checkpoint_wrong', subject: `checkpoint ${sequence}`, detail });
    if (!checkpoint) report('is not signed with a key of PAYMENTS_LEDGER_SIGNING_KEYS');
    else if (checkpoint.sequence !== Number(sequence)) report(`was signed for ${checkpoint.sequence}`);
    else if (checkpoint.previous !== previous) report('does not follow from the one before it');
    else if (checkpoint.link !== link?.toString('hex')) report('has another link of the chain than the journal');
    else last = { checkpoint, digest: digestOf(jws) };
    previous = digestOf(jws);
  }
  if (last) {
    const { checkpoint } = last;
    const [held] = await database.query<Pick<Checkpoint, 'accounts' | 'balances'>>(balances, [checkpoint.sequence]);
    if (held!.balances !== checkpoint.balances)
      problems.push({
        kind: 'checkpoint_wrong',
        subject: `checkpoint ${checkpoint.sequence}`,
        detail: `has ${checkpoint.accounts} balances, and the accounts and postings of now make others; --full names them`,
      });
  }
  return { problems, last };
}

/** Verifies what only reading all postings shows: that there are as many as when the checkpoint was signed. */
export async function verifyCounts(database: Pick<Tx, 'query'>, checkpoint: Checkpoint): Promise<JournalProblem[]> {
  const { sequence, postings } = checkpoint;
  const [found] = await database.query<{ count: number }>(countPostings, [BEGINNING.sequence, sequence]);
  if (found!.count === postings) return [];
  return [
    {
      kind: 'checkpoint_wrong',
      subject: `checkpoint ${sequence}`,
      detail: `has ${postings} postings, and the journal ${found!.count}`,
    },
  ];
}

const digestOf = (jws: string): string => createHash('sha256').update(jws).digest('hex');
