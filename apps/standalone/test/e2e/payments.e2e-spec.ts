import type { CreatedListing } from '@market/sdk';
import { eventually, withClient } from '@market/testing';
import { randomUUID } from 'node:crypto';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, quote, reasonOf } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { acceptedOf, letTimePass, listFeed, offerOf, paidOffer, refusal, verifyOnce } from '../support/subscriber.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const RETIRED = [
  '/payments/setup',
  '/payments/setup-intents',
  '/payments/fund',
  '/payment-methods',
  '/wallet/deposit',
  '/wallet/balance',
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** Counts rows in all tables that record money. */
const COUNT_ROWS = `SELECT ${[
  'payments',
  'journal_transactions',
  'postings',
  'receipts',
  'subscriptions',
  'sandbox_transfers',
  'idempotency_keys',
  'outbox',
]
  .map((table) => `(SELECT count(*) FROM payments_ledger.${table})::int AS ${table}`)
  .join(', ')}`;

inEachMode('payments', (harness) => {
  let seller: Agent;
  let reader: Agent;
  let outsider: Agent;
  let shop: Shop;
  let feed: CreatedListing;

  beforeAll(async () => {
    [seller, outsider] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    [shop, feed] = [await openShop(seller), await listFeed(seller)];
  });
  beforeEach(async () => {
    reader = await registerAgent(harness);
  });
  afterAll(async () => {
    await expectBooksInOrder(harness, [shop]);
    await shop.close();
  });

  const refusalOf = async (answer: ReturnType<typeof verifyOnce>) => [(await answer).status, reasonOf(await answer)];

  it('POST /payments names what POST /subscribe named, and what is to be paid [spec: POST /payments, payment.requirements]', async () => {
    const offer = await offerOf(reader, feed, { origin_currency: 'SOL' });
    const answer = await reader.market.send('POST', '/payments', { body: { listing_id: feed.id } });
    expect([answer.status, answer.json]).toMatchObject([
      200,
      { success: true, data: { payment_id: offer.payment_id, requirements: offer.requirements } },
    ]);
    const other = (await outsider.market.payments.create(feed)) as unknown as Record<string, unknown>;
    expect(other).toMatchObject({
      payment_id: expect.any(String),
      requirements: {
        depositAddress: expect.any(String),
        amount: '9.99',
        currency: 'USDC',
        relayRequestId: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        expiresAt: expect.any(String),
      },
    });
    expect(other.payment_id).not.toBe(offer.payment_id);
  });

  describe('POST /payments/verify', () => {
    it('says that nothing was paid, then 202 and when to come again until the money is final [spec: POST /payments/verify]', async () => {
      const offer = await offerOf(reader, feed);
      const pending = {
        success: true,
        data: {
          status: 'pending',
          payment_id: offer.payment_id,
          relay_request_id: offer.requirements.relayRequestId,
          retry_after_seconds: expect.any(Number),
          reason: 'payment_not_final',
          code: 'PAYMENT_PENDING',
          message: expect.stringContaining('Pay nothing again'),
          recovery: expect.objectContaining({ next_action: 'retry_same_request', sign_again: false }),
        },
      };
      expect(await refusalOf(verifyOnce(reader, offer))).toEqual([400, 'payment_unpaid']);
      await reader.market.sandbox.pay(offer.requirements.relayRequestId, { outcome: 'pending' });
      const early = await verifyOnce(reader, offer);
      expect([early.status, early.json, early.headers.get('retry-after')]).toEqual([
        202,
        pending,
        expect.stringMatching(/^\d+$/),
      ]);
      expect([
        (await verifyOnce(reader, offer)).json,
        await reader.market.payments.get(offer.payment_id),
      ]).toMatchObject([pending, { status: 'pending' }]);
      await eventually(async () => expect((await verifyOnce(reader, offer)).status).toBe(200), {
        withinMs: 20_000,
        everyMs: 200,
      });
    }, 120_000);

    it('takes relay_request_id or payload, one of the two, and nothing about another payment [spec: POST /payments/verify]', async () => {
      const offer = await paidOffer(reader, feed);
      const { relayRequestId: relay_request_id, network } = offer.requirements;
      const accepted = acceptedOf(offer);
      const payload = { x402Version: 2, accepted, payload: {} };
      const bad: [object, string][] = [
        [{}, 'request_invalid'],
        [{ relay_request_id, payload }, 'request_invalid'],
        [{ relay_request_id: 'nope' }, 'request_invalid'],
        [{ payload: 'nope' }, 'request_invalid'],
        [{ relay_request_id, amount: 1 }, 'request_invalid'],
        [{ relay_request_id: `0x${'1'.repeat(64)}` }, 'payment_mismatch'],
        [{ relay_request_id, scheme: 'exact' }, 'payment_mismatch'],
        [{ relay_request_id, network: 'eip155:1' }, 'payment_mismatch'],
        [{ relay_request_id, transactionHash: `0x${'1'.repeat(64)}` }, 'payment_mismatch'],
        [{ payload: { ...payload, accepted: { ...accepted, amount: '1' } } }, 'payment_mismatch'],
        [
          { payload: { ...payload, accepted: { ...accepted, extra: { relayRequestId: `0x${'1'.repeat(64)}` } } } },
          'payment_mismatch',
        ],
      ];
      for (const [proof, reason] of bad)
        expect([proof, await refusalOf(verifyOnce(reader, offer, proof))]).toEqual([proof, [400, reason]]);
      expect((await reader.market.subscriptions.list({ status: 'all' })).data).toEqual([]);
      const { transaction_hash: transactionHash } = await reader.market.payments.get(offer.payment_id);
      expect(
        (await verifyOnce(reader, offer, { relay_request_id, scheme: 'deposit', network, transactionHash })).status,
      ).toBe(200);
    });

    it.each(['object', 'base64'])(
      'pays and verifies by an x402 payload as %s, once [spec: POST /payments/verify]',
      async (form) => {
        const offer = await offerOf(reader, feed, { origin_currency: 'SOL' });
        const plain = { x402Version: 2, accepted: acceptedOf(offer), payload: { outcome: 'paid' } };
        const payload = form === 'object' ? plain : Buffer.from(JSON.stringify(plain)).toString('base64');
        const answers = await Promise.all(Array.from({ length: 16 }, () => verifyOnce(reader, offer, { payload })));
        expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
        expect(answers[0]).toMatchObject({
          status: 200,
          json: {
            data: {
              subscription: { status: 'active' },
              payment: { payment_id: offer.payment_id, status: 'completed' },
            },
          },
        });
        expect((await verifyOnce(reader, offer)).text).toBe(answers[0]!.text);
        expect((await reader.market.receipts.list()).pagination.total).toBe(1);
        expect((await reader.market.subscriptions.list({ status: 'all' })).pagination.total).toBe(1);
      },
    );

    it('answers 401 to strangers, 404 to other accounts, 400 for a gateway call [spec: POST /payments/verify]', async () => {
      const offer = await paidOffer(reader, feed);
      expect(await refusalOf(verifyOnce({ ...reader, market: stranger(harness) }, offer))).toEqual([
        401,
        'unauthorized',
      ]);
      for (const other of [outsider, seller]) {
        expect(await refusalOf(verifyOnce(other, offer))).toEqual([404, 'payment_not_found']);
        expect(await refusal(other.market.payments.get(offer.payment_id))).toEqual([404, 'payment_not_found']);
      }
      expect(await refusalOf(verifyOnce(reader, { ...offer, payment_id: randomUUID() }))).toEqual([
        404,
        'payment_not_found',
      ]);
      const ofCall = await quote(reader, shop.listing, { a: 1 });
      const answer = await verifyOnce(
        reader,
        { ...offer, payment_id: ofCall.payment_id! },
        { relay_request_id: ofCall.relay_request_id },
      );
      expect([answer.status, bodyOf(answer).error]).toMatchObject([
        400,
        {
          details: { reason: 'payment_of_call', relay_request_id: ofCall.relay_request_id },
          recovery: { next_action: 'use_direct_gateway' },
        },
      ]);
      expect(await reader.market.payments.get(ofCall.payment_id!)).toMatchObject({
        purpose: 'call',
        status: 'pending',
      });
      expect((await reader.market.subscriptions.list({ status: 'all' })).data).toEqual([]);
    });

    it('says what is missing, and completes when the rest has come', async () => {
      const offer = await paidOffer(reader, feed, 'underpaid');
      const answer = await verifyOnce(reader, offer);
      expect([answer.status, bodyOf(answer).error]).toMatchObject([
        400,
        {
          details: { reason: 'payment_underpaid', received: '4.995', missing: '4.995', currency: 'USDC' },
          recovery: { next_action: 'pay_and_retry' },
        },
      ]);
      await reader.market.sandbox.pay(offer.requirements.relayRequestId);
      expect((await verifyOnce(reader, offer)).status).toBe(200);
    });

    it('says of a payment that came to nothing what to do, and a new one can be made', async () => {
      const failed = await paidOffer(reader, feed, 'failed');
      expect(await refusalOf(verifyOnce(reader, failed))).toEqual([400, 'payment_failed']);
      const overdue = await offerOf(reader, feed);
      await letTimePass(harness, { offer: overdue.payment_id });
      const answer = await verifyOnce(reader, overdue);
      expect([answer.status, bodyOf(answer).error]).toMatchObject([
        400,
        {
          details: { reason: 'payment_expired' },
          recovery: { next_action: 'request_new_payment_requirements', use_new_idempotency_key: true },
        },
      ]);
      expect([failed.payment_id, overdue.payment_id]).not.toContain((await offerOf(reader, feed)).payment_id);
    });

    it('owes back what came too late, and shows it in the payment and the ledger [spec: GET /ledger]', async () => {
      const late = await paidOffer(reader, feed, 'late');
      const answer = await verifyOnce(reader, late);
      expect([answer.status, bodyOf(answer).error]).toMatchObject([
        400,
        { details: { reason: 'payment_refund_due', status: 'refund_due', amount: 9.99 } },
      ]);
      expect(await reader.market.payments.get(late.payment_id)).toMatchObject({
        payment_id: late.payment_id,
        status: 'refund_due',
        received_amount: '9.99',
        refund_due_amount: 9.99,
        completed_at: null,
      });
      const { data } = await reader.market.ledger.list();
      expect(data).toMatchObject([
        {
          type: 'adjustment',
          direction: 'credit',
          amount_cents: 999,
          balance_after_cents: 999,
          listing: { id: feed.id },
          reference: { payment_id: late.payment_id, gateway_request_id: null, receipt_id: null },
        },
      ]);
      expect((await reader.market.receipts.list()).data).toEqual([]);
    });

    it('owes back the second of two payments for one subscription', async () => {
      const [first, second] = [await offerOf(reader, feed), await offerOf(reader, feed, { origin_currency: 'ETH' })];
      for (const { requirements } of [first, second]) await reader.market.sandbox.pay(requirements.relayRequestId);
      expect((await verifyOnce(reader, first)).status).toBe(200);
      const answer = await verifyOnce(reader, second);
      expect([answer.status, bodyOf(answer).error]).toMatchObject([
        409,
        { code: 'CONFLICT', details: { reason: 'already_subscribed' } },
      ]);
      expect(await reader.market.payments.get(second.payment_id)).toMatchObject({
        status: 'refund_due',
        refund_due_amount: 9.99,
      });
      expect((await reader.market.ledger.list({ type: 'adjustment' })).data).toMatchObject([
        { amount_cents: 999, reference: { payment_id: second.payment_id } },
      ]);
    });

    it('leaves the payment as it is while the listing is not offered, and refunds it in the end', async () => {
      const closing = await listFeed(seller);
      const offer = await paidOffer(reader, closing);
      await seller.market.listings.remove(closing);
      await eventually(
        async () => expect(await refusalOf(verifyOnce(reader, offer))).toEqual([409, 'listing_unavailable']),
        { withinMs: 20_000 },
      );
      expect((await reader.market.payments.get(offer.payment_id)).status).toBe('verified');
      await letTimePass(harness, { window: offer.payment_id });
      await eventually(
        async () => expect((await reader.market.payments.get(offer.payment_id)).status).toBe('refund_due'),
        { withinMs: 20_000, everyMs: 100 },
      );
      expect((await reader.market.ledger.list({ type: 'adjustment' })).data).toMatchObject([{ amount_cents: 999 }]);
    });
  });

  it('setup of stored funds is gone with any method, says where to go, and writes nothing [spec: error.410]', async () => {
    const rows = () =>
      withClient(
        harness.databaseUrl,
        async (client) => (await client.query<Record<string, number>>(COUNT_ROWS)).rows[0],
      );
    const before = await rows();
    const bodies = [{}, { body: { amount: 100, currency: 'USDC' } }, { rawBody: '{"amount":' }];
    const asked = [reader.market, stranger(harness)].flatMap((client) =>
      RETIRED.flatMap((path) =>
        METHODS.flatMap((method) =>
          bodies
            .filter((body) => method !== 'GET' || Object.keys(body).length === 0)
            .map((body) => client.send(method, path, { ...body, headers: { 'idempotency-key': randomUUID() } })),
        ),
      ),
    );
    expect(asked.length).toBeGreaterThan(100);
    for (const answer of await Promise.all(asked)) {
      expect(answer).toMatchObject({
        status: 410,
        json: {
          success: false,
          error: {
            code: 'GONE',
            message: expect.any(String),
            details: { reason: 'setup_retired', replacement: 'POST /gateway/{listingId}' },
            recovery: { next_action: 'use_direct_gateway' },
          },
        },
      });
      expect(['deprecation', 'sunset', 'link'].map((name) => answer.headers.get(name))).toEqual([
        '@1793491200',
        'Sun, 01 Nov 2026 00:00:00 GMT',
        expect.stringMatching(/^<http.*\/docs>; rel="deprecation"/),
      ]);
    }
    expect(await rows()).toEqual(before);
  });
});
