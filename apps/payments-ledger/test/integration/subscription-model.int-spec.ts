import { countOf, TEST_SEED } from '@market/test-servers/threats';
import type { Offering } from '@market/contracts/catalog';
import { Refusal } from '@market/messaging';
import { Outbox } from '@market/persistence';
import fc from 'fast-check';
import type { PaymentState } from '../../src/payments/payment-state.js';
import { ExpireSubscriptions } from '../../src/subscriptions/expire-subscriptions.job.js';
import { Subscriptions } from '../../src/subscriptions/subscriptions.js';
import { startLedger, type LedgerHarness, type Outcome } from '../support/ledger-harness.js';
import { offered, subscriberOf, type Subscriber, type SubscriptionOffer } from '../support/subscriber.js';
import { ledgerParts } from '../support/parts.js';

const PRICE = 400_000n;
const runs = countOf('subscriptionModel');
const seed = TEST_SEED;

/**
 * The model of one payment. `final` and `arriving` are the amounts sent for it, in base units of USDC or in parts of
 * the price.
 */
interface ModelPayment {
  offer: SubscriptionOffer;
  route: 'USDC' | 'SOL';
  price: bigint;
  state: PaymentState;
  final: bigint;
  arriving: bigint;
  over: boolean;
  windowOver: boolean;
  /** The answer of the first verification that completed the payment. */
  result?: string;
}

interface ModelSubscription {
  id: string;
  status: 'active' | 'cancelled' | 'expired';
}

interface Model {
  payments: ModelPayment[];
  subscriptions: ModelSubscription[];
  isOffered: boolean;
}

interface Real {
  harness: LedgerHarness;
  buyer: Subscriber;
  listing: Offering;
  sweep(): Promise<void>;
}

const LIVE: PaymentState[] = ['pending', 'underpaid', 'verified'];
const active = (model: Model): ModelSubscription | undefined =>
  model.subscriptions.find(({ status }) => status === 'active');

function refusedAs(error: unknown): string {
  if (error instanceof Refusal) return error.reason;
  throw error;
}

/** The effect of a reconciliation on a payment, implemented independently of the code under test. */
function reconcile(payment: ModelPayment): void {
  if (payment.state === 'expired' && payment.final > 0n) payment.state = 'refund_due';
  if (payment.state !== 'pending' && payment.state !== 'underpaid') return;
  if (payment.final >= payment.price) payment.state = 'verified';
  else if (payment.final > 0n) payment.state = payment.over && payment.arriving === 0n ? 'refund_due' : 'underpaid';
  else if (payment.state === 'pending' && payment.over && payment.arriving === 0n) payment.state = 'expired';
}

type Step = fc.AsyncCommand<Model, Real>;
const step = (
  name: string,
  run: (model: Model, real: Real) => Promise<void>,
  check: (model: Model) => boolean = () => true,
): Step => ({
  check: (model) => check(model),
  async run(model, real) {
    await run(model, real);
    const states = await Promise.all(model.payments.map(({ offer }) => real.buyer.payment(offer.payment_id)));
    expect([name, states.map(({ status }) => status)]).toEqual([name, model.payments.map(({ state }) => state)]);
    const subscriptions = (await real.buyer.list('all')).items.map(({ id, status }) => ({ id, status }));
    expect([name, subscriptions.reverse()]).toEqual([name, model.subscriptions]);
    expect((await real.buyer.list('active')).total).toBe(active(model) ? 1 : 0);
  },
  toString: () => name,
});

const subscribe = (route: 'USDC' | 'SOL'): Step =>
  step(`subscribe in ${route}`, async (model, { buyer, listing }) => {
    if (!model.isOffered || active(model)) {
      const refusal = await buyer
        .subscribe(listing, { origin_currency: route })
        .then(({ outcome }) => outcome, refusedAs);
      return expect(refusal).toBe(model.isOffered ? 'already_subscribed' : 'listing_not_found');
    }
    const live = model.payments.find((payment) => payment.route === route && LIVE.includes(payment.state));
    if (live?.over && live.state !== 'verified') reconcile(live);
    const offer = await buyer.offerOf(listing, { origin_currency: route });
    if (live && LIVE.includes(live.state))
      expect(offer).toEqual({ ...live.offer, status: live.state, requirements: offer.requirements });
    else
      model.payments.push({
        offer,
        route,
        price: BigInt(offer.requirements.amount_base_units),
        state: 'pending',
        final: 0n,
        arriving: 0n,
        over: false,
        windowOver: false,
      });
  });

const pick = (model: Model, index: number): ModelPayment => model.payments[index % model.payments.length]!;
const hasPayment = (model: Model): boolean => model.payments.length > 0;

