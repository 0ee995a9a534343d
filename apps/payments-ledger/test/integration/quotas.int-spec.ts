import { countOf, TEST_SEED } from '@market/test-servers/threats';
import type { OutputOf, RequestOf } from '@market/contracts';
import type { Offering } from '@market/contracts/catalog';
import { takeIncludedCall } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import fc from 'fast-check';
import {
  as,
  asAuthorized,
  digestOf,
  newOrder,
  reasonOf,
  startLedger,
  type Authorized,
  type LedgerHarness,
  type Order,
} from '../support/ledger-harness.js';
import { offered, subscriberOf, type Subscriber } from '../support/subscriber.js';
import { ledgerParts } from '../support/parts.js';

type Taken = OutputOf<typeof takeIncludedCall>;
type Plan = Partial<RequestOf<typeof takeIncludedCall>>;

const runs = countOf('quotas');
const seed = TEST_SEED;

describe('calls that a period or a trial includes', () => {
  let harness: LedgerHarness;
  let sweep: () => Promise<void>;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
    const { expirePayments } = ledgerParts(harness.db.database);
    sweep = () => expirePayments.run();
  });
  afterAll(() => harness.stop());

  const take = (order: Order, plan: Plan = {}): Promise<Taken> =>
    harness.gateway.request(
      takeIncludedCall,
      {
        gatewayRequestId: newId(),
        listing: order.listing,
        pricingModel: 'monthly',
        priceMicros: order.priceMicros,
        includedCalls: null,
        freeCalls: 0,
        bodyDigest: order.bodyDigest,
        callMs: 60_000,
        ...plan,
      },
      as(order.buyer),
    );
  const left = (taken: Taken) => (taken.outcome === 'none' ? taken.included : undefined);
  const authorized = async (order: Order, taken: Taken): Promise<Authorized> => {
    if (taken.outcome !== 'taken') throw new Error(`expected a call and got ${JSON.stringify(taken)}`);
    return asAuthorized(await harness.authorize(order, { offer: { relay_request_id: taken.relayRequestId } } as never));
  };
  const another = (order: Order): Order => ({ ...order, bodyDigest: digestOf(newId()) });
  const usedOf = async ({ buyer, listing }: Order): Promise<number[]> =>
    (
      await harness.db.inspect<{ used: number }>(
        `SELECT used::int FROM payments_ledger.call_quotas WHERE buyer_id = $1 AND listing_id = $2 ORDER BY id`,
        [buyer, listing.listingId],
      )
    ).map(({ used }) => used);

  /** A buyer with a period of a plan. */
  async function subscribed(
    includedCalls: number,
    perCall?: number,
  ): Promise<{ order: Order; buyer: Subscriber; plan: Plan; listing: Offering }> {
    const buyer = subscriberOf(harness);
    const what = perCall
      ? { pricingModel: 'usage_tiered', includedUnits: { unit: 'page', units: includedCalls, per_call: perCall } }
      : { includedCalls };
    const listing = offered(harness, { priceMicros: '9990000', ...what } as never);
    await buyer.buy(listing);
    const { listingId, name, slug, sellerId, preferredCurrency } = listing;
    const order = newOrder({ buyer: buyer.id, listing: { listingId, name, slug, sellerId, preferredCurrency } });
    return { order, buyer, listing, plan: { includedCalls, priceMicros: '9990000' } };
  }
  /** A buyer that has spent a quarter dollar at another seller, and what it may try. */
  async function spender(): Promise<Order> {
    const bought = newOrder();
    await harness.settle(await harness.authorized(bought));
    return newOrder({ buyer: bought.buyer });
  }

  it.each([1, 7])('are never more than %i, however many processes are asked for them at once', async (included) => {
    const { order, buyer, plan } = await subscribed(included);
    const answers = await Promise.all(Array.from({ length: included + 40 }, () => take(another(order), plan)));
    expect(answers.filter(({ outcome }) => outcome === 'taken')).toHaveLength(included);
    expect(
      new Set(
        answers
          .map(left)
          .filter(Boolean)
          .map((rest) => rest!.period!.left),
      ),
    ).toEqual(new Set([0]));
    expect(await usedOf(order)).toEqual([included]);
    const [subscription] = (await buyer.list()).items;
    expect(subscription!.calls).toEqual({
      calls: included,
      used: included,
      left: 0,
      ends_at: subscription!.current_period_end,
    });
  });

  it('are one for the same call, as long as it is under way', async () => {
    const { order, plan } = await subscribed(3);
    const [first, ...others] = await Promise.all(Array.from({ length: 16 }, () => take(order, plan)));
    for (const other of others) expect(other).toEqual(first);
    await harness.settle(await authorized(order, first!));
    expect(await take(order, plan)).not.toEqual(first);
    expect(await usedOf(order)).toEqual([2]);
  });

  it('may be given back as long as one is under way, and only then is no other period sold', async () => {
    const { order, buyer, plan, listing } = await subscribed(1);
    const call = await authorized(order, await take(order, plan));
    expect(await take(another(order), plan)).toMatchObject({ outcome: 'none', mayBeGivenBack: true });
    await expect(buyer.subscribe(listing)).rejects.toMatchObject({ reason: 'already_subscribed' });
    await harness.settle(call);
    expect(await take(another(order), plan)).toMatchObject({ outcome: 'none', mayBeGivenBack: false });
    expect(await buyer.subscribe(listing)).toMatchObject({ outcome: 'payment_required' });
  });

  it('are charged nothing, are in no books, and stay taken when they were delivered', async () => {
    const { order, plan } = await subscribed(2);
    const call = await authorized(order, await take(order, plan));
    expect(call).toMatchObject({ provider: 'included', money: { grossMicros: '0' }, isReleasable: true });
    const settled = await harness.settle(call);
    expect(await harness.settle(call)).toEqual(settled);
    await harness.release(call);
    await harness.release(call, { isOver: true });
    expect([await harness.stateOf(call.paymentId), await usedOf(order)]).toEqual(['completed', [1]]);
    const booked = 'SELECT 1 FROM payments_ledger.journal_transactions WHERE payment_id = $1';
    expect(await harness.db.inspect(booked, [call.paymentId])).toEqual([]);
  });

  it.each([{}, { isUndelivered: true as const }, { isOver: true as const }])(
    'are given back once when they were not delivered (%j), and charged no more',
    async (release) => {
      const { order, plan } = await subscribed(1);
      const call = await authorized(order, await take(order, plan));
      expect(await Promise.all([harness.release(call, release), harness.release(call, release)])).toContainEqual({
        isFree: true,
      });
      expect([await harness.stateOf(call.paymentId), await usedOf(order)]).toEqual(['cancelled', [0]]);
      expect(await reasonOf(harness.settle(call))).toBe('not_payable');
      await authorized(order, await take(order, plan));
      expect(await usedOf(order)).toEqual([1]);
    },
  );

  it('are given back a minute after the call would have ended, if nobody says how it did', async () => {
    const { order, plan } = await subscribed(1);
    const call = await authorized(order, await take(order, { ...plan, callMs: 5_000 }));
    await sweep();
    expect(await usedOf(order)).toEqual([1]);
    const due = new Date(call.retryUntil).getTime() - Date.now();
    expect([due > 60_000, due <= 65_000]).toEqual([true, true]);
    await harness.db.inspect('UPDATE payments_ledger.payments SET retry_until = now() WHERE id = $1', [call.paymentId]);
    await Promise.all([sweep(), sweep()]);
    expect([await harness.stateOf(call.paymentId), await usedOf(order)]).toEqual(['cancelled', [0]]);
    await harness.db.inspect(
      "UPDATE payments_ledger.payments SET expires_at = now() - interval '1 year' WHERE id = $1",
      [call.paymentId],
    );
    await sweep();
    const kept = 'SELECT 1 FROM payments_ledger.payments WHERE id = $1';
    expect(await harness.db.inspect(kept, [call.paymentId])).toEqual([]);
  });

  it('begin anew with another period, which is sold when none is left and none is under way', async () => {
    const { order, buyer, plan } = await subscribed(1);
    const listing = { listingId: order.listing.listingId } as never;
    expect(await reasonOf(buyer.subscribe(listing))).toBe('already_subscribed');
    const call = await authorized(order, await take(order, plan));
    expect(await reasonOf(buyer.subscribe(listing))).toBe('already_subscribed');
    await harness.settle(call);
    await buyer.buy(listing);
    expect((await buyer.list('all')).items.map(({ status, calls }) => [status, calls!.left])).toEqual([
      ['active', 1],
      ['expired', 0],
    ]);
    await authorized(order, await take(order, plan));
  });

  it('are those of the period as it was offered, whatever the seller changes meanwhile', async () => {
    const buyer = subscriberOf(harness);
    const listing = offered(harness, { includedCalls: 5 } as never);
    const offer = await buyer.offerOf(listing);
    harness.catalog.offer({ ...listing, includedCalls: 50 } as never);
    await buyer.pay(offer);
    const verified = await buyer.verify(offer);
    expect([offer.included_calls, verified]).toMatchObject([5, { subscription: { calls: { calls: 5, used: 0 } } }]);
  });

  it('end with their period, and with a subscription that is cancelled', async () => {
    const { order, buyer, plan } = await subscribed(2);
    const [subscription] = (await buyer.list()).items;
    await buyer.cancel(subscription!.id);
    expect(left(await take(order, plan))).toEqual({ period: null, units: null, trial: null });
    const other = await subscribed(2);
    await harness.db.inspect(
      "UPDATE payments_ledger.subscriptions SET current_period_end = now() - interval '1 second' WHERE consumer_id = $1",
      [other.buyer.id],
    );
    expect(left(await take(other.order, other.plan))).toEqual({ period: null, units: null, trial: null });
  });

  describe('of a trial', () => {
    const trial: Plan = { pricingModel: 'per_call', freeCalls: 2 };

    it('are for a buyer that has spent something here, and for nobody else', async () => {
      const stranger = newOrder();
      expect(left(await take(stranger, trial))).toEqual({
        period: null,
        units: null,
        trial: { calls: 2, used: 0, left: 2, ends_at: null, open: false, minimum_spent: 0.25 },
      });
      expect(await usedOf(stranger)).toEqual([]);
      const order = await spender();
      const answers = await Promise.all(Array.from({ length: 20 }, () => take(another(order), trial)));
      expect(answers.filter(({ outcome }) => outcome === 'taken')).toHaveLength(2);
      expect(left(await take(another(order), trial))!.trial).toMatchObject({ calls: 2, used: 2, left: 0, open: true });
    });

    it('cost at least what one such call does, and twenty cents', async () => {
      const order = await spender();
      expect(left(await take(order, { ...trial, priceMicros: '250001' }))!.trial).toMatchObject({
        open: false,
        minimum_spent: 0.250001,
      });
      expect(left(await take(newOrder(), { ...trial, priceMicros: '1000' }))!.trial!.minimum_spent).toBe(0.2);
      expect((await take(order, { ...trial, priceMicros: '1000' })).outcome).toBe('taken');
    });

    it('count no sale that is refunded, under way or free, and none whose seller has the price and paid no fee', async () => {
      const order = newOrder();
      const { buyer } = order;
      const bought = await harness.authorized(newOrder({ buyer }));
      expect((await take(order, trial)).outcome).toBe('none');
      await harness.settle(bought);
      const [{ payee }] = (await harness.db.inspect('SELECT payee FROM payments_ledger.payments WHERE id = $1', [
        bought.paymentId,
      ])) as [{ payee: string }];
      const paidTo = (whom: string, isSigned: boolean): Promise<unknown> =>
        harness.db.inspect(
          `UPDATE payments_ledger.payments SET payee = $2, authorization_id = CASE WHEN $3 THEN id END WHERE id = $1`,
          [bought.paymentId, whom, isSigned],
        );
      await paidTo('seller', true);
      expect((await take(order, trial)).outcome).toBe('none');
      await paidTo(payee, false);
      expect((await take(order, trial)).outcome).toBe('taken');
    });

    it('come after those of a period, and follow what the listing gives', async () => {
      const { order, plan } = await subscribed(1);
      const both = { ...plan, freeCalls: 1 };
      for (let call = 0; call < 2; call += 1) expect((await take(another(order), both)).outcome).toBe('taken');
      expect(left(await take(another(order), both))).toMatchObject({
        period: { left: 0 },
        trial: { used: 1, left: 0 },
      });
      await take(another(order), { ...both, freeCalls: 3 });
      expect(left(await take(another(order), { ...both, freeCalls: 1 }))!.trial).toMatchObject({ used: 2, left: 0 });
    });
  });

  it(
    `are as many as the model says, whatever happens to them in whatever order (TEST_SEED=${seed})`,
    async () => {
      const step = fc.record({
        what: fc.constantFrom('take', 'take', 'take', 'settle', 'release', 'over', 'lapse', 'renew'),
        at: fc.nat(5),
        copies: fc.constantFrom(1, 1, 3),
        units: fc.nat(9),
      });
      const plans = fc.record({
        included: fc.integer({ min: 1, max: 12 }),
        // Of units, or undefined of calls.
        perCall: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
      });
      await fc.assert(
        fc.asyncProperty(plans, fc.array(step, { maxLength: 30 }), async ({ included, perCall }, steps) => {
          const { order, buyer, plan } = await subscribed(included, perCall);
          const most = perCall ?? 1;
          const bodies = Array.from({ length: 6 }, () => another(order));
          const open = new Map<number, Authorized>();
          let used = 0;
          for (const { what, at, copies, units } of steps) {
            const body = bodies[at]!;
            const call = open.get(at);
            const times = <T>(make: () => Promise<T>): Promise<T[]> =>
              Promise.all(Array.from({ length: copies }, make));
            if (what === 'take') {
              const isTaken = call !== undefined || used < included;
              for (const taken of await times(() => take(body, plan)))
                expect(taken.outcome).toBe(isTaken ? 'taken' : 'none');
              if (isTaken && !call) {
                used += most;
                open.set(at, await authorized(body, await take(body, plan)));
              }
            } else if (what === 'renew') {
              const mayRenew = used >= included && open.size === 0;
              const listing = { listingId: order.listing.listingId } as never;
              if (!mayRenew) expect(await reasonOf(buyer.subscribe(listing))).toBe('already_subscribed');
              else {
                await buyer.buy(listing);
                used = 0;
              }
            } else if (call) {
              open.delete(at);
              used -= what !== 'settle' ? most : perCall === undefined ? 0 : most - Math.min(units, most);
              if (what === 'settle') await times(() => harness.settle(call, perCall ? { units } : {}));
              else if (what === 'lapse') {
                await harness.db.inspect('UPDATE payments_ledger.payments SET retry_until = now() WHERE id = $1', [
                  call.paymentId,
                ]);
                await times(sweep);
              } else await times(() => harness.release(call, what === 'over' ? { isOver: true } : {}));
            }
            const [shown] = (await buyer.list()).items;
            expect(shown![perCall ? 'units' : 'calls']).toMatchObject({ used, left: Math.max(0, included - used) });
          }
        }),
        { seed, numRuns: runs },
      );
      await harness.reconcile();
    },
    60_000 + runs * 5_000,
  );
});
