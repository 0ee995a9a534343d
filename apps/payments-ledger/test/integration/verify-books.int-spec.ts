import type { OutputOf } from '@market/contracts';
import { getReceiptProof, listReceipts, type listLedger } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { runCommand } from '@market/runtime';
import pg from 'pg';
import { verifyPayments } from '../../src/books/verify-payments.js';
import { verifyBooks } from '../../src/books/verify-books.command.js';
import { verifyJournal } from '../../src/journal/verify-journal.js';
import { paymentsLedger } from '../../src/service.js';
import { as, newOrder, reasonOf, startLedger, type LedgerHarness } from '../support/ledger-harness.js';
import { offered, subscriberOf } from '../support/subscriber.js';

/** The columns that each field of a receipt's proof and of a ledger entry shows. */
const LISTING = ['payments.listing_id', 'payments.listing_name', 'payments.listing_slug'];
const SHOWN: Record<
  | Exclude<keyof OutputOf<typeof getReceiptProof>['claims'], 'iss'>
  | `entry.${keyof OutputOf<typeof listLedger>['items'][number]}`
  | 'who sees it, and where',
  string[]
> = {
  iat: ['journal_transactions.recorded_at'],
  receipt_id: ['journal_transactions.id'],
  payment_id: ['payments.id'],
  recipient_type: ['postings.type'],
  buyer_id: ['payments.buyer_id'],
  seller_id: ['payments.seller_id'],
  listing: LISTING,
  gross_amount: ['payments.gross_micros'],
  fee_rate: ['payments.fee_bps'],
  fee_amount: ['payments.fee_micros'],
  net_amount: ['payments.net_micros'],
  currency: [],
  paid: ['payments.currency', 'payments.amount_base_units'],
  usage: ['payments.usage', 'payments.units'],
  network: ['payments.network'],
  transaction_hash: ['payments.transaction_hash'],
  relay_request_id: ['payments.relay_request_id'],
  gateway_request_id: ['payments.gateway_request_id'],
  request_digest: ['journal_transactions.request_digest'],
  response_digest: ['journal_transactions.response_digest'],
  seller_status_code: ['journal_transactions.seller_status_code'],
  'entry.id': ['journal_transactions.id', 'postings.position'],
  'entry.transaction_id': ['journal_transactions.id'],
  'entry.type': ['postings.type'],
  'entry.account': ['postings.account'],
  'entry.direction': ['postings.direction'],
  'entry.amount_cents': ['postings.amount_micros'],
  'entry.currency': [],
  'entry.balance_after_cents': ['postings.amount_micros', 'postings.direction'],
  'entry.listing': LISTING,
  'entry.reference': ['payments.id', 'payments.gateway_request_id', 'journal_transactions.id'],
  'entry.transaction_hash': ['payments.transaction_hash'],
  'entry.network': ['payments.network'],
  'entry.wallet': ['payments.pay_to'],
  'entry.usage': ['payments.usage', 'payments.units'],
  'entry.created_at': ['journal_transactions.recorded_at'],
  'who sees it, and where': [
    'postings.owner_id',
    'postings.position',
    'journal_transactions.reason',
    'journal_transactions.payment_id',
    'payments.completed_at',
    'payments.purpose',
    'payments.rail',
    'payments.payee',
    'payments.amount_base_units',
  ],
};
/** Changes of columns other than ids, numbers and times. Each satisfies all constraints of the database. */
const BY_USE = `usage = '{"unit": "x"}', quoted_micros = gross_micros, units = 1`;
const CHANGES: Record<string, string> = {
  'payments.usage': BY_USE,
  'payments.units': BY_USE,
  'payments.gross_micros': 'gross_micros = gross_micros + 1, fee_micros = fee_micros + 1',
  'payments.fee_micros': 'fee_micros = fee_micros + 1, net_micros = net_micros - 1',
  'payments.net_micros': 'fee_micros = fee_micros - 1, net_micros = net_micros + 1',
  'payments.relay_request_id': "relay_request_id = '0x' || repeat('0', 64)",
  'payments.purpose':
    "purpose = 'subscription', gateway_request_id = NULL, body_digest = NULL, pricing_model = 'monthly'",
  'payments.payee': "payee = 'split'",
  'postings.type': "type = 'adjustment'",
  'postings.direction': "direction = CASE direction WHEN 'debit' THEN 'credit' ELSE 'debit' END",
  'postings.position': 'position = 9 - position',
};
const changeOf = (column: string): string => {
  const name = column.split('.')[1]!;
  if (CHANGES[column]) return CHANGES[column];
  if (/(^|_)id$/.test(name)) return `${name} = gen_random_uuid()`;
  if (/_at$/.test(name)) return `${name} = ${name} + interval '1 ms'`;
  if (/_digest$/.test(name)) return `${name} = sha256(${name})`;
  return /_(micros|bps|units|code)$|^sequence$/.test(name) ? `${name} = ${name} + 1` : `${name} = ${name} || 'x'`;
};

