import { countOf, TEST_SEED } from '@market/test-servers/threats';
import {
  as,
  newOrder,
  startLedger,
  digestOf,
  type Authorized,
  type LedgerHarness,
  type Offered,
  type Order,
  type Outcome,
} from '../support/ledger-harness.js';
import { authorizePayment } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { Refusal } from '@market/messaging';
import fc from 'fast-check';
import type { PaymentState } from '../../src/payments/payment-state.js';
import { ledgerParts } from '../support/parts.js';

const PRICE = 400_000n;
const runs = countOf('paymentModel');
const seed = TEST_SEED;

/** The model of one offer. `final` and `arriving` are the amounts sent for it, in base units. */
interface ModelOffer {
  offered: Offered;
  state: PaymentState;
  final: bigint;
  arriving: bigint;
  over: boolean;
  windowOver: boolean;
  calls: Authorized[];
}

interface Model {
  offers: ModelOffer[];
}

interface Real {
  harness: LedgerHarness;
  order: Order;
  sweep(): Promise<void>;
}

const LIVE: PaymentState[] = ['pending', 'underpaid', 'verified'];
const current = (model: Model): ModelOffer => model.offers[model.offers.length - 1]!;
function refusedAs(error: unknown): string {
  if (error instanceof Refusal) return error.reason;
  throw error;
}

/** The effect of a reconciliation on an offer, implemented independently of the code under test. */
function reconcile(offer: ModelOffer): void {
  if (offer.state === 'pending' || offer.state === 'underpaid') {
    if (offer.final >= PRICE) offer.state = 'verified';
    else if (offer.final > 0n) offer.state = offer.over && offer.arriving === 0n ? 'refund_due' : 'underpaid';
    else if (offer.state === 'pending' && offer.over && offer.arriving === 0n) offer.state = 'expired';
  }
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
    for (const offer of model.offers)
      expect([
        name,
        offer.offered.offer.relay_request_id,
        await real.harness.stateOf(offer.offered.offer.payment_id),
      ]).toEqual([name, offer.offered.offer.relay_request_id, offer.state]);
  },
  toString: () => name,
});
const hasOffer = (model: Model): boolean => model.offers.length > 0;

const quote = step('quote', async (model, { harness, order }) => {
  const live = model.offers.find(({ state }) => LIVE.includes(state));
  if (live?.over && (live.state === 'pending' || live.state === 'underpaid')) reconcile(live);
  const offered = await harness.quote(order);
  if (live && LIVE.includes(live.state)) expect(offered.offer).toEqual({ ...live.offered.offer, status: live.state });
  else
    model.offers.push({
      offered,
      state: 'pending',
      final: 0n,
      arriving: 0n,
      over: false,
      windowOver: false,
      calls: [],
    });
});

const pay = (outcome: Outcome): Step =>
  step(
    `pay ${outcome}`,
    async (model, { harness, order }) => {
      const offer = current(model);
      const answer = await harness.pay(order, offer.offered, outcome).then(({ status }) => status, refusedAs);
      if (['verified', 'completed'].includes(offer.state)) return expect(answer).toBe(offer.state);
      if (offer.state !== 'pending' && offer.state !== 'underpaid') return expect(answer).toBe('offer_not_payable');
      const missing = PRICE - offer.final - offer.arriving;
      if (missing > 0n && outcome !== 'failed') {
        const amount = outcome === 'underpaid' ? missing / 2n : outcome === 'overpaid' ? missing + PRICE / 2n : missing;
        if (outcome === 'pending') offer.arriving += amount;
        else offer.final += amount;
      }
      if (outcome === 'late') offer.state = 'refund_due';
      else if (outcome === 'failed' && offer.state === 'pending' && offer.final + offer.arriving === 0n)
        offer.state = 'failed';
      else reconcile(offer);
      expect(answer).toBe(offer.state);
    },
    hasOffer,
  );

const becomeFinal = step(
  'become final',
  async (model, { harness }) => {
    const offer = current(model);
    await harness.db.inspect('UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = $1', [
      offer.offered.offer.payment_id,
    ]);
    offer.final += offer.arriving;
    offer.arriving = 0n;
  },
  (model) => hasOffer(model) && current(model).arriving > 0n,
);

const expectedOfAuthorization = (offer: ModelOffer): string => {
  reconcile(offer);
  if (offer.state === 'verified') return offer.windowOver ? 'pending' : 'authorized';
  return {
    pending: offer.arriving > 0n ? 'pending' : 'unpaid',
    underpaid: 'underpaid',
    completed: 'completed',
    expired: 'not_payable',
    failed: 'not_payable',
    refund_due: 'not_payable',
  }[offer.state as string]!;
};

