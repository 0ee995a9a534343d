import { Locks } from '@market/persistence';
import { paymentRefundDue } from '@market/contracts/payments-ledger';
import { eventually } from '@market/testing';
import type { PaymentRail } from '../../src/rails/payment-rail.js';
import {
  as,
  asAuthorized,
  newOrder,
  reasonOf,
  startLedger,
  type LedgerHarness,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { ledgerParts } from '../support/parts.js';
import { BY_ETH, startRelayLedger } from '../support/relay-ledger.js';

describe('time', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '50' } });
  });
  afterAll(() => harness.stop());

  const paid = async (): Promise<[Order, Offered]> => {
    const order = newOrder();
    const offered = await harness.quote(order);
    await harness.pay(order, offered);
    return [order, offered];
  };
  const set = (change: string, ids: string[]): Promise<unknown> =>
    harness.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = ANY($1)`, [ids]);
  const becomes = (state: string, ids: string[]): Promise<void> =>
    eventually(
      async () => expect(new Set(await Promise.all(ids.map((id) => harness.stateOf(id))))).toEqual(new Set([state])),
      { withinMs: 60_000 },
    );
  const refundsOf = async (ids: string[]): Promise<string[]> =>
    (await harness.received(paymentRefundDue))
      .filter(({ paymentId }) => ids.includes(paymentId))
      .map(({ reason, amountMicros }) => `${reason} ${amountMicros}`);

  it('expires offers that nobody paid', async () => {
    const offers = await Promise.all(Array.from({ length: 20 }, () => harness.quote(newOrder())));
    const ids = offers.map(({ offer }) => offer.payment_id);
    await set("expires_at = now() - interval '1 second'", ids);
    await becomes('expired', ids);
    expect(await refundsOf(ids)).toEqual([]);
  });

  it('owes back each paid and undelivered call once, with two processes looking', async () => {
    const ids = (await Promise.all(Array.from({ length: 30 }, paid))).map(([, { offer }]) => offer.payment_id);
    await set("retry_until = now() - interval '1 second'", ids);
    await becomes('refund_due', ids);
    expect(await refundsOf(ids)).toEqual(ids.map(() => 'not_delivered 250000'));
  });

  it('owes back the part that was paid of an offer that ran out', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    await harness.pay(order, offered, 'underpaid');
    await set("expires_at = now() - interval '1 second'", [offered.offer.payment_id]);
    await becomes('refund_due', [offered.offer.payment_id]);
    expect(await refundsOf([offered.offer.payment_id])).toEqual(['not_delivered 125000']);
  });

  it('keeps an offer whose money is on its way until it has come', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const id = offered.offer.payment_id;
    await harness.pay(order, offered, 'pending');
    await set("expires_at = now() - interval '1 second'", [id]);
    const other = await harness.quote(newOrder());
    await set("expires_at = now() - interval '1 second'", [other.offer.payment_id]);
    await becomes('expired', [other.offer.payment_id]);
    expect(await harness.stateOf(id)).toBe('pending');
    await harness.db.inspect('UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = $1', [
      id,
    ]);
    await becomes('verified', [id]);
  });

  it('counts money that arrives while the end of its offer waits for the lock of the payment', async () => {
    const order = newOrder();
    const offered = await harness.quote(order);
    const id = offered.offer.payment_id;
    await harness.pay(order, offered, 'underpaid');
    await harness.db.database.transaction(async (tx) => {
      await set("expires_at = clock_timestamp() + interval '500 milliseconds'", [id]);
      await tx.query({ text: 'SELECT 1 FROM payments WHERE id = $1 FOR UPDATE' }, [id]);
      await eventually(async () =>
        expect(
          await harness.db.inspect(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
               AND query LIKE '%FROM payments p WHERE id = $1 FOR UPDATE%'`,
          ),
        ).not.toEqual([]),
      );
      const text = `INSERT INTO sandbox_transfers (transaction_hash, payment_id, amount_base_units, final_at)
        VALUES ($1, $2, 125000, clock_timestamp())`;
      await tx.query({ text }, [`0x${'ab'.repeat(32)}`, id]);
    });
    await becomes('verified', [id]);
    expect(await refundsOf([id])).toEqual([]);
  });

  it('owes back no call that is under way, however late it is, until its lock is free', async () => {
    const [order, offered] = await paid();
    const { paymentId } = asAuthorized(await harness.authorize(order, offered));
    const locks = new Locks(harness.db.url);
    await locks.open();
    const lock = await locks.acquire(offered.offer.relay_request_id);
    const [, { offer: other }] = await paid();
    await set("retry_until = now() - interval '1 second'", [paymentId, other.payment_id]);
    await becomes('refund_due', [other.payment_id]);
    expect(await harness.stateOf(paymentId)).toBe('verified');
    lock!.release();
    await becomes('refund_due', [paymentId]);
    expect(await harness.authorize(order, offered)).toEqual({ outcome: 'not_payable', reason: 'refund_due' });
    await locks.close();
  });

  it('is not stopped by a payment that cannot be looked at', async () => {
    const [bad, good] = await Promise.all([harness.quote(newOrder()), harness.quote(newOrder())]);
    await set("rail = 'gone', expires_at = now() - interval '2 minutes'", [bad.offer.payment_id]);
    await set("expires_at = now() - interval '1 minute'", [good.offer.payment_id]);
    await becomes('expired', [good.offer.payment_id]);
    expect(await harness.stateOf(bad.offer.payment_id)).toBe('pending');
  });

  it('works off more than one page of unpaid offers, past those that wait', async () => {
    const order = newOrder();
    const waiting = await harness.quote(order);
    await harness.pay(order, waiting, 'pending');
    const offers = await Promise.all(Array.from({ length: 250 }, () => harness.quote(newOrder())));
    const ids = offers.map(({ offer }) => offer.payment_id);
    await set("expires_at = now() - interval '1 day'", [waiting.offer.payment_id]);
    await set("expires_at = now() - interval '1 second'", ids);
    await eventually(
      async () =>
        expect(
          await harness.db.inspect("SELECT 1 FROM payments_ledger.payments WHERE state = 'pending' AND id = ANY($1)", [
            ids,
          ]),
        ).toEqual([]),
      { withinMs: 60_000 },
    );
    expect(await harness.stateOf(waiting.offer.payment_id)).toBe('pending');
  });
});

