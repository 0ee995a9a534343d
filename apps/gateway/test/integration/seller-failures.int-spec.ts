import { callFailed } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { verifyRequest } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { BODY, resultOf, startGateway, type GatewayHarness, type Shop } from '../support/gateway-harness.js';
import { answer, held, type Behaviour } from '../support/test-seller.js';

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const json = { 'content-type': 'application/json' };
const hangUp: Behaviour = (_request, response) => void response.destroy();
const cutOff: Behaviour = (_request, response) => {
  response.writeHead(200, { ...json, 'content-length': '100' });
  response.write('{"a":1');
  setImmediate(() => response.destroy());
};

describe('a call that the seller failed', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  it.each<[string, Behaviour, number, string, unknown]>([
    ['hangs up', hangUp, 502, 'unreachable', null],
    ['breaks off', cutOff, 502, 'protocol_error', null],
    ['answers 500', answer(500, '{"error":"oops"}'), 500, 'seller_error', { error: 'oops' }],
    ['answers 503 with JSON', answer(503, '{"busy":true}'), 503, 'seller_error', { busy: true }],
    ['answers 500 with HTML', answer(500, '<h1>oops</h1>', { 'content-type': 'text/html' }), 500, 'not_json', null],
    ['answers HTML', answer(200, '<h1>hello</h1>', { 'content-type': 'text/html' }), 502, 'not_json', null],
    ['answers nothing', answer(200, ''), 502, 'not_json', null],
    ['answers 204', answer(204, ''), 502, 'not_json', null],
    ['answers too much', answer(200, JSON.stringify('x'.repeat(4096))), 502, 'too_large', null],
    ['answers too deep', answer(200, deep(65)), 502, 'too_deep', null],
    ['answers deep enough to break a stack', answer(200, deep(2_000)), 502, 'too_deep', null],
    ['answers compressed', answer(200, 'x', { ...json, 'content-encoding': 'gzip' }), 502, 'not_json', null],
    [
      'redirects',
      answer(307, '{"moved":true}', { ...json, location: 'http://127.0.0.1:1/' }),
      307,
      'redirect',
      { moved: true },
    ],
  ])(
    'costs nothing where it %s, and is delivered by a retry as the second attempt at the same request',
    async (_name, behaviour, statusCode, reason, sellerResponse) => {
      const [buyer, shop] = [newId(), await harness.open(undefined, behaviour)];
      await harness.configure(shop, { limits: { max_response_bytes: 4096 } });
      const relayRequestId = await harness.buy(buyer, shop);
      const failed = resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }));
      const { retry_until } = await harness.paymentOf(relayRequestId);
      expect(failed).toEqual({
        request_id: failed.request_id,
        billable: false,
        charged_amount: { amount_cents: 0, currency: 'USD' },
        fees: { fee_rate: 0.05, fee_amount_cents: 0, seller_receives_cents: 0 },
        seller_status_code: statusCode,
        seller_response: sellerResponse,
        error: { reason, message: expect.stringMatching(/^The seller.*nothing was charged for it$/) as string },
        recovery: {
          next_action: 'retry_same_request',
          keep: ['X-Market-Relay-Request-Id', 'Idempotency-Key'],
          drop: [],
          retry_until: retry_until!.toISOString(),
        },
      });
      expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
      expect(await harness.chargesOf(relayRequestId)).toBe(0);
      const [entry] = (await harness.history(buyer)).items;
      expect(entry).toMatchObject({
        id: failed.request_id,
        status: 'seller_failed',
        billable: false,
        charged_amount: { amount_cents: 0 },
        seller_status_code: statusCode,
        error_code: reason,
        response_digest: null,
      });

      shop.seller.behave(() => '{"ok":true}');
      const delivered = resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }));
      expect(delivered).toMatchObject({
        request_id: failed.request_id,
        billable: true,
        charged_amount: { amount_cents: 25 },
        seller_response: { ok: true },
      });
      const attempts = shop.seller.requests.map((request) => verifyRequest({ ...request, secret: shop.secret }));
      expect(attempts.map(({ requestId, attempt }) => [requestId, attempt])).toEqual([
        [failed.request_id, 1],
        [failed.request_id, 2],
      ]);
      expect((await harness.history(buyer)).items).toMatchObject([
        { id: failed.request_id, status: 'succeeded', billable: true, seller_status_code: 200, error_code: null },
      ]);
    },
  );

  it.each<[number, string, unknown, string]>([
    [400, '{"error":"no such city"}', { error: 'no such city' }, 'fix_request'],
    [401, '{}', {}, 'choose_another_listing'],
    [402, '{}', {}, 'fix_request'],
    [404, '<h1>no</h1>', null, 'fix_request'],
    [422, 'null', null, 'fix_request'],
    [408, '{}', {}, 'retry_same_request'],
    [429, '{"wait":1}', { wait: 1 }, 'retry_same_request'],
  ])(
    'costs nothing where it refuses with %i, which says nothing against its endpoint; the payment stays good for the same request',
    async (status, json, sellerResponse, nextAction) => {
      const [buyer, shop] = [newId(), await harness.open(undefined, answer(status, json))];
      const relayRequestId = await harness.buy(buyer, shop);
      for (let attempt = 1; attempt <= 6; attempt += 1) {
        const refused = resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }));
        expect(refused).toMatchObject({
          billable: false,
          charged_amount: { amount_cents: 0 },
          seller_status_code: status,
          error: { reason: 'seller_refused', message: expect.any(String) as string },
          recovery: { next_action: nextAction, retry_until: expect.any(String) as string },
        });
        expect(refused.seller_response).toEqual(sellerResponse);
      }
      expect([(await harness.paymentOf(relayRequestId)).state, await harness.chargesOf(relayRequestId)]).toEqual([
        'verified',
        0,
      ]);
      for (const who of [buyer, shop.offering.sellerId])
        expect((await harness.history(who)).items).toMatchObject([
          {
            status: 'seller_refused',
            billable: false,
            charged_amount: { amount_cents: 0 },
            seller_status_code: status,
            error_code: 'seller_refused',
          },
        ]);
      expect((await harness.history(buyer, { status: 'seller_failed' })).total).toBe(0);
      expect(
        await harness.db.inspect('SELECT health, failed_calls FROM gateway.endpoints WHERE listing_id = $1', [
          shop.offering.listingId,
        ]),
      ).toEqual([{ health: 'unverified', failed_calls: [] }]);
      expect(await eventsOf(shop)).toEqual([]);

      shop.seller.behave(answer(201, '{"ok":true}'));
      expect(resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }))).toMatchObject({
        billable: true,
        seller_status_code: 201,
        charged_amount: { amount_cents: 25 },
      });
      expect(await harness.chargesOf(relayRequestId)).toBe(1);
    },
  );

  it('costs nothing where nobody listens', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop);
    await shop.seller.stop();
    expect(resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }))).toMatchObject({
      billable: false,
      seller_status_code: 502,
      error: { reason: 'unreachable', message: expect.any(String) as string },
    });
    shop.seller.stop = () => Promise.resolve();
  });

  it('costs nothing where no answer comes in time; a slow one shows as forwarding meanwhile, to both sides', async () => {
    const silent = held();
    const [buyer, shop] = [newId(), await harness.open(undefined, silent.behaviour)];
    await harness.configure(shop, { timeout_ms: 2_500 });
    const relayRequestId = await harness.buy(buyer, shop);
    const call = harness.answer(buyer, shop, BODY, { relayRequestId });
    await eventually(async () => {
      for (const who of [buyer, shop.offering.sellerId])
        expect((await harness.history(who)).items).toMatchObject([
          { status: 'forwarding', billable: null, completed_at: null },
        ]);
    });
    expect(resultOf(await call)).toMatchObject({
      billable: false,
      seller_status_code: 504,
      error: { reason: 'timeout', message: expect.any(String) as string },
    });
    expect((await harness.history(buyer)).items).toMatchObject([{ status: 'seller_failed', error_code: 'timeout' }]);
    expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
    silent.release();
  });

  it('counts once against the endpoint until one call succeeds, and is told of in one event an attempt', async () => {
    const [buyer, shop] = [newId(), await harness.open(undefined, answer(500, '{}'))];
    const failures = async (): Promise<number> =>
      (
        await harness.db.inspect<{ n: number }>(
          'SELECT cardinality(failed_calls) AS n FROM gateway.endpoints WHERE listing_id = $1',
          [shop.offering.listingId],
        )
      )[0]!.n;
    const relayRequestId = await harness.buy(buyer, shop);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await harness.answer(buyer, shop, BODY, { relayRequestId });
      expect(await failures()).toBe(1);
    }
    expect(
      (await eventsOf(shop)).map(({ attempt, reason, sellerStatusCode }) => [attempt, reason, sellerStatusCode]),
    ).toEqual([1, 2, 3].map((attempt) => [attempt, 'seller_error', 500]));
    // Waits, because calls use an endpoint that may be cached for a second.
    await eventually(async () => {
      shop.seller.behave(() => '{"ok":true}');
      const other = newId();
      await harness.answer(other, shop, BODY, { relayRequestId: await harness.buy(other, shop) });
      expect(await failures()).toBe(0);
    });
    await harness.answer(buyer, shop, BODY, { relayRequestId });
  });

  it('gives all who wait for it the same answer, and lets the next of them try again', async () => {
    const gate = held(answer(500, '{}'));
    const [buyer, shop] = [newId(), await harness.open(undefined, gate.behaviour)];
    const relayRequestId = await harness.buy(buyer, shop);
    const waiting = Array.from({ length: 16 }, () => harness.call(buyer, shop, BODY, { relayRequestId }));
    await eventually(() => expect(shop.seller.requests).toHaveLength(1));
    shop.seller.behave(() => '{"ok":true}');
    gate.release();
    const outcomes = await Promise.all(waiting);
    const bytes = outcomes
      .filter(({ outcome }) => outcome === 'answered')
      .map((outcome) => (outcome.outcome === 'answered' ? outcome.dataJson : ''));
    expect(new Set(bytes).size).toBeLessThanOrEqual(2);
    await harness.answer(buyer, shop, BODY, { relayRequestId });
    expect(await harness.chargesOf(relayRequestId)).toBe(1);
    expect(shop.seller.requests).toHaveLength(2);
  });

  const eventsOf = async ({ offering }: Shop) => {
    const rows = await harness.db.inspect<{ payload: unknown }>(
      'SELECT payload FROM gateway.outbox WHERE subject = $1 ORDER BY id',
      [callFailed.subject],
    );
    return rows
      .map(({ payload }) => callFailed.payload.parse(payload))
      .filter(({ listingId }) => listingId === offering.listingId);
  };
});
