import { countOf } from '@market/test-servers/threats';
import {
  getPurchaseEvidence,
  listLedger,
  listReceipts,
  paymentRefundDue,
  subscriptionStarted,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { createHash } from 'node:crypto';
import { as, newOrder, reasonOf, startLedger, type LedgerHarness, type Outcome } from '../support/ledger-harness.js';
import { freeListing, offered, subscriberOf, type SubscriptionOffer } from '../support/subscriber.js';

const RELAY_ID = /^0x[0-9a-f]{64}$/;
const HOUR_MS = 3_600_000;

describe('subscriptions', () => {
  let harness: LedgerHarness;
  beforeAll(async () => {
    harness = await startLedger({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  const started = async (consumerId: string) =>
    (await harness.received(subscriptionStarted)).filter((event) => event.consumerId === consumerId);
  const owedTo = async (buyer: string) =>
    (await harness.received(paymentRefundDue)).filter(({ buyerId }) => buyerId === buyer);
  const setPayment = (change: string, { payment_id }: SubscriptionOffer) =>
    harness.db.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE id = $1`, [payment_id]);
  const endPeriod = (id: string) =>
    harness.db.inspect(
      `UPDATE payments_ledger.subscriptions SET current_period_end = now() - interval '1 second' WHERE id = $1`,
      [id],
    );
  const becomeFinal = ({ payment_id }: SubscriptionOffer) =>
    harness.db.inspect('UPDATE payments_ledger.sandbox_transfers SET final_at = now() WHERE payment_id = $1', [
      payment_id,
    ]);
  const keyed = (key: string, body: object = {}) => ({
    idempotency: { key, fingerprint: createHash('sha256').update(JSON.stringify(body)).digest('hex') },
  });

  describe('to a free listing', () => {
    it.each([
      ['free', freeListing],
      ['monthly at a price of 0', { pricingModel: 'monthly', priceMicros: '0' }],
    ] as const)('start at once and have no end: %s', async (_what, changes) => {
      const [listing, ada] = [offered(harness, changes), subscriberOf(harness)];
      const outcome = await ada.subscribe(listing);
      expect(outcome).toEqual({
        outcome: 'subscribed',
        subscription: {
          id: expect.any(String) as string,
          consumer_id: ada.id,
          listing_id: listing.listingId,
          status: 'active',
          pricing_model: listing.pricingModel,
          pricing_amount: 0,
          current_period_end: null,
          calls: null,
          units: null,
          created_at: expect.stringMatching(/Z$/) as string,
        },
      });
      const [event] = await started(ada.id);
      expect(event).toMatchObject({
        paymentId: null,
        sellerId: listing.sellerId,
        listingId: listing.listingId,
        pricingModel: listing.pricingModel,
        grossMicros: '0',
      });
    });

    it('are one, of 64 asked for at once over two processes', async () => {
      for (let round = 0; round < countOf('subscribers'); round += 1) {
        const [listing, ada] = [offered(harness, freeListing), subscriberOf(harness)];
        const answers = await Promise.allSettled(Array.from({ length: 64 }, () => ada.subscribe(listing)));
        expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        expect(
          new Set(
            answers.flatMap((answer) =>
              answer.status === 'rejected' ? [(answer.reason as { reason: string }).reason] : [],
            ),
          ),
        ).toEqual(new Set(['already_subscribed']));
        expect((await ada.list()).total).toBe(1);
        expect(await started(ada.id)).toHaveLength(1);
      }
    });

    it('begin again after they were cancelled', async () => {
      const [listing, ada] = [offered(harness, freeListing), subscriberOf(harness)];
      const first = await ada.subscribe(listing);
      expect(await reasonOf(ada.subscribe(listing))).toBe('already_subscribed');
      if (first.outcome === 'subscribed')
        expect(await ada.cancel(first.subscription.id)).toEqual({ id: first.subscription.id, status: 'cancelled' });
      expect(await ada.subscribe(listing)).toMatchObject({ outcome: 'subscribed', subscription: { status: 'active' } });
      expect((await ada.list('all')).items.map(({ status }) => status)).toEqual(['active', 'cancelled']);
    });
  });

  it('are not had of what is not offered, of oneself, or of what is paid per call', async () => {
    const ada = subscriberOf(harness);
    const refusals: [object, string][] = [
      [{ status: 'draft' }, 'listing_not_found'],
      [{ status: 'suspended' }, 'listing_not_found'],
      [{ sellerId: ada.id }, 'own_listing'],
      [{ sellerId: ada.id, status: 'draft' }, 'own_listing'],
      [{ pricingModel: 'per_call' }, 'listing_per_call'],
      [{ pricingModel: 'per_call', priceMicros: '0' }, 'listing_per_call'],
      [{ pricingModel: 'per_call', status: 'draft' }, 'listing_not_found'],
    ];
    for (const [changes, reason] of refusals) {
      const listing = offered(harness, changes);
      expect([await reasonOf(ada.subscribe(listing)), await reasonOf(ada.createPayment(listing))]).toEqual([
        reason,
        reason,
      ]);
    }
    expect(await reasonOf(ada.subscribe({ ...offered(harness), listingId: newId() }))).toBe('listing_not_found');
    expect(await reasonOf(ada.createPayment(offered(harness, freeListing)))).toBe('listing_free');
    expect(await reasonOf(ada.subscribe(offered(harness, { priceMicros: '10' }), { origin_currency: 'USDC' }))).toBe(
      'payment_route_minimum_not_met',
    );
    const perCall = offered(harness, { pricingModel: 'per_call' });
    await expect(ada.subscribe(perCall)).rejects.toMatchObject({
      details: { replacement: `POST /gateway/${perCall.slug}` },
      declaration: { kind: 'invalid', recovery: { nextAction: 'use_direct_gateway' } },
    });
    expect((await ada.list('all')).total).toBe(0);
  });

  describe('to a paid listing', () => {
    it('name a payment, with its price frozen and the words of x402', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const offer = await ada.offerOf(listing);
      expect(offer).toEqual({
        payment_id: expect.any(String) as string,
        status: 'pending',
        included_calls: null,
        included_units: null,
        provider: 'sandbox',
        requirements: {
          depositAddress: expect.stringMatching(/^0x/) as string,
          amount: '9.99',
          amount_base_units: '9990000',
          currency: 'USDC',
          network: 'eip155:84532',
          relayRequestId: expect.stringMatching(RELAY_ID) as string,
          expiresAt: expect.stringMatching(/Z$/) as string,
        },
        fees: { gross_amount: 9.99, fee_rate: 0.05, fee_amount: 0.4995, provider_receives: 9.4905 },
        x402: [expect.objectContaining({ scheme: 'exact', network: 'eip155:84532', amount: '9990000' }) as object],
      });
      harness.catalog.offer({ ...listing, priceMicros: '50000000' });
      expect(await ada.offerOf(listing)).toEqual(offer);
      expect(await ada.createPayment(listing)).toEqual(offer);
      expect(await subscriberOf(harness).offerOf(listing)).toMatchObject({ fees: { gross_amount: 50 } });
    });

    it('name the same payment to 64 who ask at once, and to POST /payments whatever its route', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const asked = await Promise.all(
        Array.from({ length: 64 }, () => ada.offerOf(listing, { origin_currency: 'ETH' })),
      );
      expect(new Set(asked.map((offer) => JSON.stringify(offer))).size).toBe(1);
      expect(await ada.createPayment(listing)).toEqual(asked[0]);
      expect((await ada.offerOf(listing)).requirements).toMatchObject({ currency: 'USDC' });
      await setPayment("expires_at = now() - interval '1 second'", asked[0]!);
      expect((await ada.createPayment(listing)).requirements.currency).toBe('USDC');
    });

    it('start when the money has come: journal, receipts, event and end of the period', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const offer = await ada.offerOf(listing);
      await ada.pay(offer);
      const verified = await ada.verify(offer);
      if (verified.outcome !== 'completed') throw new Error(JSON.stringify(verified));
      const { subscription, payment } = verified;
      expect(payment).toEqual({
        payment_id: offer.payment_id,
        requirements: offer.requirements,
        fees: offer.fees,
        status: 'completed',
        transaction_hash: expect.stringMatching(RELAY_ID) as string,
        completed_at: subscription.created_at,
      });
      expect(subscription).toMatchObject({
        consumer_id: ada.id,
        listing_id: listing.listingId,
        status: 'active',
        pricing_model: 'monthly',
        pricing_amount: 9.99,
      });
      const days =
        (Date.parse(subscription.current_period_end!) - Date.parse(subscription.created_at)) / (24 * HOUR_MS);
      expect([28, 29, 30, 31]).toContain(days);

      const receipts = await harness.edge.request(listReceipts, { page: 1, limit: 20 }, as(listing.sellerId));
      expect(receipts.items).toMatchObject([
        {
          payment_id: offer.payment_id,
          recipient_type: 'seller',
          gross_amount: 9.99,
          fee_amount: 0.4995,
          net_amount: 9.4905,
          transaction_hash: payment.transaction_hash,
        },
      ]);
      const [mine] = (await harness.edge.request(listReceipts, { page: 1, limit: 20 }, as(ada.id))).items;
      const ledger = await harness.edge.request(listLedger, { page: 1, limit: 20 }, as(ada.id));
      expect(ledger.items).toMatchObject([
        {
          type: 'direct_payment',
          direction: 'debit',
          amount_cents: 999,
          balance_after_cents: -999,
          listing: { id: listing.listingId, name: 'Feed' },
          reference: { payment_id: offer.payment_id, gateway_request_id: null, receipt_id: mine!.id },
        },
      ]);
      expect(await started(ada.id)).toMatchObject([
        {
          subscriptionId: subscription.id,
          paymentId: offer.payment_id,
          grossMicros: '9990000',
          startedAt: subscription.created_at,
        },
      ]);
    });

    it.each([
      ['yearly', 365, 366],
      ['usage_tiered', 28, 31],
    ] as const)('last as long as their model says: %s', async (pricingModel, least, most) => {
      const { subscription } = await subscriberOf(harness).buy(offered(harness, { pricingModel }));
      const days =
        (Date.parse(subscription.current_period_end!) - Date.parse(subscription.created_at)) / (24 * HOUR_MS);
      expect(days).toBeGreaterThanOrEqual(least);
      expect(days).toBeLessThanOrEqual(most);
    });

    it('are one for one payment, of 32 verifications at once, and each tells the first result for ever', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const offer = await ada.offerOf(listing);
      await ada.pay(offer);
      const verified = await Promise.all(Array.from({ length: 32 }, () => ada.verify(offer)));
      expect(new Set(verified.map((answer) => JSON.stringify(answer))).size).toBe(1);
      const first = verified[0]!;
      if (first.outcome === 'completed') await ada.cancel(first.subscription.id);
      expect(JSON.stringify(await ada.verify(offer))).toBe(JSON.stringify(first));
      expect(JSON.stringify(await ada.verify(offer, { payload: payloadOf(offer) }))).toBe(JSON.stringify(first));
      expect(await started(ada.id)).toHaveLength(1);
      expect((await ada.list('all')).total).toBe(1);
    });

    it('of two payments that were both made are one; the other money is owed back and says so', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const [inUsdc, inEth] = [await ada.offerOf(listing), await ada.offerOf(listing, { origin_currency: 'ETH' })];
      await Promise.all([ada.pay(inUsdc), ada.pay(inEth)]);
      const answers = await Promise.allSettled([ada.verify(inUsdc), ada.verify(inEth)]);
      const refused = answers.findIndex(({ status }) => status === 'rejected');
      expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(answers[refused]).toMatchObject({
        reason: { reason: 'already_subscribed', details: { subscription_id: (await ada.list()).items[0]!.id } },
      });
      const lost = [inUsdc, inEth][refused]!;
      expect(await ada.payment(lost.payment_id)).toMatchObject({
        status: 'refund_due',
        refund_due_amount: 9.99,
        purpose: 'subscription',
      });
      expect(await owedTo(ada.id)).toMatchObject([
        { paymentId: lost.payment_id, gatewayRequestId: null, amountMicros: '9990000', reason: 'not_delivered' },
      ]);
      expect(await reasonOf(ada.verify(lost))).toBe('payment_refund_due');
      const { items } = await harness.edge.request(listLedger, { page: 1, limit: 20, type: 'adjustment' }, as(ada.id));
      expect(items).toMatchObject([
        { direction: 'credit', amount_cents: 999, reference: { payment_id: lost.payment_id, receipt_id: null } },
      ]);
    });

    it('do not start of a listing that is not offered any more; the payment waits and is refunded in the end', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const offer = await ada.offerOf(listing);
      await ada.pay(offer);
      for (const status of ['suspended', 'draft'] as const) {
        harness.catalog.offer({ ...listing, status });
        expect(await reasonOf(ada.verify(offer))).toBe('listing_unavailable');
      }
      harness.catalog.remove(listing);
      expect(await reasonOf(ada.verify(offer))).toBe('listing_unavailable');
      expect(await harness.stateOf(offer.payment_id)).toBe('verified');
      harness.catalog.offer(listing);
      await setPayment("retry_until = now() - interval '1 second'", offer);
      expect(await reasonOf(ada.verify(offer))).toBe('payment_refund_due');
      expect(await owedTo(ada.id)).toMatchObject([{ amountMicros: '9990000', reason: 'not_delivered' }]);
    });
  });

  describe('and what a verification says of a payment', () => {
    const asked = async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      return { listing, ada, offer: await ada.offerOf(listing) };
    };

    it('that has not come, or is not final: what to do, and when to come again', async () => {
      const { ada, offer } = await asked();
      expect(await reasonOf(ada.verify(offer))).toBe('payment_unpaid');
      await ada.pay(offer, 'pending');
      expect(await ada.verify(offer)).toEqual({
        outcome: 'pending',
        payment_id: offer.payment_id,
        relay_request_id: offer.requirements.relayRequestId,
        retry_after_seconds: 2,
        reason: 'payment_not_final',
      });
      await becomeFinal(offer);
      expect(await ada.verify(offer)).toMatchObject({ outcome: 'completed' });
    });

    it('that is too small: what came, what is missing, and the rest completes it', async () => {
      const { ada, offer } = await asked();
      await ada.pay(offer, 'underpaid');
      await expect(ada.verify(offer)).rejects.toMatchObject({
        reason: 'payment_underpaid',
        details: { received: '4.995', missing: '4.995', currency: 'USDC' },
      });
      expect(await ada.payment(offer.payment_id)).toMatchObject({
        status: 'underpaid',
        received_amount: '4.995',
        refund_due_amount: 0,
      });
      await ada.pay(offer);
      expect(await ada.verify(offer)).toMatchObject({ outcome: 'completed' });
    });

    it('that is too large: it completes, and the surplus is owed back', async () => {
      const { ada, offer } = await asked();
      await ada.pay(offer, 'overpaid');
      expect(await ada.verify(offer)).toMatchObject({ outcome: 'completed' });
      expect(await ada.payment(offer.payment_id)).toMatchObject({
        status: 'completed',
        received_amount: '14.985',
        refund_due_amount: 4.995,
      });
    });

    it.each<[Outcome, string, string]>([
      ['late', 'payment_refund_due', 'refund_due'],
      ['failed', 'payment_failed', 'failed'],
    ])('that came %s: %s, and a new one can be made', async (outcome, reason, state) => {
      const { listing, ada, offer } = await asked();
      await ada.pay(offer, outcome);
      for (const changes of [undefined, { payload: payloadOf(offer) }])
        expect(await reasonOf(ada.verify(offer, changes))).toBe(reason);
      expect(await ada.payment(offer.payment_id)).toMatchObject({
        status: state,
        refund_due_amount: outcome === 'late' ? 9.99 : 0,
      });
      expect((await ada.offerOf(listing)).payment_id).not.toBe(offer.payment_id);
    });

    it('that was not made in time: expired, also with a payload; a transfer that comes after is owed back', async () => {
      const { ada, offer } = await asked();
      await setPayment("expires_at = now() - interval '1 second'", offer);
      expect(await reasonOf(ada.verify(offer))).toBe('payment_expired');
      expect(await reasonOf(ada.verify(offer, { payload: payloadOf(offer) }))).toBe('payment_expired');
      await harness.db.inspect('INSERT INTO payments_ledger.sandbox_transfers VALUES ($1, $2, 9990000, now())', [
        `0x${newId()}`,
        offer.payment_id,
      ]);
      expect(await reasonOf(ada.verify(offer))).toBe('payment_refund_due');
      expect(await owedTo(ada.id)).toMatchObject([{ amountMicros: '9990000', reason: 'paid_late' }]);
    });

    it('of another account, or unknown: not found; of a gateway call: where to go', async () => {
      const { ada, listing, offer } = await asked();
      const bob = subscriberOf(harness);
      for (const stranger of [bob, subscriberOf(harness, listing.sellerId)]) {
        expect(await reasonOf(stranger.verify(offer))).toBe('payment_not_found');
        expect(await reasonOf(stranger.payment(offer.payment_id))).toBe('payment_not_found');
      }
      expect(await reasonOf(ada.verify({ ...offer, payment_id: newId() }))).toBe('payment_not_found');
      const order = newOrder({ buyer: bob.id });
      const quoted = await harness.quote(order);
      const ofCall = { ...offer, payment_id: quoted.offer.payment_id };
      await expect(bob.verify(ofCall)).rejects.toMatchObject({
        reason: 'payment_of_call',
        details: { relay_request_id: quoted.offer.relay_request_id },
        declaration: { recovery: { nextAction: 'use_direct_gateway' } },
      });
      expect(await bob.payment(quoted.offer.payment_id)).toMatchObject({ purpose: 'call', status: 'pending' });
      expect(
        await reasonOf(
          harness.authorize(
            { ...order, buyer: ada.id },
            { ...quoted, offer: { ...quoted.offer, relay_request_id: offer.requirements.relayRequestId } },
          ),
        ),
      ).toBe('payment_not_found');
    });

    it.each([
      ['relay_request_id', (other: SubscriptionOffer) => ({ relay_request_id: other.requirements.relayRequestId })],
      [
        'scheme',
        ({ requirements: { relayRequestId } }: SubscriptionOffer) => ({
          relay_request_id: relayRequestId,
          scheme: 'exact',
        }),
      ],
      [
        'network',
        ({ requirements: { relayRequestId } }: SubscriptionOffer) => ({
          relay_request_id: relayRequestId,
          network: 'eip155:1',
        }),
      ],
      [
        'transactionHash',
        ({ requirements: { relayRequestId } }: SubscriptionOffer) => ({
          relay_request_id: relayRequestId,
          transactionHash: `0x${'0'.repeat(64)}`,
        }),
      ],
    ])('whose %s is another: so, and nothing happens', async (field, changesOf) => {
      const { ada, offer } = await asked();
      await ada.pay(offer);
      const other = await subscriberOf(harness).offerOf(offered(harness));
      await expect(ada.verify(offer, changesOf(field === 'relay_request_id' ? other : offer))).rejects.toMatchObject({
        reason: 'payment_mismatch',
        details: { field },
      });
      expect((await ada.list('all')).total).toBe(0);
    });

    it('with the right scheme, network and transaction, in whatever case: its result', async () => {
      const { ada, offer } = await asked();
      const { transaction_hash } = await ada.pay(offer);
      const { relayRequestId, network } = offer.requirements;
      expect(
        await ada.verify(offer, {
          relay_request_id: relayRequestId,
          scheme: 'deposit',
          network,
          transactionHash: `0x${transaction_hash.slice(2).toUpperCase()}`,
        }),
      ).toMatchObject({ outcome: 'completed', payment: { transaction_hash } });
    });

    it('that a payload makes: it is made as it says, and verified', async () => {
      const { ada, offer } = await asked();
      expect(await ada.verify(offer, { payload: payloadOf(offer, { outcome: 'pending' }) })).toMatchObject({
        outcome: 'pending',
      });
      expect(await ada.payment(offer.payment_id)).toMatchObject({ status: 'pending' });
      await becomeFinal(offer);
      expect(
        await ada.verify(offer, {
          payload: { ...payloadOf(offer), resource: { url: 'https://elsewhere' }, extensions: {} },
        }),
      ).toMatchObject({ outcome: 'completed' });
      const other = await asked();
      expect(
        await Promise.all(
          Array.from({ length: 16 }, () => other.ada.verify(other.offer, { payload: payloadOf(other.offer) })),
        ).then((all) => new Set(all.map((one) => JSON.stringify(one))).size),
      ).toBe(1);
      expect(await other.ada.payment(other.offer.payment_id)).toMatchObject({
        status: 'completed',
        received_amount: '9.99',
      });
    });

    it.each([
      ['another version', (payload: Payload) => ({ ...payload, x402Version: 1 })],
      ['no requirement', ({ accepted: _accepted, ...payload }: Payload) => payload],
      [
        'the requirement of another',
        (payload: Payload) => changed(payload, { extra: { relayRequestId: `0x${'1'.repeat(64)}` } }),
      ],
      ['no relay request id', (payload: Payload) => changed(payload, { extra: {} })],
      ['a smaller amount', (payload: Payload) => changed(payload, { amount: '1' })],
      ['a number for the amount', (payload: Payload) => changed(payload, { amount: 9_990_000 })],
      ['another receiver', (payload: Payload) => changed(payload, { payTo: '0x0' })],
      ['another network', (payload: Payload) => changed(payload, { network: 'eip155:1' })],
      ['no inner payload', ({ payload: _inner, ...payload }: Payload) => payload],
      ['an outcome that is none', (payload: Payload) => ({ ...payload, payload: { outcome: 'stolen' } })],
    ])('by a payload with %s: no, and nothing is paid', async (_what, change) => {
      const { ada, offer } = await asked();
      await expect(ada.verify(offer, { payload: change(payloadOf(offer)) })).rejects.toMatchObject({
        reason: 'payment_mismatch',
        details: { field: 'payload' },
      });
      expect(await ada.payment(offer.payment_id)).toMatchObject({
        status: 'pending',
        received_amount: '0',
        transaction_hash: null,
      });
    });
  });

  describe('over time', () => {
    it('are expired from the end of their period on, before any sweeper saw it, and can be had again', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const { subscription } = await ada.buy(listing);
      expect(await reasonOf(ada.subscribe(listing))).toBe('already_subscribed');
      expect(await reasonOf(ada.createPayment(listing))).toBe('already_subscribed');
      await endPeriod(subscription.id);
      expect((await ada.get(subscription.id)).status).toBe('expired');
      expect((await ada.list()).total).toBe(0);
      expect((await ada.list('expired')).items).toMatchObject([{ id: subscription.id, status: 'expired' }]);
      expect((await ada.list('cancelled')).total).toBe(0);
      expect(await reasonOf(ada.cancel(subscription.id))).toBe('subscription_expired');
      const again = await ada.buy(listing);
      expect(again.subscription.id).not.toBe(subscription.id);
      expect((await ada.list('all')).items.map(({ id, status }) => [id, status])).toEqual([
        [again.subscription.id, 'active'],
        [subscription.id, 'expired'],
      ]);
    });

    it('are written down as expired by the sweeper, once', async () => {
      const swept = await startLedger({ replicas: 2, env: { PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '50' } });
      const ada = subscriberOf(swept);
      const { subscription } = await ada.buy(offered(swept));
      const kept = await ada.buy(offered(swept));
      await swept.db.inspect(
        `UPDATE payments_ledger.subscriptions SET current_period_end = now() - interval '1 second' WHERE id = $1`,
        [subscription.id],
      );
      const writtenDown = () =>
        swept.db.inspect(
          "SELECT 1 FROM payments_ledger.subscriptions WHERE id = $1 AND status = 'expired' AND ended_at = current_period_end",
          [subscription.id],
        );
      await eventually(async () => expect(await writtenDown()).toHaveLength(1), { withinMs: 10_000 });
      expect((await ada.list()).items.map(({ id }) => id)).toEqual([kept.subscription.id]);
      await swept.stop();
    });

    it('are ended by their subscriber alone, at once and for good', async () => {
      const [listing, ada, bob] = [offered(harness), subscriberOf(harness), subscriberOf(harness)];
      const { subscription } = await ada.buy(listing);
      const seller = subscriberOf(harness, listing.sellerId);
      expect(await reasonOf(seller.cancel(subscription.id))).toBe('not_subscriber');
      for (const other of [bob, seller])
        expect(await reasonOf(other.get(subscription.id))).toBe('subscription_not_found');
      expect(await reasonOf(bob.cancel(subscription.id))).toBe('subscription_not_found');
      expect(await reasonOf(ada.cancel(newId()))).toBe('subscription_not_found');
      const cancelled = await Promise.all(Array.from({ length: 8 }, () => ada.cancel(subscription.id)));
      expect(new Set(cancelled.map(({ status }) => status))).toEqual(new Set(['cancelled']));
      await endPeriod(subscription.id);
      expect((await ada.get(subscription.id)).status).toBe('cancelled');
    });

    it('come in pages, newest first, with an exact total', async () => {
      const ada = subscriberOf(harness);
      for (let count = 0; count < 5; count += 1) await ada.subscribe(offered(harness, freeListing));
      const pages = await Promise.all([1, 2, 3, 4].map((page) => ada.list('active', { page, limit: 2 })));
      expect(pages.map(({ items, total }) => [items.length, total])).toEqual([
        [2, 5],
        [2, 5],
        [1, 5],
        [0, 5],
      ]);
      expect(pages.flatMap(({ items }) => items)).toEqual((await ada.list()).items);
    });
  });

  describe('with an Idempotency-Key', () => {
    it('tell the answer that was given, and refuse another request', async () => {
      const [listing, ada] = [offered(harness, freeListing), subscriberOf(harness)];
      const first = await ada.subscribe(listing, {}, keyed('k'));
      expect(await ada.subscribe(listing, {}, keyed('k'))).toEqual(first);
      expect(await reasonOf(ada.subscribe(listing, {}, keyed('k', { other: true })))).toBe('idempotency_key_reused');
      expect(await subscriberOf(harness).subscribe(listing, {}, keyed('k'))).not.toEqual(first);
      const bob = subscriberOf(harness);
      const answers = await Promise.allSettled(
        Array.from({ length: 32 }, () => bob.subscribe(listing, {}, keyed('p'))),
      );
      const reasons = answers.map((answer) =>
        answer.status === 'fulfilled' ? answer.value.outcome : (answer.reason as { reason: string }).reason,
      );
      expect(new Set(reasons).has('already_subscribed')).toBe(false);
      expect((await bob.list()).total).toBe(1);
    });

    it('bind it also where a payment is asked for, and tell where that stands', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const first = await ada.subscribe(listing, {}, keyed('k'));
      if (first.outcome !== 'payment_required') throw new Error(JSON.stringify(first));
      expect(await reasonOf(ada.subscribe(offered(harness), {}, keyed('k', { other: true })))).toBe(
        'idempotency_key_reused',
      );
      await ada.pay(first.payment);
      expect(await ada.subscribe(listing, {}, keyed('k'))).toMatchObject({
        outcome: 'payment_required',
        payment: { payment_id: first.payment.payment_id, status: 'verified' },
      });
      await ada.verify(first.payment);
      expect(await reasonOf(ada.subscribe(listing, {}, keyed('k')))).toBe('already_subscribed');
    });

    it('make one payment, for as long as it can be paid', async () => {
      const [listing, ada] = [offered(harness), subscriberOf(harness)];
      const first = await ada.createPayment(listing, keyed('k'));
      expect(await ada.createPayment(listing, keyed('k'))).toEqual(first);
      await setPayment("expires_at = now() - interval '1 second'", first);
      const second = await ada.createPayment(listing, keyed('k'));
      expect(second).toMatchObject({
        status: 'pending',
        payment_id: expect.not.stringMatching(first.payment_id) as string,
      });
      await ada.pay(second);
      expect(await ada.createPayment(listing, keyed('k'))).toMatchObject({
        status: 'verified',
        payment_id: second.payment_id,
      });
      expect(await reasonOf(ada.createPayment(listing, keyed('k', { other: true })))).toBe('idempotency_key_reused');
    });
  });

  it('and paid calls are the evidence of a purchase, as long as they are not given back', async () => {
    const ada = subscriberOf(harness);
    const evidence = (listingId: string) =>
      harness.reputation.request(getPurchaseEvidence, { buyerId: ada.id, listingId }, as(ada.id));
    const free = offered(harness, freeListing);
    expect(await evidence(free.listingId)).toEqual({ lastBillableCallAt: null, subscriptionStartedAt: null });
    const subscribed = await ada.subscribe(free);
    if (subscribed.outcome === 'subscribed')
      expect(await evidence(free.listingId)).toEqual({
        lastBillableCallAt: null,
        subscriptionStartedAt: subscribed.subscription.created_at,
      });

    const order = newOrder({ buyer: ada.id });
    const { listingId } = order.listing;
    const late = await harness.quote(order);
    await harness.pay(order, late, 'late');
    expect((await evidence(listingId)).lastBillableCallAt).toBeNull();
    await harness.authorized(order);
    expect((await evidence(listingId)).lastBillableCallAt).toBeNull();
    const first = await harness.settle(await harness.authorized({ ...order, bodyDigest: newOrder().bodyDigest }));
    expect(await evidence(listingId)).toEqual({ lastBillableCallAt: first.completedAt, subscriptionStartedAt: null });
    const second = await harness.settle(await harness.authorized({ ...order, bodyDigest: newOrder().bodyDigest }));
    expect((await evidence(listingId)).lastBillableCallAt).toBe(second.completedAt);
  });
});

type Payload = Record<string, unknown>;

function payloadOf(
  { requirements: { network, amount_base_units, depositAddress, relayRequestId } }: SubscriptionOffer,
  inner: object = {},
): Payload {
  return {
    x402Version: 2,
    accepted: { network, amount: amount_base_units, payTo: depositAddress, extra: { relayRequestId } },
    payload: inner,
  };
}

const changed = (payload: Payload, changes: object): Payload => ({
  ...payload,
  accepted: { ...(payload.accepted as object), ...changes },
});