describe('offers that came to nothing', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({
      replicas: 2,
      env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '50', PAYMENTS_LEDGER_KEEP_UNPAID_HOURS: '168' },
    });
  });
  afterAll(() => harness.stop());

  /** Of an offer that is over for so long, the day was dropped. */
  const since = async (days: number, ids: string[]): Promise<void> => {
    await harness.db.inspect(
      `UPDATE payments_ledger.payments SET expires_at = now() - $2 * interval '1 day' WHERE id = ANY($1)`,
      [ids, days],
    );
    await harness.db.inspect('DELETE FROM payments_ledger.offers WHERE id = ANY($1)', [ids]);
  };
  const left = async (ids: string[]): Promise<string[]> =>
    (await harness.db.inspect<{ id: string }>('SELECT id FROM payments_ledger.payments WHERE id = ANY($1)', [ids])).map(
      ({ id }) => id,
    );
  const quoteMany = async (count: number): Promise<[Order, Offered][]> =>
    Promise.all(
      Array.from({ length: count }, async (): Promise<[Order, Offered]> => {
        const order = newOrder();
        return [order, await harness.quote(order)];
      }),
    );

  it('are forgotten long after their time, more than one page of them, and no sooner', async () => {
    const [old, recent] = [await quoteMany(250), await quoteMany(5)].map((quotes) =>
      quotes.map(([, { offer }]) => offer.payment_id),
    ) as [string[], string[]];
    await since(8, old);
    await since(6, recent);
    await eventually(async () => expect(await left(old)).toEqual([]), { withinMs: 60_000 });
    expect(await left(recent)).toHaveLength(5);
    const [order, quoted] = (await quoteMany(1))[0]!;
    await harness.pay(order, quoted, 'failed');
    await since(8, [quoted.offer.payment_id]);
    await eventually(async () => expect(await left([quoted.offer.payment_id])).toEqual([]), { withinMs: 10_000 });
    expect(await reasonOf(harness.authorize(order, quoted))).toBe('payment_not_found');
  });

  it('are kept for good when money came after all, which is owed back', async () => {
    const quotes = await quoteMany(3);
    const ids = quotes.map(([, { offer }]) => offer.payment_id);
    await since(6, ids);
    await eventually(
      async () =>
        expect(new Set(await Promise.all(ids.map((id) => harness.stateOf(id))))).toEqual(new Set(['expired'])),
      { withinMs: 60_000 },
    );
    for (const id of ids)
      await harness.db.inspect('INSERT INTO payments_ledger.sandbox_transfers VALUES ($1, $2, 250000, now())', [
        `0x${id}`,
        id,
      ]);
    await since(8, ids);
    await eventually(
      async () =>
        expect(new Set(await Promise.all(ids.map((id) => harness.stateOf(id))))).toEqual(new Set(['refund_due'])),
      { withinMs: 60_000 },
    );
    expect(
      (await harness.received(paymentRefundDue))
        .filter(({ paymentId }) => ids.includes(paymentId))
        .map(({ reason, amountMicros }) => `${reason} ${amountMicros}`),
    ).toEqual(ids.map(() => 'paid_late 250000'));
  });
});