const pay = (index: number, outcome: Outcome): Step =>
  step(
    `pay ${index} ${outcome}`,
    async (model, { buyer }) => {
      const payment = pick(model, index);
      const answer = await buyer.pay(payment.offer, outcome).then(({ status }) => status, refusedAs);
      if (payment.state === 'verified' || payment.state === 'completed') return expect(answer).toBe(payment.state);
      if (payment.state !== 'pending' && payment.state !== 'underpaid') return expect(answer).toBe('offer_not_payable');
      const missing = payment.price - payment.final - payment.arriving;
      if (missing > 0n && outcome !== 'failed') {
        const amount =
          outcome === 'underpaid'
            ? missing / 2n
            : outcome === 'overpaid'
              ? missing + (payment.price + 1n) / 2n
              : missing;
        if (outcome === 'pending') payment.arriving += amount;
        else payment.final += amount;
      }
      if (outcome === 'late') payment.state = 'refund_due';
      else if (outcome === 'failed' && payment.state === 'pending' && payment.final + payment.arriving === 0n)
        payment.state = 'failed';
      else reconcile(payment);
      expect(answer).toBe(payment.state);
    },
    hasPayment,
  );

const becomeFinal = (index: number): Step =>
  step(
    `what is on its way to ${index} becomes final`,
    async (model, { harness }) => {
      const payment = pick(model, index);
      await harness.db.inspect('UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = $1', [
        payment.offer.payment_id,
      ]);
      payment.final += payment.arriving;
      payment.arriving = 0n;
    },
    hasPayment,
  );

/**
 * Returns the expected answer of a verification and applies its effects to the payment and the subscriptions of the
 * model.
 */
function expectedOfVerify(model: Model, payment: ModelPayment): string {
  reconcile(payment);
  if (payment.state === 'verified') {
    if (!model.isOffered) return 'listing_unavailable';
    const held = active(model);
    if (!payment.windowOver && !held) {
      payment.state = 'completed';
      return 'completed';
    }
    payment.state = 'refund_due';
    return held ? 'already_subscribed' : 'payment_refund_due';
  }
  return {
    pending: payment.arriving > 0n ? 'pending' : 'payment_unpaid',
    underpaid: 'payment_underpaid',
    expired: 'payment_expired',
    failed: 'payment_failed',
    refund_due: 'payment_refund_due',
    completed: 'completed',
  }[payment.state as string]!;
}

const verify = (index: number, copies: number): Step =>
  step(
    `verify ${index} ×${copies}`,
    async (model, { buyer }) => {
      const payment = pick(model, index);
      const before = payment.state;
      const expected = expectedOfVerify(model, payment);
      const answers = await Promise.all(
        Array.from({ length: copies }, () =>
          buyer.verify(payment.offer).then(
            (answer) => ({ said: answer.outcome as string, text: JSON.stringify(answer), answer }),
            (error: unknown) => ({ said: refusedAs(error), text: '', answer: undefined }),
          ),
        ),
      );
      // Concurrent verifications of a refused payment get either the refusal or the state after it.
      const also = expected === 'already_subscribed' && before !== 'refund_due' ? ['payment_refund_due'] : [];
      for (const { said } of answers) expect([expected, ...also]).toContain(said);
      if (expected !== 'completed') return;
      payment.result ??= answers[0]!.text;
      expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([payment.result]));
      const id = answers.map(({ answer }) =>
        answer?.outcome === 'completed' ? answer.subscription.id : undefined,
      )[0]!;
      if (!model.subscriptions.some((known) => known.id === id)) model.subscriptions.push({ id, status: 'active' });
    },
    hasPayment,
  );

const foreign = step(
  'verify, read and cancel as another',
  async (model, { harness, listing }) => {
    const { offer } = pick(model, 0);
    for (const other of [subscriberOf(harness), subscriberOf(harness, listing.sellerId)]) {
      expect([
        await other.verify(offer).catch(refusedAs),
        await other.payment(offer.payment_id).catch(refusedAs),
      ]).toEqual(['payment_not_found', 'payment_not_found']);
      for (const { id } of model.subscriptions) {
        expect(await other.get(id).catch(refusedAs)).toBe('subscription_not_found');
        expect(await other.cancel(id).catch(refusedAs)).toBe(
          other.id === listing.sellerId ? 'not_subscriber' : 'subscription_not_found',
        );
      }
    }
  },
  hasPayment,
);