/** SQL: postings of the journal transactions of a payment. */
const ofPayment = (paymentId: string): string =>
  `sequence IN (SELECT sequence FROM journal_transactions WHERE payment_id = '${paymentId}')`;

describe('books verify', () => {
  let harness: LedgerHarness;
  let buyer: string;
  let call: string;
  let subscription: string;
  let refund: string;
  beforeAll(async () => {
    harness = await startLedger();
    const order = newOrder();
    const claim = await harness.authorized(order);
    await harness.settle(claim);
    [buyer, call] = [order.buyer, claim.paymentId];
    subscription = (await subscriberOf(harness).buy(offered(harness))).payment.payment_id;
    const late = newOrder();
    const quoted = await harness.quote(late);
    await harness.pay(late, quoted, 'late');
    refund = quoted.offer.payment_id;
    await harness.quote(newOrder());
  });
  /** The tests change stored rows. */
  afterAll(() => harness.stop({ checkBooks: false }));

  const TABLES = ['payments', 'subscriptions', 'postings', 'journal_transactions'];
  /** Tampers as a superuser with disabled triggers, and restores the data afterwards. */
  const whileTampered = async <T>(statements: string[], look: () => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: harness.db.url, options: '-c search_path=payments_ledger' });
    await client.connect();
    try {
      await client.query('SET session_replication_role = replica');
      for (const table of TABLES) await client.query(`CREATE TEMP TABLE kept_${table} AS TABLE ${table}`);
      for (const statement of statements) await client.query(statement);
      const seen = await look();
      for (const table of TABLES)
        await client
          .query(`DELETE FROM ${table}`)
          .then(() => client.query(`INSERT INTO ${table} SELECT * FROM kept_${table}`));
      return seen;
    } finally {
      await client.end();
    }
  };
  const run = () =>
    runCommand(
      paymentsLedger,
      verifyBooks,
      { operator: 'ada', arguments: [], options: {} },
      {
        DATABASE_URL: harness.db.url,
        LOG_LEVEL: 'fatal',
        PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64'),
      },
    );

  it('says so when the books add up', async () => {
    expect(await run()).toBe('the books add up');
  });

  it.each<[string, () => string[], () => [string, string]]>([
    [
      'a charge of another amount',
      () => [`UPDATE payments SET gross_micros = gross_micros + 1, net_micros = net_micros + 1 WHERE id = '${call}'`],
      () => [call, 'is charged 250000, fee 12500, earned 237500 micros'],
    ],
    [
      'a receipt without its digests',
      () => [
        `UPDATE journal_transactions SET request_digest = NULL, response_digest = NULL, seller_status_code = NULL
         WHERE payment_id = '${call}'`,
      ],
      () => [call, 'is completed and its receipts are not those of its sale'],
    ],
    [
      "a receipt in another's name",
      () => [`UPDATE postings SET owner_id = '${newId()}' WHERE type = 'direct_payment' AND ${ofPayment(call)}`],
      () => [call, 'is completed and its receipts are not those of its sale'],
    ],
    [
      'a subscription that nobody paid',
      () => [`UPDATE payments SET state = 'pending', completed_at = NULL WHERE id = '${subscription}'`],
      () => [subscription, 'is pending and has 1 subscriptions; is pending and is charged for'],
    ],
    [
      'a payment that started nothing',
      () => [`DELETE FROM subscriptions WHERE payment_id = '${subscription}'`],
      () => [subscription, 'is completed and has 0 subscriptions'],
    ],
    [
      'a subscription at another price',
      () => [`UPDATE subscriptions SET price_micros = 1 WHERE payment_id = '${subscription}'`],
      () => [subscription, 'is completed and has 0 subscriptions'],
    ],
    [
      'a refund of another amount',
      () => [`UPDATE payments SET received_base_units = received_base_units + 4 WHERE id = '${refund}'`],
      () => [refund, 'owes back 250000 micros and should 250004'],
    ],
    [
      'a refund that was forgotten',
      () => [`UPDATE payments SET received_base_units = received_base_units + 4 WHERE id = '${call}'`],
      () => [call, 'owes back 0 micros and should 4'],
    ],
  ])('finds %s, and where', async (_what, tamper, expected) => {
    const [subject, detail] = expected();
    expect(await whileTampered(tamper(), () => verifyPayments(harness.db.database))).toEqual([
      { kind: 'payment_unlike_books', subject, detail },
    ]);
    expect(await verifyPayments(harness.db.database)).toEqual([]);
  });

  describe('names what was changed of all that is shown', () => {
    const ROWS: Record<string, string> = {
      payments: 'id',
      journal_transactions: 'payment_id',
    };
    const tampering = (column: string, paymentId: string): string[] => {
      const table = column.split('.')[0]!;
      const where = table === 'postings' ? ofPayment(paymentId) : `${ROWS[table]} = '${paymentId}'`;
      return [`UPDATE ${table} SET ${changeOf(column)} WHERE ${where}`];
    };
    const foundIn = async (): Promise<string[]> =>
      (await verifyJournal(harness.db.database)).problems
        .filter(({ kind }) => kind === 'chain_broken')
        .map(({ detail }) => detail.replaceAll(/\[\w+\]/g, ''));

    it.each([...new Set(Object.values(SHOWN).flat())])('of a call, and signs no proof of it: %s', async (column) => {
      const [receipt] = (await harness.edge.request(listReceipts, { page: 1, limit: 20 }, as(buyer))).items;
      const prove = () => harness.edge.request(getReceiptProof, { receiptId: receipt!.id }, as(buyer));
      expect((await prove()).claims.payment_id).toBe(call);
      const [found, refused] = await whileTampered(
        tampering(column, call),
        async () => [await foundIn(), await reasonOf(prove())] as const,
      );
      expect(found.join()).toMatch(
        new RegExp(`changed since it was recorded under \\d+: .*\\b${column.replace('.', '\\.')}\\b`),
      );
      expect(['receipt_unlike_books', 'receipt_not_found']).toContain(refused);
      expect(await foundIn()).toEqual([]);
    });

    it.each([
      ['a subscription', ['payments.listing_name', 'journal_transactions.recorded_at', 'payments.completed_at']],
      ['a refund', ['payments.listing_name', 'payments.transaction_hash', 'postings.owner_id']],
    ])('of %s', async (what, columns) => {
      const paymentId = what === 'a refund' ? refund : subscription;
      for (const column of columns) {
        const found = await whileTampered(tampering(column, paymentId), foundIn);
        expect(found).toEqual([expect.stringContaining(column)]);
      }
    });

    it('and of its own checksums', async () => {
      const found = await whileTampered(
        [`UPDATE journal_transactions SET checksums = sha256(checksums) WHERE payment_id = '${call}'`],
        foundIn,
      );
      expect(found).toEqual([expect.stringContaining('journal_transactions.checksums')]);
    });
  });

  it('prints each, and fails', async () => {
    const tampering = [
      `UPDATE subscriptions SET price_micros = 1 WHERE payment_id = '${subscription}'`,
      `UPDATE postings SET amount_micros = amount_micros + 1 WHERE account = 'platform:fees' AND amount_micros = 12500`,
    ];
    const failure: unknown = await whileTampered(tampering, () => run().catch((error: unknown) => error));
    expect(failure).toMatchObject({ name: 'CommandFailure' });
    const lines = (failure as Error).message.split('\n');
    expect(lines.map((line) => line.split('\t')[0])).toEqual(
      expect.arrayContaining(['chain_broken', 'unbalanced', 'balance_wrong', 'payment_unlike_books']),
    );
    expect(lines).toContain(`payment_unlike_books\t${subscription}\tis completed and has 0 subscriptions`);
  });
});