describe('a rail that does not know', () => {
  it('leaves the payment pending, neither a failure nor "not paid", and is never forgotten', async () => {
    const harness = await startLedger();
    const { database } = harness.db;
    const silent: PaymentRail = {
      id: 'sandbox',
      payout: null,
      routes: () => [],
      open: () => ({ payTo: '', payee: 'operator', amountBaseUnits: 1n }),
      observe: () => Promise.reject(new Error('502 from the chain')),
    };
    const { authorizePayment } = ledgerParts(database, [silent]);
    const order = newOrder();
    const offered = await harness.quote(order);
    await harness.db.inspect("UPDATE payments_ledger.payments SET expires_at = now() - interval '1 day'");
    const claim = await authorizePayment.execute(
      {
        relayRequestId: offered.offer.relay_request_id,
        listingId: order.listing.listingId,
        bodyDigest: order.bodyDigest,
        callMs: 60_000,
      },
      as(order.buyer),
    );
    expect(claim).toEqual({
      outcome: 'pending',
      gatewayRequestId: offered.gatewayRequestId,
      retryAfterSeconds: 2,
      reason: 'payment_unknown',
    });
    expect(await harness.stateOf(offered.offer.payment_id)).toBe('pending');
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET state = 'expired', expires_at = now() - interval '400 days'",
    );
    await ledgerParts(database, [{ ...silent, prunable: true }]).expirePayments.run();
    expect(await harness.stateOf(offered.offer.payment_id)).toBe('expired');
    await harness.stop();
  });
});

