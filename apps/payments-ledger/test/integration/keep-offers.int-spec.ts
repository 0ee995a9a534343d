import { newId } from '@market/kernel';
import { Jobs } from '@market/runtime';
import type { PaymentsLedgerConfig } from '../../src/config.js';
import { KeepOffers } from '../../src/payments/keep-offers.job.js';
import { asAuthorized, newOrder, reasonOf, startLedger, type LedgerHarness } from '../support/ledger-harness.js';

const HOURS = 6;

describe('the days of offers', () => {
  let harness: LedgerHarness;
  let processes: KeepOffers[];
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
    const config = { keepUnpaidHours: HOURS } as PaymentsLedgerConfig;
    processes = [1, 2, 3].map(() => new KeepOffers(harness.db.database, new Jobs(), config));
  });
  afterAll(() => harness.stop());

  const keep = (): Promise<unknown> => Promise.all(processes.map((process) => process.run()));
  /** How many days after today (before, if it is negative) there are. */
  const days = async (): Promise<number[]> =>
    (
      await harness.db.inspect<{ day: number }>(
        `SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') - (now() AT TIME ZONE 'UTC')::date AS day
         FROM pg_inherits WHERE inhparent = 'payments_ledger.offers'::regclass ORDER BY 1`,
      )
    ).map(({ day }) => day);
  const nameOf = async (day: number): Promise<string> =>
    (
      await harness.db.inspect<{ name: string }>(
        `SELECT 'payments_ledger.offers_' || to_char(now() AT TIME ZONE 'UTC' + $1 * interval '1 day', 'YYYYMMDD') AS name`,
        [day],
      )
    )[0]!.name;
  /** Moves offers into a day that is over. They expired so many hours ago. */
  const offeredBefore = async (ago: number, hours: number, ids: string[]): Promise<void> => {
    const name = await nameOf(-ago);
    await harness.db.inspect(`CREATE TABLE ${name} (LIKE payments_ledger.offers INCLUDING ALL)`);
    await harness.db.inspect(
      `DO $$ BEGIN EXECUTE format('ALTER TABLE payments_ledger.offers ATTACH PARTITION ${name} FOR VALUES IN (%L)',
         (now() AT TIME ZONE 'UTC')::date - ${ago}); END $$`,
    );
    await harness.db.inspect(
      `UPDATE payments_ledger.offers SET offered_on = offered_on - $2::int, expires_at = now() - $3 * interval '1 hour'
       WHERE id = ANY($1)`,
      [ids, ago, hours],
    );
  };

  it('are there before the service is ready, two ahead, and no more with any number of processes', async () => {
    expect(await days()).toEqual([0, 1, 2]);
    await keep();
    expect(await days()).toEqual([0, 1, 2]);
  });

  it('are dropped whole when all their offers are over for long, and no sooner; what was paid stays', async () => {
    const [gone, paid, late] = [newOrder(), newOrder(), newOrder()];
    const [unpaid, bought, open] = [await harness.quote(gone), await harness.quote(paid), await harness.quote(late)];
    await harness.pay(paid, bought);
    await offeredBefore(3, HOURS + 1, [unpaid.offer.payment_id, bought.offer.payment_id]);
    await offeredBefore(2, HOURS - 1, [open.offer.payment_id]);
    expect(await harness.authorize(gone, unpaid)).toEqual({ outcome: 'not_payable', reason: 'offer_expired' });
    await keep();
    expect(await days()).toEqual([-2, 0, 1, 2]);
    expect(await reasonOf(harness.authorize(gone, unpaid))).toBe('payment_not_found');
    expect(await harness.authorize(late, open)).toEqual({ outcome: 'not_payable', reason: 'offer_expired' });
    await harness.settle(asAuthorized(await harness.authorize(paid, bought)));
    expect(await harness.stateOf(bought.offer.payment_id)).toBe('completed');
  });

  it('are dropped later while somebody reads them', async () => {
    const { offer } = await harness.quote(newOrder());
    await offeredBefore(4, HOURS + 1, [offer.payment_id]);
    await harness.db.database.transaction(async (tx) => {
      await tx.query({ text: 'SELECT FROM offers WHERE id = $1' }, [offer.payment_id]);
      await keep();
      expect(await days()).toContain(-4);
    });
    await keep();
    expect(await days()).not.toContain(-4);
  });

  it('are made when no process ran for days', async () => {
    for (const day of [0, 1, 2]) await harness.db.inspect(`DROP TABLE ${await nameOf(day)}`);
    await expect(harness.quote(newOrder())).rejects.toThrow();
    await keep();
    const order = newOrder();
    const offered = await harness.quote(order);
    await harness.pay(order, offered);
    await harness.settle(asAuthorized(await harness.authorize(order, offered)));
  });

  it('decide nothing about money: of two live offers of a call, as at midnight, each is paid and charged once', async () => {
    const order = newOrder();
    const first = await harness.quote(order);
    const second = { ...first, offer: { ...first.offer, relay_request_id: `0x${'5e'.repeat(32)}` } };
    const id = newId();
    const [{ columns }] = (await harness.db.inspect<{ columns: string }>(
      `SELECT string_agg(quote_ident(attname), ', ') AS columns FROM pg_attribute
       WHERE attrelid = 'payments_ledger.offers'::regclass AND attnum > 0
         AND attname NOT IN ('id', 'relay_request_id', 'offered_on')`,
    )) as [{ columns: string }];
    await harness.db.inspect(
      `INSERT INTO payments_ledger.offers (id, relay_request_id, offered_on, ${columns})
       SELECT $2, $3, offered_on + 1, ${columns} FROM payments_ledger.offers WHERE id = $1`,
      [first.offer.payment_id, id, second.offer.relay_request_id],
    );
    await Promise.all([first, second].flatMap((offered) => [1, 2].map(() => harness.pay(order, offered))));
    const calls = await Promise.all(
      [first, second].map(async (offered) => asAuthorized(await harness.authorize(order, offered))),
    );
    await Promise.all(calls.flatMap((call) => [1, 2].map(() => harness.settle(call))));
    const charges = await harness.db.inspect<{ payment_id: string }>(
      'SELECT payment_id FROM payments_ledger.journal_transactions WHERE payment_id = ANY($1)',
      [[first.offer.payment_id, id]],
    );
    expect(charges.map(({ payment_id }) => payment_id).sort()).toEqual([first.offer.payment_id, id].sort());
    expect([first.offer.payment_id, id]).not.toContain((await harness.quote(order)).offer.payment_id);
  });

  it('hold what was offered: the service changes and deletes none of it', async () => {
    for (const statement of ['DELETE FROM offers', 'UPDATE offers SET nth = 0', `DELETE FROM ${await nameOf(0)}`])
      await expect(harness.db.database.query({ text: statement })).rejects.toThrow('permission denied');
  });
});
