import type { Budget } from '@market/contracts';
import { budgetReached, createPayment, getSpending, subscribe, verifyPayment } from '@market/contracts/payments-ledger';
import { newId, usdNumber } from '@market/kernel';
import { Refusal } from '@market/messaging';
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import {
  as,
  asAuthorized,
  budgetWith,
  newListing,
  newOrder,
  startLedger,
  type LedgerHarness,
  type Offered,
  type Order,
} from '../support/ledger-harness.js';
import { readSpending } from '../../src/budgets/spending.js';
import { ledgerParts } from '../support/parts.js';
import { signed as signedBy } from '../support/signed-payload.js';

const PRICE = 250_000n;

describe('a budget', () => {
  let harness: LedgerHarness;
  let payer: PrivateKeyAccount;
  let sweep: () => Promise<void>;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
    const { expirePayments } = ledgerParts(harness.db.database);
    sweep = () => expirePayments.run();
  });
  beforeEach(() => {
    payer = privateKeyToAccount(generatePrivateKey());
  });
  afterAll(() => harness.stop());

  const ofCalls = (count: number | bigint): string => (PRICE * BigInt(count)).toString();
  const orderUnder = (...budgets: Budget[]): Order => newOrder({ budgets });
  /** Another order of the same buyer under the same budgets. */
  const another = ({ buyer, budgets }: Order): Order => newOrder({ buyer, budgets });
  const spentUnder = async ({ buyer, budgets }: Order, index = 0): Promise<[day: number, month: number]> => {
    const { day, month } = await harness.edge.request(getSpending, { budgetId: budgets![index]!.id }, as(buyer));
    return [day.spent_usd, month.spent_usd];
  };
  const both = (calls: number): [number, number] => {
    const usd = usdNumber(PRICE * BigInt(calls));
    return [usd, usd];
  };
  const refusalOf = async (outcome: Promise<unknown>): Promise<Record<string, unknown>> => {
    const error = await outcome.then(
      (value) => new Error(`it was not refused: ${JSON.stringify(value)}`),
      (reason: unknown) => reason,
    );
    if (!(error instanceof Refusal)) throw error;
    expect(error.reason).toBe('budget_exceeded');
    return error.details;
  };
  const sign = (offered: Offered): Promise<string> => signedBy(offered, payer);
  const claimSigned = async (order: Order, offered: Offered) =>
    harness.authorize(order, offered, { authorization: await sign(offered) });
  const passes = (paymentId: string, column: 'expires_at' | 'retry_until') =>
    harness.db.inspect(
      `UPDATE payments_ledger.payments SET ${column} = now() - interval '1 hour' WHERE id = '${paymentId}'`,
    );
  const unbudgeted = (order: Order): Order => ({ ...order, budgets: undefined });

  describe('refuses, before anything is paid,', () => {
    const price_usd = usdNumber(PRICE);

    it.each<[string, Partial<Budget>, object]>([
      ['what costs more than one call may', { perCallMicros: '249999' }, { limit: 'per_call', limit_usd: 0.249999 }],
      ['other listings', { listings: [newId()] }, { limit: 'listings', limit_usd: null }],
      ['everything while it is frozen', { frozen: true }, { limit: 'frozen', limit_usd: null }],
    ])('%s', async (_what, changes, details) => {
      const order = orderUnder(budgetWith(changes));
      const expected = { budget: 'key', price_usd, spent_usd: null, resets_at: null, ...details };
      expect(await refusalOf(harness.quote(order))).toEqual(expected);
      const offered = await harness.quote(unbudgeted(order));
      expect(await refusalOf(harness.pay(order, offered))).toEqual(expected);
      expect(await refusalOf(claimSigned(order, offered))).toEqual(expected);
      expect(await harness.stateOf(offered.offer.payment_id)).toBe('pending');
      await harness.pay(unbudgeted(order), offered);
      expect(await refusalOf(harness.authorize(order, offered))).toEqual(expected);
      expect(await harness.stateOf(offered.offer.payment_id)).toBe('verified');
      expect(await spentUnder(order)).toEqual(both(0));
    });

    it.each([
      ['a day', 'per_day', 'perDayMicros', 'day'],
      ['a month', 'per_month', 'perMonthMicros', 'month'],
    ] as const)('more than %s may cost, and says when it is over', async (_what, limit, field, period) => {
      const order = orderUnder(budgetWith({ [field]: ofCalls(2) }), budgetWith({ of: 'agent' }));
      for (const each of [order, another(order)]) await harness.pay(each, await harness.quote(each));
      const { resets_at, from } = (
        await harness.edge.request(getSpending, { budgetId: order.budgets![0]!.id }, as(order.buyer))
      )[period];
      expect([new Date(from) <= new Date(), new Date(resets_at) > new Date()]).toEqual([true, true]);
      expect(resets_at).toMatch(period === 'day' ? /T00:00:00.000Z$/ : /-01T00:00:00.000Z$/);
      const expected = { budget: 'key', limit, limit_usd: 0.5, spent_usd: 0.5, price_usd, resets_at };
      const third = another(order);
      expect(await refusalOf(harness.quote(third))).toEqual(expected);
      const offered = await harness.quote(unbudgeted(third));
      expect(await refusalOf(harness.pay(third, offered))).toEqual(expected);
      expect(await refusalOf(claimSigned(third, offered))).toEqual(expected);
      expect(await spentUnder(order)).toEqual(both(2));
      expect(await spentUnder(order, 1)).toEqual(both(2));
    });

    it('what the agent may not spend, whatever its key may', async () => {
      const agent = budgetWith({ of: 'agent', perDayMicros: ofCalls(1) });
      const order = orderUnder(budgetWith({ perDayMicros: ofCalls(9) }), agent);
      await harness.pay(order, await harness.quote(order));
      const byAnotherKey = newOrder({ buyer: order.buyer, budgets: [agent] });
      expect(await refusalOf(harness.quote(byAnotherKey))).toMatchObject({ budget: 'agent', limit: 'per_day' });
      expect(await refusalOf(harness.quote(another(order)))).toMatchObject({ budget: 'agent', limit: 'per_day' });
    });
  });

  it('counts nothing where there is none', async () => {
    const order = newOrder();
    await harness.settle(await harness.authorized(order));
    expect(
      await harness.db.inspect('SELECT 1 FROM payments_ledger.spending WHERE account_id = $1', [order.buyer]),
    ).toEqual([]);
  });

  it('shows nothing of other accounts', async () => {
    const order = orderUnder(budgetWith());
    await harness.pay(order, await harness.quote(order));
    const { day } = await harness.edge.request(getSpending, { budgetId: order.budgets![0]!.id }, as(newId()));
    expect(day.spent_usd).toBe(0);
  });

  it('counts a payment once: when it is paid, authorized, by many at once and again, and settled', async () => {
    const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
    const offered = await harness.quote(order);
    await Promise.all(Array.from({ length: 8 }, () => harness.pay(order, offered)));
    expect((await harness.quote(order)).offer.payment_id).toBe(offered.offer.payment_id);
    const claims = await Promise.all(Array.from({ length: 16 }, () => harness.authorize(order, offered)));
    expect(claims.map(({ outcome }) => outcome)).toEqual(claims.map(() => 'authorized'));
    await harness.release(asAuthorized(claims[0]!));
    await harness.settle(asAuthorized(await harness.authorize(order, offered)));
    expect(await harness.authorize(order, offered)).toMatchObject({ outcome: 'completed' });
    expect(await spentUnder(order)).toEqual(both(1));
  });

  it('counts what was paid without it when its key claims the call', async () => {
    const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
    const offered = await harness.quote(unbudgeted(order));
    await harness.pay(unbudgeted(order), offered);
    expect(await spentUnder(order)).toEqual(both(0));
    asAuthorized(await harness.authorize(order, offered));
    expect(await spentUnder(order)).toEqual(both(1));
  });

  describe('gets back', () => {
    it('what was paid and came to nothing, with the refund', async () => {
      const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
      const offered = await harness.quote(order);
      await harness.pay(order, offered);
      await harness.release(asAuthorized(await harness.authorize(order, offered)));
      expect(await spentUnder(order)).toEqual(both(1));
      await passes(offered.offer.payment_id, 'retry_until');
      await sweep();
      expect(await harness.stateOf(offered.offer.payment_id)).toBe('refund_due');
      expect(await spentUnder(order)).toEqual(both(0));
      await harness.quote(another(order));
    });

    it.each(['failed', 'late'] as const)('a payment that is %s', async (outcome) => {
      const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
      await harness.pay(order, await harness.quote(order), outcome);
      expect(await spentUnder(order)).toEqual(both(0));
    });

    it('what never became final', async () => {
      const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
      const offered = await harness.quote(order);
      await harness.pay(order, offered, 'underpaid');
      expect(await spentUnder(order)).toEqual(both(1));
      await passes(offered.offer.payment_id, 'expires_at');
      await sweep();
      expect(await harness.stateOf(offered.offer.payment_id)).toBe('refund_due');
      expect(await spentUnder(order)).toEqual(both(0));
    });

    it('a signed call that was not billable at once, and counts it again when it is repeated', async () => {
      const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
      const offered = await harness.quote(order);
      const claim = asAuthorized(await claimSigned(order, offered));
      expect(await spentUnder(order)).toEqual(both(1));
      await harness.release(claim);
      await harness.release(claim);
      expect(await spentUnder(order)).toEqual(both(0));
      const other = another(order);
      await harness.pay(other, await harness.quote(other));
      expect(await refusalOf(harness.authorize(order, offered))).toMatchObject({ limit: 'per_day' });
      expect(await spentUnder(order)).toEqual(both(1));
    });

    it('a signature that lapses while it is claimed no more', async () => {
      const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
      const offered = await harness.quote(order);
      asAuthorized(await claimSigned(order, offered));
      await passes(offered.offer.payment_id, 'retry_until');
      await sweep();
      await sweep();
      expect(await harness.stateOf(offered.offer.payment_id)).toBe('cancelled');
      expect(await spentUnder(order)).toEqual(both(0));
    });
  });

  it('counts a signed call that its process left behind, also when nobody asks for it with a key', async () => {
    const order = orderUnder(budgetWith({ perDayMicros: ofCalls(1) }));
    const offered = await harness.quote(order);
    asAuthorized(await claimSigned(order, offered));
    const resumed = asAuthorized(await harness.authorize(unbudgeted(order), offered));
    expect(await spentUnder(order)).toEqual(both(1));
    await harness.release(resumed);
    expect(await spentUnder(order)).toEqual(both(0));
    const again = asAuthorized(await harness.authorize(unbudgeted(order), offered));
    expect(await spentUnder(order)).toEqual(both(1));
    await harness.settle(again);
    expect(await spentUnder(order)).toEqual(both(1));
  });

  it('holds for subscriptions', async () => {
    const listing = newListing({ priceMicros: ofCalls(4) });
    harness.catalog.offer(listing);
    const buyer = newId();
    const budgets = [budgetWith({ perDayMicros: ofCalls(4), perCallMicros: ofCalls(4) })];
    const asked = { listing_id: listing.listingId };
    const tight = as(buyer, { budgets: [budgetWith({ perCallMicros: ofCalls(3) })] });
    expect(await refusalOf(harness.edge.request(subscribe, asked, tight))).toMatchObject({ limit: 'per_call' });
    expect(await refusalOf(harness.edge.request(createPayment, asked, tight))).toMatchObject({ limit: 'per_call' });
    const { payment_id, requirements } = await harness.edge.request(createPayment, asked, as(buyer, { budgets }));
    const order = newOrder({ buyer, budgets });
    const offered = { offer: { relay_request_id: requirements.relayRequestId } } as Offered;
    await harness.pay({ ...order, budgets: undefined }, offered);
    const verify = (context = as(buyer, { budgets })) =>
      harness.edge.request(verifyPayment, { payment_id, relay_request_id: requirements.relayRequestId }, context);
    expect(await refusalOf(verify(tight))).toMatchObject({ limit: 'per_call' });
    expect(await harness.stateOf(payment_id)).toBe('verified');
    expect(await verify()).toMatchObject({ outcome: 'completed' });
    expect(await verify()).toMatchObject({ outcome: 'completed' });
    expect(await spentUnder(order)).toEqual(both(4));
    expect(await refusalOf(harness.quote(order))).toMatchObject({ limit: 'per_day' });
  });

  it('is never exceeded by a micro, by 64 payments at once in two processes', async () => {
    const [key, agent] = [
      budgetWith({ perDayMicros: ofCalls(9) }),
      budgetWith({ of: 'agent', perMonthMicros: ofCalls(7) }),
    ];
    const first = orderUnder(key, agent);
    const orders = [first, ...Array.from({ length: 63 }, () => another(first))];
    const offers = await Promise.all(orders.map((order) => harness.quote(unbudgeted(order))));
    const outcomes = await Promise.all(
      orders.map(async (order, n) => {
        const offered = offers[n]!;
        const attempt = async (): Promise<boolean> => {
          if (n % 2 === 0) return harness.pay(order, offered).then(() => true);
          const wallet = privateKeyToAccount(generatePrivateKey());
          asAuthorized(await harness.authorize(order, offered, { authorization: await signedBy(offered, wallet) }));
          return true;
        };
        return attempt().catch((error: unknown) => {
          if (error instanceof Refusal && error.reason === 'budget_exceeded') return false;
          throw error;
        });
      }),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(7);
    expect(await spentUnder(first, 0)).toEqual(both(7));
    expect(await spentUnder(first, 1)).toEqual(both(7));
  });

  it('say when four fifths of a day are spent, and when all of it is', async () => {
    const [buyer, budgets] = [newId(), [budgetWith({ perDayMicros: '1250000' })]];
    for (let calls = 0; calls < 5; calls += 1) {
      const order = newOrder({ buyer, budgets });
      await harness.pay(order, await harness.quote(order));
    }
    const emitted = (await harness.received(budgetReached)).filter(({ accountId }) => accountId === buyer);
    expect(emitted.map(({ isExhausted, period, spentMicros }) => [isExhausted, period, spentMicros])).toEqual([
      [false, 'day', '1000000'],
      [true, 'day', '1250000'],
    ]);
  });

  it('sums what an account spent before in a period from an index alone', async () => {
    const account = `'${newId()}'::uuid`;
    const statement = readSpending.text
      .replaceAll('$1', `ARRAY[${account}]`)
      .replaceAll('$2', account)
      .replaceAll('$3', 'NULL::uuid')
      .replaceAll(/(FROM|JOIN) (payments|spending)/g, '$1 payments_ledger.$2');
    // A small table is cheaper to read as a whole.
    const set = async (to: string): Promise<void> => {
      for (const way of ['seqscan', 'bitmapscan'])
        await harness.db.inspect(
          `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${to.replace('?', `enable_${way}`)}', current_database()); END $$`,
        );
    };
    await set('SET ? = off');
    const plan = await harness.db.inspect<{ 'QUERY PLAN': string }>(`EXPLAIN ${statement}`);
    await set('RESET ?');
    expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toMatch(/Index Only Scan using payments_spent/);
  });
});
