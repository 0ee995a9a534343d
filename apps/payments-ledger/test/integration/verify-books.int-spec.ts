import { newId } from '@market/kernel';
import { runCommand } from '@market/runtime';
import pg from 'pg';
import { verifyPayments } from '../../src/books/verify-payments.js';
import { verifyBooks } from '../../src/books/verify-books.command.js';
import { paymentsLedger } from '../../src/service.js';
import { newOrder, startLedger, type LedgerWorld } from '../support/ledger-world.js';
import { offered, subscriberOf } from '../support/subscriber.js';

describe('books verify', () => {
  let world: LedgerWorld;
  let call: string;
  let subscription: string;
  let refund: string;
  beforeAll(async () => {
    world = await startLedger();
    const claim = await world.claimed(newOrder());
    await world.settle(claim);
    call = claim.paymentId;
    subscription = (await subscriberOf(world).buy(offered(world))).payment.payment_id;
    const late = newOrder();
    const quoted = await world.quote(late);
    await world.pay(late, quoted, 'late');
    refund = quoted.offer.payment_id;
    await world.quote(newOrder());
  });
  afterAll(() => world.stop());

  /** A superuser who has switched the triggers off, and takes it back afterwards. */
  const whileTampered = async <T>(statements: string[], look: () => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: world.db.url, options: '-c search_path=payments_ledger' });
    await client.connect();
    try {
      await client.query('SET session_replication_role = replica');
      for (const table of ['payments', 'receipts', 'subscriptions', 'postings']) await client.query(`CREATE TEMP TABLE kept_${table} AS TABLE ${table}`);
      for (const statement of statements) await client.query(statement);
      const seen = await look();
      for (const table of ['payments', 'receipts', 'subscriptions', 'postings']) await client.query(`DELETE FROM ${table}`).then(() => client.query(`INSERT INTO ${table} SELECT * FROM kept_${table}`));
      return seen;
    } finally {
      await client.end();
    }
  };
  const run = () => runCommand(paymentsLedger, verifyBooks, { operator: 'ada', arguments: [], options: {} }, { DATABASE_URL: world.db.url, PAYMENTS_LEDGER_SIGNING_KEYS: Buffer.alloc(32, 1).toString('base64') });

  it('says so when the books add up', async () => {
    expect(await run()).toBe('the books add up');
  });

  it.each<[string, () => string[], () => [string, string]]>([
    ['a charge of another amount', () => [`UPDATE payments SET gross_micros = gross_micros + 1, net_micros = net_micros + 1 WHERE id = '${call}'`], () => [call, 'is charged 250000, fee 12500, earned 237500 micros']],
    ['a receipt that is gone', () => [`DELETE FROM receipts WHERE payment_id = '${subscription}' AND recipient_type = 'seller'`], () => [subscription, 'is completed and has 1 good receipts of 1']],
    ["a receipt in another's name", () => [`UPDATE receipts SET recipient_id = '${newId()}' WHERE payment_id = '${call}' AND recipient_type = 'buyer'`], () => [call, 'is completed and has 1 good receipts of 2']],
    ['a subscription that nobody paid', () => [`UPDATE payments SET state = 'pending', completed_at = NULL WHERE id = '${subscription}'`], () => [subscription, 'is pending and has 1 subscriptions; is pending and is charged for']],
    ['a payment that started nothing', () => [`DELETE FROM subscriptions WHERE payment_id = '${subscription}'`], () => [subscription, 'is completed and has 0 subscriptions']],
    ['a subscription at another price', () => [`UPDATE subscriptions SET price_micros = 1 WHERE payment_id = '${subscription}'`], () => [subscription, 'is completed and has 0 subscriptions']],
    ['a refund of another amount', () => [`UPDATE payments SET received_base_units = received_base_units + 4 WHERE id = '${refund}'`], () => [refund, 'owes back 250000 micros and should 250004']],
    ['a refund that was forgotten', () => [`UPDATE payments SET received_base_units = received_base_units + 4 WHERE id = '${call}'`], () => [call, 'owes back 0 micros and should 4']],
  ])('finds %s, and where', async (_what, tamper, expected) => {
    const [subject, detail] = expected();
    expect(await whileTampered(tamper(), () => verifyPayments(world.db.database))).toEqual([{ kind: 'payment_unlike_books', subject, detail }]);
    expect(await verifyPayments(world.db.database)).toEqual([]);
  });

  it('prints each, and fails', async () => {
    const tampering = [`UPDATE subscriptions SET price_micros = 1 WHERE payment_id = '${subscription}'`, `UPDATE postings SET amount_micros = amount_micros + 1 WHERE account = 'platform:fees' AND amount_micros = 12500`];
    const failure: unknown = await whileTampered(tampering, () => run().catch((error: unknown) => error));
    expect(failure).toMatchObject({ name: 'CommandFailure' });
    const lines = (failure as Error).message.split('\n');
    expect(lines.map((line) => line.split('\t')[0])).toEqual(expect.arrayContaining(['chain_broken', 'unbalanced', 'balance_wrong', 'payment_unlike_books']));
    expect(lines).toContain(`payment_unlike_books\t${subscription}\tis completed and has 0 subscriptions`);
  });
});
