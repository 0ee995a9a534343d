import { sandboxPayer, x402Payer, type CreatedListing, type SubscriptionDetail } from '@market/sdk';
import { eventually, withClient } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { randomUUID } from 'node:crypto';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, reasonOf } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import {
  freeFeed,
  letTimePass,
  listFeed,
  offerOf,
  paidOffer,
  refusal,
  subscribeOnce,
  verifyOnce,
} from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const DAY_MS = 86_400_000;

inEachMode('subscriptions', (harness) => {
  let seller: Agent;
  let outsider: Agent;
  let shop: Shop;
  let free: CreatedListing;
  let monthly: CreatedListing;

  beforeAll(async () => {
    [seller, outsider] = await Promise.all([registerAgent(harness, { displayName: 'Feeder' }), registerAgent(harness)]);
    const connection = {
      connection_instructions: 'Send X-Subscription.',
      auth_method: 'bearer_token' as const,
      demo_endpoint: 'https://demo.example/feed',
      delivery_type: 'webhook' as const,
    };
    [shop, free, monthly] = [
      await openShop(seller),
      await listFeed(seller, { ...freeFeed, ...connection }),
      await listFeed(seller, connection),
    ];
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  const newcomer = (): Promise<Agent> => registerAgent(harness, { displayName: 'Reader' });

  describe('POST /subscribe', () => {
    it('of a free listing answers 201 and is active [spec: POST /subscribe, subscription, subscription-state.none-to-active]', async () => {
      const reader = await newcomer();
      const answer = await subscribeOnce(reader, { listing_id: free.id });
      expect([answer.status, answer.json]).toEqual([
        201,
        {
          success: true,
          data: {
            id: expect.stringMatching(UUID),
            consumer_id: reader.id,
            listing_id: free.id,
            status: 'active',
            pricing_model: 'free',
            pricing_amount: 0,
            current_period_end: null,
            calls: null,
            units: null,
            created_at: expect.stringMatching(TIMESTAMP),
          },
        },
      ]);
      expect((await reader.market.subscriptions.list()).data.map(({ id }) => id)).toEqual([
        (bodyOf(answer).data as { id: string }).id,
      ]);
    });

    it(
      'of a paid listing answers 402 with the payment to make, the same until it is over ' +
        '[spec: POST /subscribe, error.402 PAYMENT_REQUIRED, payment.payment-id-or-id, payment.requirements, ' +
        'payment.fees]',
      async () => {
        const reader = await newcomer();
        const answer = await subscribeOnce(reader, { listing_id: monthly.id });
        expect(answer.status).toBe(402);
        expect(answer.json).toMatchObject({
          success: false,
          error: { code: 'PAYMENT_REQUIRED', message: expect.any(String), recovery: { next_action: 'pay_and_retry' } },
        });
        const data = bodyOf(answer).data as Record<string, unknown> & {
          payment_id: string;
          requirements: { relayRequestId: string; expiresAt: string };
        };
        expect(data).toMatchObject({
          payment_required: true,
          payment_id: expect.stringMatching(UUID),
          requirements: {
            depositAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
            amount: '9.99',
            currency: 'USDC',
            relayRequestId: expect.stringMatching(/^0x[0-9a-f]{64}$/),
            expiresAt: expect.stringMatching(TIMESTAMP),
          },
          fees: { gross_amount: 9.99, fee_rate: 0.05, fee_amount: 0.4995, provider_receives: 9.4905 },
        });
        expect(Date.parse(data.requirements.expiresAt)).toBeGreaterThan(Date.now());
        expect(await offerOf(reader, monthly)).toMatchObject({ payment_id: data.payment_id });
        expect((await offerOf(reader, monthly, { origin_currency: 'SOL' })).requirements.currency).toBe('SOL');
        await letTimePass(harness, { offer: data.payment_id });
        expect((await offerOf(reader, monthly)).payment_id).not.toBe(data.payment_id);
        expect((await reader.market.subscriptions.list({ status: 'all' })).data).toEqual([]);
      },
    );

    it("takes the seller's preferred currency where none is asked for [spec: POST /subscribe]", async () => {
      const inEth = await listFeed(seller, { preferred_currency: 'ETH' });
      expect((await offerOf(outsider, inEth)).requirements.currency).toBe('ETH');
      expect((await offerOf(outsider, inEth, { origin_currency: 'USDC' })).requirements.currency).toBe('USDC');
    });

    it('answers 409 to whoever has it, and to 63 of 64 who ask at once [spec: POST /subscribe, error.409 CONFLICT]', async () => {
      const reader = await newcomer();
      const answers = await Promise.all(
        Array.from({ length: 64 }, () => subscribeOnce(reader, { listing_id: free.id })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 63 }, () => 409)]);
      const [active] = (await reader.market.subscriptions.list({ status: 'all' })).data;
      const refused = answers.find(({ status }) => status === 409)!;
      expect(refused.json).toMatchObject({
        success: false,
        error: {
          code: 'CONFLICT',
          message: expect.any(String),
          details: { reason: 'already_subscribed', subscription_id: active!.id },
        },
      });
      const offer = await paidOffer(reader, monthly);
      await reader.market.payments.verify({
        payment_id: offer.payment_id,
        relay_request_id: offer.requirements.relayRequestId,
      });
      expect(await refusal(reader.market.subscribe(monthly))).toEqual([409, 'already_subscribed']);
      expect(await refusal(reader.market.payments.create(monthly))).toEqual([409, 'already_subscribed']);
    });

    it("is not for one's own listing, nor for one that is paid per call [spec: POST /subscribe, POST /payments]", async () => {
      for (const path of ['/subscribe', '/payments']) {
        const refusalOf = async ({ market }: Agent, { id }: { id: string }) => {
          const answer = await market.send('POST', path, { body: { listing_id: id } });
          return [answer.status, reasonOf(answer)];
        };
        expect(await refusalOf(seller, monthly)).toEqual([403, 'own_listing']);
        expect(await refusalOf(outsider, shop.listing)).toEqual([400, 'listing_per_call']);
      }
      expect((await subscribeOnce(outsider, { listing_id: shop.listing.id })).json).toMatchObject({
        error: {
          details: { replacement: `POST /gateway/${shop.listing.slug}` },
          recovery: { next_action: 'use_direct_gateway' },
        },
      });
      expect((await outsider.market.subscriptions.list({ status: 'all' })).data).toEqual([]);
    });

    it('refuses a currency that does not carry so low a price [spec: error.400 PAYMENT_ROUTE_MINIMUM_NOT_MET]', async () => {
      const cheap = await listFeed(seller, { pricing_amount: 0.01 });
      const answer = await subscribeOnce(outsider, { listing_id: cheap.id, origin_currency: 'USDC' });
      expect([answer.status, answer.json]).toMatchObject([
        400,
        {
          error: {
            code: 'PAYMENT_ROUTE_MINIMUM_NOT_MET',
            recovery: { next_action: 'retry_with_solana_payment_route' },
          },
        },
      ]);
      // Without a currency, a signature pays what a deposit cannot carry.
      expect((await offerOf(outsider, cheap)).requirements).toMatchObject({ currency: 'USDC', depositAddress: null });
    });

    it('tells an Idempotency-Key its first answer, and refuses it another request', async () => {
      const [reader, key] = [await newcomer(), randomUUID()];
      const first = await subscribeOnce(reader, { listing_id: free.id }, { 'idempotency-key': key });
      const again = await subscribeOnce(reader, { listing_id: free.id }, { 'idempotency-key': key });
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([201, first.text, 'true']);
      expect(reasonOf(await subscribeOnce(reader, { listing_id: monthly.id }, { 'idempotency-key': key }))).toBe(
        'idempotency_key_reused',
      );
      const payment = await reader.market.payments.create(monthly, { idempotencyKey: randomUUID() });
      expect(payment.payment_id).toBe((await offerOf(reader, monthly)).payment_id);
    });
  });

  describe('a paid one', () => {
    it(
      'starts when its payment is verified: active, completed, with both receipts ' +
        '[spec: POST /payments/verify, subscription-state.none-to-active-by-verify, ' +
        'payment-state.pending-to-completed-by-verify, payment.status, payment.transaction-hash]',
      async () => {
        const reader = await newcomer();
        const offer = await offerOf(reader, monthly);
        const paid = await reader.market.sandbox.pay(offer.requirements.relayRequestId);
        const answer = await verifyOnce(reader, offer);
        expect([answer.status, answer.json]).toEqual([
          200,
          {
            success: true,
            data: {
              subscription: {
                id: expect.stringMatching(UUID),
                consumer_id: reader.id,
                listing_id: monthly.id,
                status: 'active',
                pricing_model: 'monthly',
                pricing_amount: 9.99,
                current_period_end: expect.stringMatching(TIMESTAMP),
                calls: null,
                units: null,
                created_at: expect.stringMatching(TIMESTAMP),
              },
              payment: {
                payment_id: offer.payment_id,
                status: 'completed',
                transaction_hash: paid.transaction_hash,
                requirements: offer.requirements,
                fees: offer.fees,
                completed_at: expect.stringMatching(TIMESTAMP),
              },
            },
          },
        ]);
        const { subscription } = bodyOf(answer).data as {
          subscription: { current_period_end: string; created_at: string };
        };
        expect([28, 29, 30, 31]).toContain(
          (Date.parse(subscription.current_period_end) - Date.parse(subscription.created_at)) / DAY_MS,
        );
        expect((await verifyOnce(reader, offer)).text).toBe(answer.text);
        const receipts = await Promise.all([
          reader.market.receipts.list({ role: 'buyer' }),
          seller.market.receipts.list({ role: 'seller', limit: 50 }),
        ]);
        const both = receipts.map(({ data }) => data.filter(({ payment_id }) => payment_id === offer.payment_id));
        expect(both).toMatchObject([[{ recipient_type: 'buyer' }], [{ recipient_type: 'seller' }]]);
        for (const [receipt] of both)
          expect(receipt).toMatchObject({
            gross_amount: 9.99,
            fee_rate: 0.05,
            fee_amount: 0.4995,
            net_amount: 9.4905,
            currency: 'USD',
            transaction_hash: paid.transaction_hash,
            listing: { id: monthly.id, name: monthly.name, slug: monthly.slug },
          });
        expect(await reader.market.receipts.get(both[0]![0]!)).toMatchObject({
          relay_request_id: offer.requirements.relayRequestId,
          payer: { id: reader.id },
          seller: { id: seller.id },
        });
      },
    );

    it('is asked for, paid and verified in one go by the SDK', async () => {
      const reader = await newcomer();
      const yearly = await listFeed(seller, { pricing_model: 'yearly', pricing_amount: 99 });
      const subscription = await reader.market.subscribe(yearly, { pay: sandboxPayer(reader.market, 'pending') });
      expect(subscription).toMatchObject({ status: 'active', pricing_model: 'yearly', pricing_amount: 99 });
      expect([365, 366]).toContain(
        (Date.parse(subscription.current_period_end!) - Date.parse(subscription.created_at)) / DAY_MS,
      );
    }, 120_000);

    it.each(['the stock client', 'the SDK'])('is paid by a signature in one go by %s', async (client) => {
      const reader = await newcomer();
      // By default, stock clients pay at most one dollar.
      const [feed, other] = [
        await listFeed(seller, { pricing_amount: 0.9 }),
        await listFeed(seller, { pricing_amount: 0.9 }),
      ];
      const account = privateKeyToAccount(generatePrivateKey());
      const paying = wrapFetchWithPayment(fetch, new x402Client().register('eip155:*', new ExactEvmScheme(account)));
      const post = (pay: typeof fetch, path: string, body: object, headers: Record<string, string> = {}) =>
        pay(`${harness.baseUrl}/api/v1/${path}`, {
          method: 'POST',
          headers: {
            authorization: reader.registration.authorization_header,
            'content-type': 'application/json',
            ...headers,
          },
          body: JSON.stringify(body),
        });
      if (client === 'the SDK') {
        const pay = x402Payer(account, { 'eip155:84532': {} });
        expect(await reader.market.subscribe(feed, { pay })).toMatchObject({ status: 'active' });
      } else {
        const answer = await post(paying, 'subscribe', { listing_id: feed.id });
        expect([answer.status, await answer.json()]).toMatchObject([201, { data: { status: 'active' } }]);
        expect(answer.headers.has('payment-response')).toBe(true);
      }
      expect((await reader.market.receipts.list()).data).toMatchObject([
        { gross_amount: 0.9, transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      ]);
      // Pays an offer for another listing in the other two ways.
      const asked = await post(fetch, 'payments', { listing_id: other.id });
      const required = new x402HTTPClient(new x402Client()).getPaymentRequiredResponse((name) =>
        asked.headers.get(name),
      );
      const { payment_id } = ((await asked.json()) as { data: { payment_id: string } }).data;
      const payload = await new x402Client()
        .register('eip155:*', new ExactEvmScheme(account))
        .createPaymentPayload(required);
      const signature = Buffer.from(JSON.stringify(payload)).toString('base64');
      const wrong = await post(fetch, 'subscribe', { listing_id: feed.id }, { 'payment-signature': signature });
      expect(wrong.status).toBe(400);
      const paid = await post(fetch, 'payments', { listing_id: other.id }, { 'payment-signature': signature });
      expect([paid.status, await paid.json()]).toMatchObject([200, { data: { payment_id, status: 'completed' } }]);
      for (const form of [payload, signature]) {
        const verified = await post(fetch, 'payments/verify', { payment_id, payload: form });
        expect([verified.status, await verified.json()]).toMatchObject([
          200,
          { data: { subscription: { listing_id: other.id }, payment: { payment_id } } },
        ]);
      }
      expect((await reader.market.receipts.list()).pagination.total).toBe(2);
    });

    it('is in the ledger of both, to the micro [spec: GET /ledger]', async () => {
      const [reader, publisher] = [await newcomer(), await registerAgent(harness)];
      const feed = await listFeed(publisher, { pricing_amount: 1.000001 });
      await reader.market.subscribe(feed, { pay: sandboxPayer(reader.market) });
      const [receipt] = (await reader.market.receipts.list()).data;
      const reference = { payment_id: receipt!.payment_id, gateway_request_id: null };
      const [bought, sold] = [(await reader.market.ledger.list()).data, (await publisher.market.ledger.list()).data];
      expect(bought).toMatchObject([
        {
          type: 'direct_payment',
          direction: 'debit',
          amount_cents: 100.0001,
          balance_after_cents: -100.0001,
          currency: 'USD',
          listing: { id: feed.id, name: feed.name, slug: feed.slug },
          reference: { ...reference, receipt_id: receipt!.id },
        },
      ]);
      expect(sold).toMatchObject([
        { type: 'marketplace_fee', direction: 'debit', amount_cents: 5, balance_after_cents: 95.0001, reference },
        {
          type: 'seller_credit',
          direction: 'credit',
          amount_cents: 100.0001,
          balance_after_cents: 100.0001,
          reference,
        },
      ]);
      expect(
        (await reader.market.ledger.list({ listing_id: feed.id, type: 'direct_payment', direction: 'debit' }))
          .pagination.total,
      ).toBe(1);
    });
  });

  describe('GET /subscriptions', () => {
    it('lists them, active ones unless asked otherwise, newest first [spec: GET /subscriptions, subscription.list-view]', async () => {
      const reader = await newcomer();
      const first = await reader.market.subscribe(free);
      const second = await reader.market.subscribe(monthly, { pay: sandboxPayer(reader.market) });
      await reader.market.subscriptions.cancel(first);
      const third = await reader.market.subscribe(free);
      const of = async (query: string) => {
        const { status, json } = await reader.market.send('GET', `/subscriptions${query}`);
        return [
          status,
          (json as { data: { id: string; status: string }[] }).data.map(({ id, status: now }) => `${id} ${now}`),
        ];
      };
      expect(await of('')).toEqual([200, [`${third.id} active`, `${second.id} active`]]);
      expect(await of('?status=active')).toEqual(await of(''));
      expect(await of('?status=cancelled')).toEqual([200, [`${first.id} cancelled`]]);
      expect(await of('?status=expired')).toEqual([200, []]);
      expect(await of('?status=all')).toEqual([
        200,
        [`${third.id} active`, `${second.id} active`, `${first.id} cancelled`],
      ]);
      const { data, pagination } = await reader.market.subscriptions.list({ status: 'all', limit: 2, page: 2 });
      expect(pagination).toEqual({ page: 2, limit: 2, total: 3, totalPages: 2 });
      expect(data).toEqual([
        {
          ...first,
          status: 'cancelled',
          listing: {
            id: free.id,
            name: free.name,
            slug: free.slug,
            delivery_type: 'webhook',
            provider: { id: seller.id, display_name: 'Feeder' },
          },
        },
      ]);
      expect((await outsider.market.subscriptions.list({ status: 'all' })).data).toEqual([]);
    });

    it('shows one in full to its subscriber alone [spec: GET /subscriptions/{subscriptionId}, subscription.detail-view]', async () => {
      const reader = await newcomer();
      const subscription = await reader.market.subscribe(monthly, { pay: sandboxPayer(reader.market) });
      const expected: SubscriptionDetail = {
        ...subscription,
        listing: {
          id: monthly.id,
          name: monthly.name,
          slug: monthly.slug,
          delivery_type: 'webhook',
          provider: { id: seller.id, display_name: 'Feeder' },
          connection_instructions: 'Send X-Subscription.',
          auth_method: 'bearer_token',
          demo_endpoint: 'https://demo.example/feed',
        },
      };
      expect(await reader.market.subscriptions.get(subscription)).toEqual(expected);
      expect(await refusal(seller.market.subscriptions.get(subscription))).toEqual([404, 'subscription_not_found']);
    });
  });

  it('DELETE ends one at once [spec: DELETE /subscriptions/{subscriptionId}, subscription-state.active-to-cancelled]', async () => {
    const reader = await newcomer();
    const { id } = await reader.market.subscribe(monthly, { pay: sandboxPayer(reader.market) });
    expect(await refusal(seller.market.subscriptions.cancel(id))).toEqual([403, 'not_subscriber']);
    expect((await reader.market.subscriptions.get(id)).status).toBe('active');
    const answer = await reader.market.send('DELETE', `/subscriptions/${id}`);
    expect([answer.status, answer.json]).toEqual([200, { success: true, data: { id, status: 'cancelled' } }]);
    expect((await reader.market.subscriptions.get(id)).status).toBe('cancelled');
    expect(await reader.market.subscriptions.cancel(id)).toEqual({ id, status: 'cancelled' });
    expect((await reader.market.subscribe(monthly, { pay: sandboxPayer(reader.market) })).id).not.toBe(id);
  });

  it('are expired from the end of their period on, at once and by the sweeper, and can be had again', async () => {
    const reader = await newcomer();
    const { id } = await reader.market.subscribe(monthly, { pay: sandboxPayer(reader.market) });
    await letTimePass(harness, { period: id });
    expect((await reader.market.subscriptions.get(id)).status).toBe('expired');
    expect((await reader.market.subscriptions.list()).data).toEqual([]);
    expect(
      (await reader.market.subscriptions.list({ status: 'expired' })).data.map((subscription) => subscription.id),
    ).toEqual([id]);
    expect(await refusal(reader.market.subscriptions.cancel(id))).toEqual([409, 'subscription_expired']);
    const again = await reader.market.subscribe(monthly, { pay: sandboxPayer(reader.market) });
    expect((await reader.market.subscriptions.list({ status: 'all' })).data.map(({ status }) => status)).toEqual([
      'active',
      'expired',
    ]);
    await letTimePass(harness, { period: again.id });
    await eventually(
      async () => {
        const written = await withClient(harness.databaseUrl, (client) =>
          client.query("SELECT 1 FROM payments_ledger.subscriptions WHERE id = $1 AND status = 'expired'", [again.id]),
        );
        expect(written.rowCount).toBe(1);
      },
      { withinMs: 20_000, everyMs: 100 },
    );
  });
});
