import { getListingCards } from '@market/contracts/catalog';
import {
  createPayment,
  listSigningKeys,
  listSubscriptions,
  subscribe,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { LISTING_ID, LISTING_REF, PAYMENT_ID, RELAY_REQUEST_ID, SELLER_ID } from '../../src/openapi/example-values.js';
import {
  listedSubscriptionExample,
  SUBSCRIPTION_ID,
  subscriptionDetailExample,
  subscriptionExample,
  subscriptionOfferExample,
  subscriptionRecordExample,
  verifiedExample,
} from '../../src/subscriptions/subscriptions.examples.js';
import { answerEverything } from '../support/answers.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { expectRefused, send } from '../support/http.js';

describe('subscriptions and payments at the edge', () => {
  let harness: EdgeHarness;
  let key: string;

  beforeEach(async () => {
    harness = await EdgeHarness.start();
    answerEverything(harness.bus);
    ({ key } = harness.agent());
  });
  afterEach(() => harness.stop());

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    send(harness, 'POST', path, { key, body, headers });

  it('POST /subscribe answers 201, or 402 with the payment beside the error', async () => {
    const free = await post('/subscribe', { listing_id: LISTING_ID.toUpperCase(), origin_currency: 'SOL' });
    expect([free.status, free.json]).toEqual([201, { success: true, data: subscriptionExample }]);
    harness.bus.answers(subscribe, () => ({ outcome: 'payment_required' as const, payment: subscriptionOfferExample }));
    const paid = await post('/subscribe', { listing_id: LISTING_ID });
    expect([paid.status, paid.json]).toEqual([
      402,
      {
        success: false,
        error: {
          code: 'PAYMENT_REQUIRED',
          message: expect.stringContaining('POST /payments/verify'),
          recovery: { next_action: 'pay_and_retry', keep: ['Idempotency-Key'], drop: [], links: expect.any(Object) },
        },
        data: { payment_required: true, ...subscriptionOfferExample, x402: null },
      },
    ]);
    expect(harness.bus.asked(subscribe)).toEqual([
      { listing_id: LISTING_ID, origin_currency: 'SOL' },
      { listing_id: LISTING_ID },
    ]);
  });

  it('POST /subscribe and POST /payments hand on an Idempotency-Key, and say when an answer is repeated', async () => {
    harness.bus.answers(subscribe, (_input, context) => {
      context.reply.idempotencyReplayed = context.idempotency?.key === 'k';
      return { outcome: 'subscribed' as const, subscription: subscriptionExample };
    });
    harness.bus.answers(createPayment, (_input, context) => {
      context.reply.idempotencyReplayed = context.idempotency?.key === 'k';
      return subscriptionOfferExample;
    });
    for (const path of ['/subscribe', '/payments']) {
      expect(
        (await post(path, { listing_id: LISTING_ID }, { 'idempotency-key': 'k' })).headers['idempotency-replayed'],
      ).toBe('true');
      expect((await post(path, { listing_id: LISTING_ID })).headers['idempotency-replayed']).toBeUndefined();
      expectRefused(
        await post(path, { listing_id: LISTING_ID }, { 'idempotency-key': 'no spaces' }),
        400,
        'BAD_REQUEST',
        'request_invalid',
      );
    }
  });

  it('POST /payments answers 200 with payment and requirements', async () => {
    const answer = await post('/payments', { listing_id: LISTING_ID });
    expect([answer.status, answer.json.data]).toEqual([200, { ...subscriptionOfferExample, x402: null }]);
  });

  it('POST /payments/verify takes an id, or a payload as object or base64', async () => {
    const payload = { x402Version: 2, accepted: { network: 'eip155:84532' }, payload: {} };
    const proofs = [
      { relay_request_id: RELAY_REQUEST_ID },
      { payload },
      { payload: Buffer.from(JSON.stringify(payload)).toString('base64') },
    ];
    for (const proof of proofs) {
      const { status, json } = await post('/payments/verify', {
        payment_id: PAYMENT_ID,
        ...proof,
        scheme: 'deposit',
        network: 'eip155:84532',
        transactionHash: '0xabc',
      });
      expect([status, json.data]).toEqual([
        200,
        { subscription: verifiedExample.subscription, payment: verifiedExample.payment },
      ]);
    }
    const shared = { payment_id: PAYMENT_ID, scheme: 'deposit', network: 'eip155:84532', transactionHash: '0xabc' };
    expect(harness.bus.asked(verifyPayment)).toEqual([
      { ...shared, relay_request_id: RELAY_REQUEST_ID },
      { ...shared, payload },
      { ...shared, payload },
    ]);
  });

  it('POST /payments/verify answers 202 and when to come again while the payment is pending', async () => {
    harness.bus.answers(verifyPayment, () => ({
      outcome: 'pending' as const,
      payment_id: PAYMENT_ID,
      relay_request_id: RELAY_REQUEST_ID,
      retry_after_seconds: 3,
      reason: 'payment_not_final' as const,
    }));
    const { status, json, headers } = await post('/payments/verify', {
      payment_id: PAYMENT_ID,
      relay_request_id: RELAY_REQUEST_ID,
    });
    expect([status, headers['retry-after'], headers['x-market-payment-pending'], json]).toEqual([
      202,
      '3',
      'payment_not_final; sign-again=?0',
      {
        success: true,
        data: {
          status: 'pending',
          payment_id: PAYMENT_ID,
          relay_request_id: RELAY_REQUEST_ID,
          retry_after_seconds: 3,
          reason: 'payment_not_final',
          code: 'PAYMENT_PENDING',
          message: expect.stringContaining('Pay nothing again') as string,
          recovery: expect.objectContaining({ next_action: 'retry_same_request', sign_again: false }) as object,
        },
      },
    ]);
  });

  it.each<[string, object, string[]]>([
    ['both proofs', { relay_request_id: RELAY_REQUEST_ID, payload: {} }, ['relay_request_id']],
    ['no proof', {}, ['relay_request_id']],
    ['an id that is none', { relay_request_id: '0x12' }, ['relay_request_id']],
    ['an id in another spelling', { relay_request_id: `0x${'AB'.repeat(32)}` }, ['relay_request_id']],
    ['a payload that is a list', { payload: [] }, ['payload']],
    ['a payload that is null, and so left out', { payload: null }, ['relay_request_id']],
    ['a payload that is no base64', { payload: 'not base64!' }, ['payload']],
    ['unknown fields', { relay_request_id: RELAY_REQUEST_ID, transaction_hash: '0x' }, ['transaction_hash']],
    ['a number for the scheme', { relay_request_id: RELAY_REQUEST_ID, scheme: 1 }, ['scheme']],
  ])('POST /payments/verify refuses %s', async (_what, proof, fields) => {
    const answer = await post('/payments/verify', { payment_id: PAYMENT_ID, ...proof });
    expectRefused(answer, 400, 'BAD_REQUEST', 'request_invalid');
    expect((answer.json.error!.details!.fields as { field: string }[]).map(({ field }) => field)).toEqual(fields);
    expect(harness.bus.asked(verifyPayment)).toEqual([]);
  });

  it('GET /subscriptions completes each with its listing and provider', async () => {
    const { json, headers } = await send(harness, 'GET', '/subscriptions?status=all&limit=5', { key });
    expect(json).toEqual({
      success: true,
      data: [listedSubscriptionExample],
      pagination: { page: 1, limit: 5, total: 1, totalPages: 1 },
    });
    expect(headers.link).toContain('/api/v1/subscriptions?status=all&limit=5&page=1>; rel="first"');
    await send(harness, 'GET', '/subscriptions', { key });
    expect(harness.bus.asked(listSubscriptions)).toEqual([
      { status: 'all', page: 1, limit: 5 },
      { status: 'active', page: 1, limit: 100 },
    ]);
    for (const query of ['status=paused', 'limit=101', 'limit=0', 'page=0', 'q=x'])
      expectRefused(
        await send(harness, 'GET', `/subscriptions?${query}`, { key }),
        400,
        'BAD_REQUEST',
        'request_invalid',
      );
  });

  it('GET /subscriptions asks the catalog once for a page, and not for an empty one', async () => {
    const other = newId();
    harness.bus.answers(listSubscriptions, () => ({
      items: [
        subscriptionRecordExample,
        { ...subscriptionRecordExample, listing_id: other, listing: { ...LISTING_REF, id: other } },
        subscriptionRecordExample,
      ],
      total: 3,
    }));
    await send(harness, 'GET', '/subscriptions', { key });
    expect(harness.bus.asked(getListingCards)).toEqual([{ ids: [LISTING_ID, other] }]);
    harness.bus.answers(listSubscriptions, () => ({ items: [], total: 0 }));
    expect((await send(harness, 'GET', '/subscriptions', { key })).json.data).toEqual([]);
    expect(harness.bus.asked(getListingCards)).toHaveLength(1);
  });

  it('GET /subscriptions/{id} adds how to connect, and stands when the listing is gone', async () => {
    expect((await send(harness, 'GET', `/subscriptions/${SUBSCRIPTION_ID}`, { key })).json.data).toEqual(
      subscriptionDetailExample,
    );
    harness.bus.answers(getListingCards, () => ({ listings: [] }));
    expect((await send(harness, 'GET', `/subscriptions/${SUBSCRIPTION_ID}`, { key })).json.data).toMatchObject({
      listing: {
        ...LISTING_REF,
        delivery_type: null,
        provider: { id: SELLER_ID },
        connection_instructions: null,
        auth_method: null,
        demo_endpoint: null,
      },
    });
  });

  it('DELETE /subscriptions/{id} answers what became of it', async () => {
    expect((await send(harness, 'DELETE', `/subscriptions/${SUBSCRIPTION_ID}`, { key })).json).toEqual({
      success: true,
      data: { id: SUBSCRIPTION_ID, status: 'cancelled' },
    });
  });

  it.each([
    ['GET', '/subscriptions/nope', 'subscription_not_found'],
    ['DELETE', '/subscriptions/nope', 'subscription_not_found'],
    ['GET', '/payments/nope', 'payment_not_found'],
    ['GET', '/receipts/nope/proof', 'receipt_not_found'],
  ] as const)('%s %s: an id that is none names nothing', async (method, path, reason) => {
    expectRefused(await send(harness, method, path, { key }), 404, 'NOT_FOUND', reason);
  });

  it('GET /.well-known/jwks.json is a bare JWK set that may be kept', async () => {
    const answer = await fetch(`${harness.origin}/.well-known/jwks.json`);
    expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('content-type')]).toEqual([
      200,
      'public, max-age=300',
      'application/json; charset=utf-8',
    ]);
    expect(await answer.json()).toEqual({
      keys: [expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', kid: expect.any(String) })],
    });
    const again = await fetch(`${harness.origin}/.well-known/jwks.json`, {
      headers: { 'if-none-match': answer.headers.get('etag')! },
    });
    expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'public, max-age=300']);
    expect(harness.bus.asked(listSigningKeys)).toHaveLength(2);
  });
});
