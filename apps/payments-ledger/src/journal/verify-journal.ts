import { batchSql, sql, type Tx } from '@market/persistence';
import { changedColumns, digestOf, checksumsOf, GENESIS, linkOf, recordsIn } from './chain-hash.js';
import { FEES_PAID, SALE_REASONS } from './posting.js';
import { IS_CHANGED, recordedTransactions, SIGNED } from './recorded-transaction.js';

export interface JournalProblem {
  kind: 'chain_broken' | 'unbalanced' | 'balance_wrong' | 'total_not_zero' | 'checkpoint_wrong';
  /** The id of a journal transaction, the address of an account, a checkpoint, or `journal`. */
  subject: string;
  detail: string;
}

/** A place between two groups of the journal, and the link of the chain there. */
export interface Place {
  sequence: number;
  link: Buffer;
}
export const BEGINNING: Place = { sequence: 0, link: GENESIS };

const head = sql('journal.head', 'SELECT sequence, link FROM journal_head');
/**
 * A page of the chain: its digests, one after the other, its sequences if any is missing, the links with their places,
 * the transactions that are not as they were recorded, and the payments whose transaction is no ordinary sale.
 */
const page = batchSql(
  `WITH recorded AS (${recordedTransactions((sequence) => `${sequence} > $1 AND ${sequence} <= $2`)})
   SELECT coalesce(string_agg(digest, '' ORDER BY sequence), '') AS digests,
     CASE WHEN count(*) < $2 - $1 THEN coalesce(array_agg(sequence ORDER BY sequence), '{}') END AS sequences,
     coalesce(array_agg(sequence ORDER BY sequence) FILTER (WHERE link IS NOT NULL), '{}') AS places,
     coalesce(array_agg(link ORDER BY sequence) FILTER (WHERE link IS NOT NULL), '{}') AS links,
     coalesce(array_agg(sequence ORDER BY sequence) FILTER (WHERE ${IS_CHANGED} OR sum <> 0 OR number < 2), '{}') AS wrong,
     coalesce(array_agg(payment_id) FILTER (WHERE payment_id IS NOT NULL AND NOT is_sold), '{}') AS others
   FROM recorded`,
);
const recordedAt = batchSql(recordedTransactions((sequence) => `${sequence} = ANY($1::bigint[])`));
const ids = batchSql('SELECT sequence, id FROM journal_transactions WHERE sequence = ANY($1::bigint[])');
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
const orphans = batchSql(
  `SELECT DISTINCT o.sequence FROM postings o
   WHERE o.sequence > $1 AND o.sequence <= $2
     AND NOT EXISTS (SELECT 1 FROM journal_transactions t WHERE t.sequence = o.sequence) ORDER BY 1`,
);
const saleOf = sql(
  'journal.sale-of-payment',
  recordedTransactions(
    (sequence) => `${sequence} IN (SELECT sequence FROM journal_transactions WHERE payment_id = $1
      AND reason IN (${[...SALE_REASONS, FEES_PAID].map((reason) => `'${reason}'`).join(', ')}))`,
  ),
);
const total = sql('journal.total', 'SELECT coalesce(sum(balance_micros), 0) AS total FROM accounts');

/**
 * Reads the whole journal and reports every inconsistency. It can run while the services run: it does not read entries
 * recorded after it began, and it compares balances and sums in one statement.
 */
export async function verifyJournal(database: Pick<Tx, 'query'>, pageSize?: number): Promise<VerifiedChain> {
  const { problems, ...chain } = await verifyChain(database, BEGINNING, pageSize);
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
  return { problems: [...problems, ...(await verifyTotal(database))], ...chain };
}

export interface VerifiedChain {
  problems: JournalProblem[];
  /** The places between which it was read. */
  from: Place;
  head: Place;
  /** The payments to which transactions in between belong that are not the sale of a call, booked as it should be. */
  others: string[];
}

export async function verifyTotal(database: Pick<Tx, 'query'>): Promise<JournalProblem[]> {
  const [sum] = await database.query<{ total: string }>(total);
  return BigInt(sum!.total) === 0n
    ? []
    : [
        {
          kind: 'total_not_zero',
          subject: 'journal',
          detail: `all accounts together hold ${sum!.total} micros`,
        },
      ];
}

interface WrongBalance {
  address: string;
  sequence?: string;
  stored: string;
  summed: string;
}

interface Page {
  digests: Buffer;
  sequences: string[] | null;
  places: string[];
  links: Buffer[];
  wrong: string[];
  others: string[];
}

interface RecordedRow {
  sequence: string;
  id: string;
  digest: Buffer;
  checksums: Buffer;
  rows: Buffer;
  postings: Buffer;
  number: string;
  sum: string;
}

