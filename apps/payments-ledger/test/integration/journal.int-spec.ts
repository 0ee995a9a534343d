import { newId } from '@market/kernel';
import { sql } from '@market/persistence';
import { eventually } from '@market/testing';
import pg from 'pg';
import { verifyJournal } from '../../src/journal/verify-journal.js';
import { newOrder, startLedger, type Authorized, type LedgerHarness } from '../support/ledger-harness.js';

const APPEND_ONLY = ['journal_transactions', 'postings', 'payouts', 'checkpoints'];

describe('the journal', () => {
  let harness: LedgerHarness;
  let sold: Authorized;
  beforeAll(async () => {
    harness = await startLedger();
    for (let calls = 0; calls < 5; calls += 1) await harness.settle((sold = await harness.authorized(newOrder())));
  });
  /** The tests change stored rows. */
  afterAll(() => harness.stop({ checkBooks: false }));

  /** Executes one or more statements as the service's own role, or as the login user that owns the tables. */
  const run = async (who: 'service' | 'owner', ...statements: string[]): Promise<void> => {
    const client = new pg.Client({ connectionString: harness.db.url, options: '-c search_path=payments_ledger' });
    await client.connect();
    try {
      if (who === 'service') await client.query('SET ROLE market_payments_ledger');
      await client.query('BEGIN');
      for (const statement of statements) await client.query(statement);
      await client.query('COMMIT');
    } finally {
      await client.end();
    }
  };
  const transaction = (id: string, reason = 'paid_late'): string =>
    `INSERT INTO journal_transactions (id, sequence, reason, payment_id, recorded_at, digest, checksums)
     VALUES ('${id}', 1000, '${reason}', '${sold.paymentId}', now(), sha256(''), '\\x')`;
  const posting = (sequence: number, position: number, direction: string, micros: number): string =>
    `(${sequence}, ${position}, 'platform:fees', NULL, 'adjustment', '${direction}', ${micros})`;
  const postings = (...rows: string[]): string =>
    `INSERT INTO postings (sequence, position, account, owner_id, type, direction, amount_micros)
     VALUES ${rows.join(', ')}`;

  it.each(['service', 'owner'] as const)(
    'takes no unbalanced transaction from the %s, whatever statement it comes in',
    async (who) => {
      const id = newId();
      const attempts: string[][] = [
        [transaction(id), postings(posting(1000, 0, 'debit', 5))],
        [transaction(id), postings(posting(1000, 0, 'debit', 5), posting(1000, 1, 'credit', 4))],
        [transaction(id), postings(posting(1000, 0, 'debit', 5)), postings(posting(1000, 1, 'credit', 5))],
        [transaction(id), postings(posting(1000, 0, 'credit', 5), posting(1000, 1, 'credit', 5))],
        [`WITH t AS (${transaction(id)}) ${postings(posting(1000, 0, 'debit', 7))}`],
      ];
      for (const statements of attempts) await expect(run(who, ...statements)).rejects.toThrow('is not balanced');
      await expect(
        run(who, transaction(id), postings(posting(1000, 0, 'debit', -5), posting(1000, 1, 'credit', -5))),
      ).rejects.toThrow('postings_amount_micros_check');
      await expect(run(who, transaction(newId(), 'call_completed'))).rejects.toThrow('journal_once_per_payment');
    },
  );

  it.each(APPEND_ONLY.flatMap((table) => (['service', 'owner'] as const).map((who) => [table, who] as const)))(
    'lets nobody change, remove or empty %s: not the %s',
    async (table, who) => {
      const column = table === 'payouts' ? 'wallet' : 'sequence';
      for (const statement of [
        `UPDATE ${table} SET ${column} = ${column}`,
        `UPDATE ${table} SET ${column} = ${column} WHERE false`,
        `DELETE FROM ${table}`,
        `TRUNCATE ${table} CASCADE`,
      ]) {
        await expect(run(who, statement)).rejects.toThrow(/append-only|permission denied/);
      }
    },
  );

  it('keeps payments and the head of the chain from being removed by the service', async () => {
    for (const table of ['subscriptions', 'accounts', 'balances_until', 'balance_snapshots', 'journal_head'])
      await expect(run('service', `DELETE FROM ${table}`)).rejects.toThrow('permission denied');
    for (const table of [
      'payments',
      'subscriptions',
      'accounts',
      'balances_until',
      'balance_snapshots',
      'journal_head',
    ])
      await expect(run('service', `TRUNCATE ${table} CASCADE`)).rejects.toThrow('permission denied');
    for (const who of ['service', 'owner'] as const)
      await expect(run(who, 'DELETE FROM payments')).rejects.toThrow('is not one that came to nothing');
  });

  it('records settlements that arrive together as one chain, each account in order', async () => {
    const [buyer, sellerId] = [newId(), newId()];
    const orders = Array.from({ length: 40 }, () => newOrder({ buyer })).map((order) => ({
      ...order,
      listing: { ...order.listing, sellerId },
    }));
    const claims = await Promise.all(orders.map((order) => harness.authorized(order)));
    await Promise.all(claims.map((claim) => harness.settle(claim)));
    const [account] = await harness.db.inspect<{ balance_micros: string }>(
      'SELECT balance_micros FROM payments_ledger.balances WHERE address = $1',
      [`agent:${sellerId}:earnings:sandbox:eip155:84532`],
    );
    expect(account!.balance_micros).toBe(String(40 * 237_500));
    await harness.reconcile();
  });

  describe('verifyJournal', () => {
    /** Executes statements as a superuser that has disabled the triggers. */
    const tamper = (...statements: string[]): Promise<void> =>
      run('owner', 'SET LOCAL session_replication_role = replica', ...statements);
    /** Waits until the postings are in the balances of the accounts. */
    const summed = (): Promise<void> =>
      eventually(async () => {
        const [row] = await harness.db.inspect<{ missing: string }>(
          `SELECT h.sequence - u.sequence AS missing FROM payments_ledger.journal_head h, payments_ledger.balances_until u`,
        );
        expect(Number(row!.missing)).toBe(0);
      });
    const problems = async (): Promise<string[]> =>
      (await verifyJournal(harness.db.database)).problems.map(({ kind, subject }) => `${kind} ${subject}`);
    const idAt = async (sequence: number): Promise<string> =>
      (
        await harness.db.inspect<{ id: string }>(
          'SELECT id FROM payments_ledger.journal_transactions WHERE sequence = $1',
          [sequence],
        )
      )[0]!.id;
    const platformFees = 'platform:fees';

    beforeAll(() => summed());

    it('finds nothing wrong with books that nobody touched', async () => {
      expect(await problems()).toEqual([]);
      for (const pageSize of [1, 2, 3, 44, 45, 46])
        expect((await verifyJournal(harness.db.database, pageSize)).problems).toEqual([]);
    });

    it.each<[string, string, string, (id: string) => string[]]>([
      ['a reason', "reason = 'overpaid'", "reason = 'call_completed'", (id) => [`chain_broken ${id}`]],
      [
        'a time',
        "recorded_at = recorded_at + interval '1 ms'",
        "recorded_at = recorded_at - interval '1 ms'",
        (id) => [`chain_broken ${id}`],
      ],
    ])('finds %s that was changed, where it was changed', async (_what, change, back, expected) => {
      const id = await idAt(3);
      await tamper(`UPDATE journal_transactions SET ${change} WHERE id = '${id}'`);
      expect(await problems()).toEqual(expected(id));
      await tamper(`UPDATE journal_transactions SET ${back} WHERE id = '${id}'`);
      expect(await problems()).toEqual([]);
    });

    it.each(['digest', 'link'])('finds a %s that was written anew', async (column) => {
      const id = await idAt(2);
      const [{ kept } = { kept: '' }] = await harness.db.inspect<{ kept: string }>(
        `SELECT encode(${column}, 'hex') AS kept FROM payments_ledger.journal_transactions WHERE id = $1`,
        [id],
      );
      await tamper(`UPDATE journal_transactions SET ${column} = sha256(${column}) WHERE id = '${id}'`);
      // A digest is unlike its values and breaks the link over it; a link breaks the next one, too.
      expect(await problems()).toEqual([
        `chain_broken ${id}`,
        `chain_broken ${column === 'digest' ? id : await idAt(3)}`,
      ]);
      await tamper(`UPDATE journal_transactions SET ${column} = '\\x${kept}' WHERE id = '${id}'`);
      expect(await problems()).toEqual([]);
    });

    it('finds an amount that was changed in one posting, by the chain, the sum and the accounts', async () => {
      const id = await idAt(2);
      const where = `WHERE sequence = 2 AND account = '${platformFees}'`;
      await tamper(`UPDATE postings SET amount_micros = amount_micros + 1 ${where}`);
      expect(await problems()).toEqual([`chain_broken ${id}`, `unbalanced ${id}`, `balance_wrong ${platformFees}`]);
      await tamper(`UPDATE postings SET amount_micros = amount_micros - 1 ${where}`);
      expect(await problems()).toEqual([]);
    });

    it('finds a change that keeps every sum: postings of another type', async () => {
      const id = await idAt(4);
      const swap = `UPDATE postings
        SET type = CASE type WHEN 'marketplace_fee' THEN 'adjustment' WHEN 'adjustment' THEN 'marketplace_fee' ELSE type END
        WHERE sequence = 4`;
      await tamper(swap);
      expect(await problems()).toEqual([`chain_broken ${id}`]);
      await tamper(swap);
    });

    it('finds money that was put on an account without a posting', async () => {
      await tamper(`UPDATE accounts SET balance_micros = balance_micros + 5 WHERE address = '${platformFees}'`);
      expect(await problems()).toEqual([`balance_wrong ${platformFees}`, 'total_not_zero journal']);
      await tamper(`UPDATE accounts SET balance_micros = balance_micros - 5 WHERE address = '${platformFees}'`);
    });

    it('finds postings that were added to an old transaction, although they balance', async () => {
      const id = await idAt(4);
      await run('service', postings(posting(4, 8, 'debit', 5), posting(4, 9, 'credit', 5)));
      expect(await problems()).toContain(`chain_broken ${id}`);
      await tamper(`DELETE FROM postings WHERE sequence = 4 AND position > 7`);
      expect(await problems()).toEqual([]);
    });

    it('finds transactions that were cut out, in the middle and at the end', async () => {
      const last = (
        await harness.db.inspect<{ sequence: string }>('SELECT sequence FROM payments_ledger.journal_head')
      )[0]!.sequence;
      for (const sequence of [3, Number(last)]) {
        const id = await idAt(sequence);
        await tamper(`UPDATE journal_transactions SET sequence = -1 WHERE id = '${id}'`);
        const found = await problems();
        expect(found[0]).toBe(sequence === 3 ? `chain_broken ${await idAt(4)}` : 'chain_broken journal');
        await tamper(`UPDATE journal_transactions SET sequence = ${sequence} WHERE id = '${id}'`);
      }
      expect(await problems()).toEqual([]);
    });

    it('finds a transaction without postings', async () => {
      const id = newId();
      const before = await harness.db.database.query<{ sequence: string }>(
        sql('test.head', 'SELECT sequence FROM journal_head'),
      );
      const sequence = BigInt(before[0]!.sequence) + 1n;
      await tamper(
        `INSERT INTO journal_transactions (id, sequence, reason, payment_id, recorded_at, digest, checksums, link)
         VALUES ('${id}', ${sequence}, 'overpaid', '${sold.paymentId}', now(), sha256(''), '\\x', '\\x00')`,
        `UPDATE journal_head SET sequence = ${sequence}, link = '\\x00'`,
      );
      expect(await problems()).toEqual([`chain_broken ${id}`, `unbalanced ${id}`, `chain_broken ${id}`]);
    });
  });
});
