import type { Tx } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { eventually } from '@market/testing';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { CheckpointBooks } from '../../src/books/checkpoint-books.job.js';
import { writeCheckpoint } from '../../src/books/checkpoints.js';
import { ReceiptSigner } from '../../src/books/receipt-signer.js';
import { verifyBooks } from '../../src/books/verify-books.js';
import type { PaymentsLedgerConfig } from '../../src/config.js';
import { newOrder, startLedger, type LedgerHarness } from '../support/ledger-harness.js';

const signing = (): Promise<ReceiptSigner> => ReceiptSigner.load(randomBytes(32).toString('base64'));
const quick = { isFull: false };
const full = { isFull: true };

describe('checkpoints of the books', () => {
  let harness: LedgerHarness;
  let signer: ReceiptSigner;
  /** The payments of three calls, with a checkpoint after the first and one after the second. */
  const payments: string[] = [];
  /** The journal sequences of those payments. */
  const sequences: number[] = [];

  beforeAll(async () => {
    [harness, signer] = await Promise.all([startLedger(), signing()]);
    for (const hasCheckpoint of [true, true, false]) {
      const call = await harness.authorized(newOrder());
      await harness.settle(call);
      payments.push(call.paymentId);
      const { problems, head, last } = await verifyBooks(harness.db.database, signer, quick);
      expect(problems).toEqual([]);
      sequences.push(head.sequence);
      if (hasCheckpoint) await writeCheckpoint(harness.db.database, signer, head, last);
    }
  });
  afterAll(() => harness.stop());

  /** Changes rows as a superuser without triggers, looks at them in the same transaction, and rolls it back. */
  const found = async (tampering: string[], how: typeof quick, as = signer): Promise<string[]> => {
    const client = new pg.Client({ connectionString: harness.db.url, options: '-c search_path=payments_ledger' });
    await client.connect();
    try {
      await client.query('SET session_replication_role = replica');
      await client.query('BEGIN');
      for (const statement of tampering) await client.query(statement);
      const query: Tx['query'] = async <Row>({ text }: { text: string }, values: unknown[] = []) =>
        (await client.query(text, values)).rows as Row[];
      return (await verifyBooks({ query }, as, how)).problems.map(
        ({ kind, subject, detail }) => `${kind} ${subject} ${detail}`,
      );
    } finally {
      await client.end();
    }
  };
  const count = async (): Promise<unknown> =>
    (await harness.db.inspect('SELECT count(*)::int AS count FROM payments_ledger.checkpoints'))[0];
  const rename = (call: number): string => `UPDATE payments SET listing_name = 'x' WHERE id = '${payments[call]}'`;

  it('leave the books as they are', async () => {
    for (const how of [quick, full]) expect(await found([], how)).toEqual([]);
    await harness.reconcile();
  });

  it('are where the next verification begins: what came since is read, and what came before only with --full', async () => {
    for (const [call, how, isFound] of [
      [2, quick, true],
      [1, quick, false],
      [0, quick, false],
      [1, full, true],
      [0, full, true],
    ] as const)
      expect(await found([rename(call)], how)).toEqual(
        isFound ? [expect.stringMatching(/^chain_broken .* payments\.listing_name$/)] : [],
      );
  });

  it('are all there is to begin from: without one, everything is read', async () => {
    expect(await found(['DELETE FROM checkpoints', rename(0)], quick)).toEqual([
      expect.stringContaining('payments.listing_name'),
    ]);
  });

  it('lead to older payments that moved since', async () => {
    const [old] = payments;
    const isFound = [expect.stringMatching(new RegExp(`^payment_unlike_books ${old} is verified and is charged`))];
    // Its id is as old as a payment that was made days before the checkpoint.
    const tampering = [
      `UPDATE payments SET id = '00000000-0000-7000-8000-000000000001', state = 'verified', completed_at = NULL WHERE id = '${old}'`,
      `UPDATE journal_transactions SET payment_id = '00000000-0000-7000-8000-000000000001' WHERE payment_id = '${old}'`,
    ];
    expect(
      (await found(tampering, quick)).map((line) => line.replace('00000000-0000-7000-8000-000000000001', old!)),
    ).toEqual(isFound);
  });

  it.each<[string, () => string[]]>([
    ['an account', () => [`UPDATE accounts SET balance_micros = balance_micros + 5 WHERE address = 'platform:fees'`]],
    [
      'two accounts, so that the sum stays',
      () => [
        `UPDATE accounts SET balance_micros = balance_micros + 5 WHERE address = 'platform:fees'`,
        `UPDATE accounts SET balance_micros = balance_micros - 5 WHERE address LIKE '%:earnings:%' AND address =
           (SELECT min(address) FROM accounts WHERE address LIKE '%:earnings:%')`,
      ],
    ],
    [
      'a posting behind it',
      () => [`UPDATE postings SET account = 'platform:other' WHERE sequence = ${sequences[2]} AND position = 3`],
    ],
  ])('show that %s has another balance than was signed', async (_what, tampering) => {
    await eventually(async () => {
      const [row] = await harness.db.inspect<{ missing: string }>(
        `SELECT h.sequence - u.sequence AS missing FROM payments_ledger.journal_head h, payments_ledger.balances_until u`,
      );
      expect(Number(row!.missing)).toBe(0);
    });
    expect(await found(tampering(), quick)).toContainEqual(
      expect.stringMatching(new RegExp(`^checkpoint_wrong checkpoint ${sequences[1]} has 5 balances, and`)),
    );
    expect(await found(tampering(), full)).toContainEqual(
      expect.stringMatching(/^balance_wrong platform:(fees|other) /),
    );
  });

  it('show that the chain was written anew before them', async () => {
    const at = sequences[0]!;
    const rewritten = [`UPDATE journal_transactions SET link = sha256(link) WHERE sequence = ${at}`];
    expect(await found(rewritten, quick)).toEqual([
      `checkpoint_wrong checkpoint ${at} has another link of the chain than the journal`,
    ]);
  });

  it('show postings that are gone or came in between, with --full', async () => {
    const added = `INSERT INTO postings SELECT sequence, position + 4, account, owner_id, type, direction, amount_micros
      FROM postings WHERE sequence = ${sequences[0]}`;
    expect(await found([added], full)).toContain(
      `checkpoint_wrong checkpoint ${sequences[1]} has 8 postings, and the journal 12`,
    );
  });

  it.each<[string, (at: number) => string[], string]>([
    [
      'with another text',
      (at) => [
        `UPDATE checkpoints SET jws = overlay(jws placing CASE substr(jws, 200, 1) WHEN 'A' THEN 'B' ELSE 'A' END from 200)
         WHERE sequence = ${at}`,
      ],
      'is not signed with a key of PAYMENTS_LEDGER_SIGNING_KEYS',
    ],
    [
      'at another place',
      (at) => [`UPDATE checkpoints SET sequence = ${at + 1} WHERE sequence = ${at}`],
      'was signed for',
    ],
    [
      'without the one before',
      (at) => [`DELETE FROM checkpoints WHERE sequence < ${at}`],
      'does not follow from the one before it',
    ],
  ])('are found and named when they are there %s', async (_what, tampering, detail) => {
    for (const how of [quick, full])
      expect(await found(tampering(sequences[1]!), how)).toEqual([
        expect.stringMatching(new RegExp(`^checkpoint_wrong checkpoint \\d+ ${detail}`)),
      ]);
  });

  it('of another key are not taken', async () => {
    expect(await found([], quick, await signing())).toHaveLength(2);
  });

  it('are refused a second time after the same one', async () => {
    const { head, last } = await verifyBooks(harness.db.database, signer, quick);
    await Promise.all([1, 2].map(() => writeCheckpoint(harness.db.database, signer, head, last)));
    expect(await count()).toEqual({ count: 3 });
  });

  it('are signed by the job only while the books add up', async () => {
    const { paymentId } = await harness.authorized(newOrder()).then(async (call) => (await harness.settle(call), call));
    const job = new CheckpointBooks(harness.db.database, signer, new Jobs(), {
      checkpointIntervalMs: 0,
    } as PaymentsLedgerConfig);
    const rebate = (micros: number): Promise<unknown> =>
      harness.db.inspect(
        'UPDATE payments_ledger.payments SET fee_micros = fee_micros - $2, net_micros = net_micros + $2 WHERE id = $1',
        [paymentId, micros],
      );
    await rebate(1);
    await job.run();
    expect(await count()).toEqual({ count: 3 });
    await rebate(-1);
    await job.run();
    expect(await count()).toEqual({ count: 4 });
  });
});

describe('the job that signs checkpoints', () => {
  it('signs one chain of them, whatever the number of processes', async () => {
    const signingKeys = randomBytes(32).toString('base64');
    const harness = await startLedger({
      replicas: 2,
      env: { PAYMENTS_LEDGER_CHECKPOINT_INTERVAL_MS: '50', PAYMENTS_LEDGER_SIGNING_KEYS: signingKeys },
    });
    const signer = await ReceiptSigner.load(signingKeys);
    const signed = async (): Promise<number> => {
      const { problems, last } = await verifyBooks(harness.db.database, signer, full);
      expect(problems).toEqual([]);
      return last?.checkpoint.sequence ?? 0;
    };
    for (let calls = 1; calls <= 3; calls += 1) {
      await harness.settle(await harness.authorized(newOrder()));
      await eventually(async () => expect(await signed()).toBe(calls));
    }
    await harness.stop();
  });
});