const DIGEST_BYTES = 32;
/** PostgreSQL joins the rows of a page in the few megabytes that a statement may use. */
const PAGE_SIZE = 4_000;
/** Pages that PostgreSQL reads side by side. */
export const PAGES_AT_A_TIME = 2;

/**
 * Verifies the transactions behind a place of the chain, up to its head: PostgreSQL compares the rows with their digests,
 * and the links over the digests are computed here.
 */
export async function verifyChain(
  database: Pick<Tx, 'query'>,
  from: Place,
  pageSize = PAGE_SIZE,
): Promise<VerifiedChain> {
  const found: { sequence: number | null; kind: JournalProblem['kind']; detail: string }[] = [];
  const report = (kind: JournalProblem['kind'], sequence: number | null, detail: string): void =>
    void found.push({ sequence, kind, detail });
  const end = await findHead(database);
  let { sequence, link } = from;
  /** The digests of the transactions since the last link. */
  let group: Buffer[] = [];
  const others: string[] = [];
  const add = async (start: number, { digests, sequences, places, links, wrong, ...page }: Page): Promise<void> => {
    for (const payment of page.others) others.push(payment);
    const linkAt = new Map(places.map((place, index) => [Number(place), links[index]!]));
    const rows = wrong.length === 0 ? [] : await database.query<RecordedRow>(recordedAt, [wrong]);
    const wrongAt = new Map(rows.map((row) => [Number(row.sequence), row]));
    for (let index = 0; index * DIGEST_BYTES < digests.length; index += 1) {
      const expected = sequence + 1;
      sequence = sequences ? Number(sequences[index]) : start + index + 1;
      if (sequence !== expected) report('chain_broken', sequence, `sequence ${expected} is missing before ${sequence}`);
      const row = wrongAt.get(sequence);
      const changed = row && changedSince(row);
      if (changed) report('chain_broken', sequence, changed);
      if (row && (row.sum !== '0' || Number(row.number) < 2))
        report('unbalanced', sequence, `${row.number} postings that sum to ${row.sum} micros`);
      group.push(digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES));
      const recorded = linkAt.get(sequence);
      if (!recorded) continue;
      // Each link is verified against the recorded one before it, so that a change is reported once.
      if (!linkOf(link, group).equals(recorded))
        report(
          'chain_broken',
          sequence,
          `its link does not follow from the one before it and the ${group.length} digests since then`,
        );
      [link, group] = [recorded, []];
    }
  };
  for (let after = from.sequence; after < end.sequence; after += PAGES_AT_A_TIME * pageSize) {
    const starts = Array.from({ length: PAGES_AT_A_TIME }, (_, index) => after + index * pageSize);
    const pages = starts
      .filter((start) => start < end.sequence)
      .map(async (start) => {
        const [read] = await database.query<Page>(page, [start, Math.min(start + pageSize, end.sequence)]);
        return { start, read: read! };
      });
    for (const { start, read } of await Promise.all(pages)) await add(start, read);
  }
  if (sequence !== end.sequence || group.length > 0 || !link.equals(end.link))
    report('chain_broken', null, `the chain ends at ${sequence}, its head says ${end.sequence}`);
  for (const { sequence: at } of await database.query<{ sequence: string }>(orphans, [from.sequence, end.sequence]))
    report('chain_broken', null, `there are postings at ${at} and no transaction`);
  const known =
    found.length === 0
      ? []
      : await database.query<{ sequence: string; id: string }>(ids, [found.flatMap(({ sequence: at }) => at ?? [])]);
  const idAt = new Map(known.map((row) => [Number(row.sequence), row.id]));
  const problems = found.map(({ sequence: at, kind, detail }) => ({
    kind,
    subject: at === null ? 'journal' : idAt.get(at)!,
    detail,
  }));
  return { problems, from, head: end, others };
}

async function findHead(database: Pick<Tx, 'query'>): Promise<Place> {
  const [row] = await database.query<{ sequence: string; link: Buffer }>(head);
  return { sequence: Number(row!.sequence), link: row!.link };
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
function changedSince({ sequence, rows, postings, digest, checksums }: RecordedRow): string | null {
  const values = { rows: recordsIn(rows)[0]!, postings: recordsIn(postings) };
  if (digestOf(values, checksums).equals(digest)) return null;
  const isWhole = digestOf(values, checksumsOf(values)).equals(digest);
  const changed = isWhole ? [] : changedColumns(values, checksums);
  const what = isWhole ? 'journal_transactions.checksums' : changed.join(', ') || 'journal_transactions.digest';
  return `changed since it was recorded under ${sequence}: ${what}`;
}