describe('rails that do not answer', () => {
  /** Inserts copies of a payment that expired long ago. */
  const copies = (count: number, paymentId: string): [string, unknown[]] => [
    `INSERT INTO payments_ledger.payments (id, relay_request_id, offer_key, expires_at, ${KEPT.join(', ')})
     SELECT gen_random_uuid(), '0x' || encode(sha256(p.id::text::bytea || n::text::bytea), 'hex'),
       sha256(p.id::text::bytea || n::text::bytea), now() - interval '1 minute',
       ${KEPT.map((column) => `p.${column}`).join(', ')}
     FROM payments_ledger.payments p, generate_series(1, $2) n WHERE p.id = $1`,
    [paymentId, count],
  ];
  const KEPT = (
    'purpose, gateway_request_id, state, buyer_id, seller_id, listing_id, listing_name, listing_slug, ' +
    'preferred_currency, body_digest, rail, scheme, network, currency, decimals, pay_to, payee, ' +
    'gross_micros, fee_micros, net_micros, fee_bps, amount_base_units'
  ).split(', ');

  it('keep nothing that does not need them from being owed back within ten seconds of its time, among 50,000 open offers', async () => {
    const harness = await startRelayLedger({
      env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '5000', PAYMENTS_LEDGER_RELAY_TIMEOUT_MS: '8000' },
    });
    const { ledger } = harness;
    const PLAY = { originChainId: '84532' };
    const [underpaid, paid] = [newOrder(), newOrder()];
    const [part, whole, carried, unpaid] = [
      await ledger.quote(underpaid, PLAY),
      await ledger.quote(paid, PLAY),
      await ledger.quote(await harness.order(), BY_ETH),
      await ledger.quote(newOrder(), PLAY),
    ];
    await ledger.pay(underpaid, part, 'underpaid');
    await ledger.pay(paid, whole);
    await ledger.release(asAuthorized(await ledger.authorize(paid, whole)));
    harness.relay.misbehave = () => 'silence';
    await ledger.db.inspect(...copies(25_000, carried.offer.payment_id));
    await ledger.db.inspect(...copies(25_000, unpaid.offer.payment_id));
    const asked = harness.relay.asked.length;
    await eventually(() => expect(harness.relay.asked.length).toBeGreaterThan(asked), { withinMs: 30_000 });
    await ledger.db.inspect(
      `UPDATE payments_ledger.payments
       SET expires_at = now(), retry_until = CASE WHEN state = 'verified' THEN now() END
       WHERE id = ANY($1)`,
      [[part, whole].map(({ offer }) => offer.payment_id)],
    );
    await eventually(
      async () =>
        expect(await Promise.all([part, whole].map(({ offer }) => ledger.stateOf(offer.payment_id)))).toEqual([
          'refund_due',
          'refund_due',
        ]),
      { withinMs: 60_000 },
    );
    const states = await ledger.db.inspect('SELECT DISTINCT rail, state FROM payments_ledger.payments ORDER BY 1, 2');
    expect(states).toEqual(
      expect.arrayContaining([
        { rail: 'relay', state: 'pending' },
        { rail: 'sandbox', state: 'expired' },
      ]),
    );
    await harness.stop();
  });

  it('are asked for one offer after the other, however many they say nothing of', async () => {
    const harness = await startLedger();
    const [first, last] = [await harness.quote(newOrder()), await harness.quote(newOrder())];
    await harness.db.inspect(...copies(60, first.offer.payment_id));
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET expires_at = now() - interval '1 second' WHERE id = $1",
      [last.offer.payment_id],
    );
    const mute: PaymentRail = {
      id: 'sandbox',
      payout: null,
      routes: () => [],
      open: () => ({ payTo: '', payee: 'operator', amountBaseUnits: 1n }),
      observe: async ({ paymentId }) => {
        if (paymentId === last.offer.payment_id)
          return { receivedBaseUnits: 0n, arriving: false, transactionHash: null };
        await new Promise((resolve) => setTimeout(resolve, 700));
        throw new Error('no answer');
      },
    };
    const { expirePayments } = ledgerParts(harness.db.database, [mute]);
    await expirePayments.run();
    expect(await harness.stateOf(last.offer.payment_id)).toBe('pending');
    // A slow machine gets through fewer of them in a run; each run goes on where the one before ended.
    const isPending = async (): Promise<boolean> => (await harness.stateOf(last.offer.payment_id)) === 'pending';
    for (let runs = 0; runs < 10 && (await isPending()); runs += 1) await expirePayments.run();
    expect(await harness.stateOf(last.offer.payment_id)).toBe('expired');
    await harness.stop();
  });
});