const cancel = (index: number): Step =>
  step(
    `cancel ${index}`,
    async (model, { buyer }) => {
      const subscription = model.subscriptions[index % model.subscriptions.length]!;
      const answer = await buyer.cancel(subscription.id).then(({ status }) => status, refusedAs);
      expect(answer).toBe(subscription.status === 'expired' ? 'subscription_expired' : 'cancelled');
      if (subscription.status === 'active') subscription.status = 'cancelled';
    },
    (model) => model.subscriptions.length > 0,
  );

const periodEnds = step(
  'the period ends',
  async (model, { harness }) => {
    const subscription = active(model)!;
    await harness.db.inspect(
      "UPDATE payments_ledger.subscriptions SET current_period_end = now() - interval '1 hour' WHERE id = $1",
      [subscription.id],
    );
    // A repeated verification returns the current subscription, including its period.
    for (const payment of model.payments) if (payment.result?.includes(subscription.id)) payment.result = undefined;
    subscription.status = 'expired';
  },
  (model) => active(model) !== undefined,
);

const timePasses = (index: number, what: 'offer' | 'window'): Step =>
  step(
    `the ${what} of ${index} runs out`,
    async (model, { harness }) => {
      const payment = pick(model, index);
      const column = { offer: 'expires_at', window: 'retry_until' }[what];
      await harness.db.inspect(
        `UPDATE payments_ledger.payments SET ${column} = now() - interval '1 hour' WHERE id = $1 AND ${column} IS NOT NULL`,
        [payment.offer.payment_id],
      );
      if (what === 'offer') Object.assign(payment, { over: true, result: undefined });
      if (what === 'window' && payment.state === 'verified') payment.windowOver = true;
    },
    hasPayment,
  );

const offer = (isOffered: boolean): Step =>
  step(`the listing is ${isOffered ? 'active' : 'suspended'}`, async (model, { harness, listing }) => {
    harness.catalog.offer({ ...listing, status: isOffered ? 'active' : 'suspended' });
    model.isOffered = isOffered;
  });

const sweep = step('sweep ×2', async (model, real) => {
  await Promise.all([real.sweep(), real.sweep()]);
  for (const payment of model.payments) {
    if (payment.over && payment.state !== 'expired') reconcile(payment);
    if (payment.state === 'verified' && payment.windowOver) payment.state = 'refund_due';
  }
});

const index = fc.nat(3);
const steps = fc.commands(
  [
    fc.constantFrom('USDC' as const, 'SOL' as const).map(subscribe),
    fc
      .tuple(
        index,
        fc.constantFrom<Outcome>(
          'paid',
          'paid',
          'paid',
          'paid',
          'paid',
          'paid',
          'pending',
          'underpaid',
          'overpaid',
          'late',
          'failed',
        ),
      )
      .map(([at, outcome]) => pay(at, outcome)),
    index.map(becomeFinal),
    fc.tuple(index, fc.constantFrom(1, 1, 4)).map(([at, copies]) => verify(at, copies)),
    fc.constant(foreign),
    index.map(cancel),
    fc.constant(periodEnds),
    fc.tuple(index, fc.constantFrom('offer' as const, 'window' as const)).map(([at, what]) => timePasses(at, what)),
    fc.constantFrom(true, true, false).map(offer),
    fc.constant(sweep),
  ],
  { size: 'max', maxCommands: 40 },
);

/** Random steps rarely create and pay two payments before one is verified, so these preludes do it. */
const preludes = fc.constantFrom<Step[]>(
  [],
  [subscribe('USDC'), pay(0, 'paid')],
  [subscribe('USDC'), subscribe('SOL'), pay(0, 'paid'), pay(1, 'paid')],
);

describe('a subscription and its payments', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  it(
    `are always where the model says, whatever is asked in whatever order (TEST_SEED=${seed})`,
    async () => {
      const { database } = harness.db;
      const { expirePayments, jobs, config } = ledgerParts(database);
      const subscriptions = new ExpireSubscriptions(database, new Subscriptions(new Outbox()), jobs, config);
      const sweepAll = async (): Promise<void> => void (await Promise.all([expirePayments.run(), subscriptions.run()]));
      await fc.assert(
        fc.asyncProperty(preludes, steps, async (prelude, commands) => {
          const model: Model = { payments: [], subscriptions: [], isOffered: true };
          const real: Real = {
            harness,
            buyer: subscriberOf(harness),
            listing: offered(harness, { priceMicros: PRICE.toString() }),
            sweep: sweepAll,
          };
          for (const command of prelude) await command.run(model, real);
          await fc.asyncModelRun(() => ({ model, real }), commands);
        }),
        { seed, numRuns: runs },
      );
      await harness.reconcile();
    },
    60_000 + runs * 10_000,
  );
});