const authorize = (copies: number): Step =>
  step(
    `authorize ×${copies}`,
    async (model, { harness, order }) => {
      const offer = current(model);
      const expected = expectedOfAuthorization(offer);
      const claims = await Promise.all(Array.from({ length: copies }, () => harness.authorize(order, offer.offered)));
      const outcomes = claims.map(({ outcome }) => outcome).sort();
      expect(outcomes).toEqual(claims.map(() => expected));
      offer.calls.push(...claims.filter((answer) => answer.outcome === 'authorized'));
    },
    hasOffer,
  );

const foreignAuthorization = step(
  'authorize for another buyer, listing, body',
  async (model, { harness, order }) => {
    const offer = current(model).offered;
    const request = {
      relayRequestId: offer.offer.relay_request_id,
      listingId: order.listing.listingId,
      bodyDigest: order.bodyDigest,
      callMs: 60_000,
    };
    const refusals = await Promise.all([
      harness.gateway.request(authorizePayment, request, as(newId())).catch(refusedAs),
      harness.gateway.request(authorizePayment, { ...request, listingId: newId() }, as(order.buyer)).catch(refusedAs),
      harness.gateway
        .request(authorizePayment, { ...request, bodyDigest: digestOf('other') }, as(order.buyer))
        .catch(refusedAs),
    ]);
    expect(refusals).toEqual(['payment_not_found', 'listing_mismatch', 'request_body_mismatch']);
  },
  hasOffer,
);

/** Ends a call that was authorized, the last one or an earlier one. */
const end = (what: 'settle' | 'release', pick: number): Step =>
  step(
    `${what} call ${pick}`,
    async (model, { harness }) => {
      const offer = current(model);
      const answer = await harness[what](offer.calls[pick % offer.calls.length]!).then(() => 'done', refusedAs);
      if (what === 'release') return expect(answer).toBe('done');
      const isPayable = offer.state === 'verified' || offer.state === 'completed';
      expect(answer).toBe(isPayable ? 'done' : 'not_payable');
      if (isPayable) offer.state = 'completed';
    },
    (model) => hasOffer(model) && current(model).calls.length > 0,
  );

const timePasses = (what: 'offer' | 'window'): Step =>
  step(
    `the ${what} runs out`,
    async (model, { harness }) => {
      const offer = current(model);
      const column = { offer: 'expires_at', window: 'retry_until' }[what];
      await harness.db.inspect(
        `UPDATE payments_ledger.payments SET ${column} = now() - interval '1 hour' WHERE id = $1 AND ${column} IS NOT NULL`,
        [offer.offered.offer.payment_id],
      );
      offer.offered.offer.requirements.expiresAt = (
        await harness.db.inspect<{ at: Date }>('SELECT expires_at AS at FROM payments_ledger.payments WHERE id = $1', [
          offer.offered.offer.payment_id,
        ])
      )[0]!.at.toISOString();
      if (what === 'offer') offer.over = true;
      if (what === 'window' && ['verified', 'completed'].includes(offer.state)) offer.windowOver = true;
    },
    hasOffer,
  );

const sweep = step('sweep ×2', async (model, real) => {
  await Promise.all([real.sweep(), real.sweep()]);
  for (const offer of model.offers) {
    if (offer.over) reconcile(offer);
    if (offer.state === 'verified' && offer.windowOver) offer.state = 'refund_due';
  }
});

const steps = fc.commands(
  [
    fc.constant(quote),
    fc.constantFrom<Outcome>('paid', 'paid', 'pending', 'underpaid', 'overpaid', 'late', 'failed').map(pay),
    fc.constant(becomeFinal),
    fc.constantFrom(1, 1, 4).map(authorize),
    fc.constant(foreignAuthorization),
    fc
      .tuple(fc.constantFrom('settle' as const, 'settle' as const, 'release' as const), fc.nat(3))
      .map(([what, pick]) => end(what, pick)),
    fc.constantFrom('offer' as const, 'window' as const).map(timePasses),
    fc.constant(sweep),
  ],
  { size: 'max', maxCommands: 40 },
);

describe('a payment', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  it(
    `is always where the model says, whatever is asked in whatever order (TEST_SEED=${seed})`,
    async () => {
      const sweepers = [ledgerParts(harness.db.database), ledgerParts(harness.db.database)];
      let sweeps = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (commands) => {
          await fc.asyncModelRun(
            () => ({
              model: { offers: [] },
              real: {
                harness,
                order: newOrder({ priceMicros: PRICE.toString() }),
                sweep: () => sweepers[sweeps++ % 2]!.expirePayments.run(),
              },
            }),
            commands,
          );
        }),
        { seed, numRuns: runs },
      );
      await harness.reconcile();
    },
    60_000 + runs * 10_000,
  );
});
