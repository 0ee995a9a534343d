import { countOf } from '@market/test-servers/threats';
import { getOffering } from '@market/contracts/catalog';
import { authorizePayment, listReceipts, settlePayment } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { verifyRequest } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  as,
  BODY,
  expectOutcome,
  reasonOf,
  refusalOf,
  resultOf,
  startGateway,
  type CallOptions,
  type GatewayHarness,
  type Outcome,
} from '../support/gateway-harness.js';
import { answer, held } from '../support/test-seller.js';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const heapUsed = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

describe.each([1, 2])('the paid call, with %i gateway process(es)', (replicas) => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({ replicas });
  });
  afterAll(() => harness.stop());

  it('is quoted, paid, forwarded signed and answered, and answers the same bytes from then on', async () => {
    const [buyer, shop] = [newId(), await harness.open(undefined, () => '{"weather":"Föhn","temperature":21.50}')];
    const { payment: asked, reason } = await harness.quote(buyer, shop);
    // An offer that was taken is told again without the ways besides it.
    const { other_routes: _others, ...payment } = asked;
    expect([payment.status, payment.fees.gross_amount, reason]).toEqual(['pending', 0.25, undefined]);
    expect(shop.seller.requests).toEqual([]);
    const relayRequestId = payment.relay_request_id;
    expect(await harness.call(buyer, shop, BODY, { relayRequestId })).toEqual({
      outcome: 'payment_required',
      payment,
      reason: 'unpaid',
    });

    await harness.pay(buyer, relayRequestId);
    const first = await harness.answer(buyer, shop, BODY, { relayRequestId, traceparent: TRACEPARENT });
    const result = resultOf(first);
    expect(first.dataJson).toBe(
      `{"request_id":"${result.request_id}","billable":true,"charged_amount":{"amount_cents":25,"currency":"USD"},` +
        '"fees":{"fee_rate":0.05,"fee_amount_cents":1.25,"seller_receives_cents":23.75},' +
        '"seller_status_code":200,"seller_response":{"weather":"Föhn","temperature":21.50}}',
    );
    for (let repeat = 0; repeat < 5; repeat += 1)
      expect((await harness.answer(buyer, shop, BODY, { relayRequestId })).dataJson).toBe(first.dataJson);
    expect(shop.seller.requests).toHaveLength(1);
    expect(await harness.chargesOf(relayRequestId)).toBe(1);

    const [request] = shop.seller.requests;
    expect(request!.rawBody).toBe(BODY);
    expect(verifyRequest({ ...request!, secret: shop.secret })).toEqual({
      requestId: result.request_id,
      timestamp: expect.any(Date) as Date,
      event: 'gateway.call',
      listingId: shop.offering.listingId,
      buyerId: buyer,
      job: {
        url: `http://localhost:3000/api/v1/jobs/${result.request_id}`,
        deadline: expect.any(Date) as Date,
      },
      attempt: 1,
      deadline: expect.any(Date) as Date,
      maxResponseBytes: 1_048_576,
    });
    expect(request!.headers.traceparent).toBe(TRACEPARENT);
    expect(Object.keys(request!.headers).filter((name) => /authorization|cookie|relay|idempotency/.test(name))).toEqual(
      [],
    );

    const receipts = await Promise.all(
      [buyer, shop.offering.sellerId].map((who) => harness.edge.request(listReceipts, { page: 1, limit: 10 }, as(who))),
    );
    expect(
      receipts.map(({ items }) =>
        items.map(({ recipient_type, gross_amount, net_amount }) => [recipient_type, gross_amount, net_amount]),
      ),
    ).toEqual([[['buyer', 0.25, 0.2375]], [['seller', 0.25, 0.2375]]]);
  });

  it('calls the seller once and charges once for 64 retries at once, and gives all who are answered equal bytes', async () => {
    const [buyer, shop] = [newId(), await harness.open(undefined, async () => `{"drawn":"${newId()}"}`)];
    const relayRequestId = await harness.buy(buyer, shop);
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, () => harness.call(buyer, shop, BODY, { relayRequestId })),
    );
    const bytes = outcomes.map((outcome) => expectOutcome(outcome, 'answered').dataJson);
    expect(new Set(bytes).size).toBe(1);
    expect(shop.seller.requests).toHaveLength(1);
    expect(await harness.chargesOf(relayRequestId)).toBe(1);
  });

  it('lets a retry wait a while for the attempt under way, then sends it away with 202', async () => {
    const seller = held();
    const [buyer, shop] = [newId(), await harness.open(undefined, seller.behaviour)];
    const relayRequestId = await harness.buy(buyer, shop);
    const first = harness.call(buyer, shop, BODY, { relayRequestId });
    await eventually(() => expect(shop.seller.requests).toHaveLength(1));
    // One second before their deadline, waiting requests are answered with 202.
    const waiting = await Promise.all(
      [1, 2, 3, 4].map(() => harness.call(buyer, shop, BODY, { relayRequestId, budgetMs: 1_400 })),
    );
    for (const outcome of waiting) expect(expectOutcome(outcome, 'pending').relayRequestId).toBe(relayRequestId);
    const patient = [1, 2, 3, 4].map(() => harness.call(buyer, shop, BODY, { relayRequestId }));
    seller.release();
    const bytes = (await Promise.all([first, ...patient])).map(
      (outcome) => expectOutcome(outcome, 'answered').dataJson,
    );
    expect(new Set(bytes).size).toBe(1);
    expect(shop.seller.requests).toHaveLength(1);
  });

  it('is for the buyer, the listing and the body it was quoted for, and is untouched by everything else', async () => {
    const [buyer, shop, other] = [newId(), await harness.open(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop);
    const before = await harness.paymentOf(relayRequestId);
    expect(await reasonOf(harness.call(newId(), shop, BODY, { relayRequestId }))).toBe('payment_not_found');
    expect(await reasonOf(harness.call(buyer, shop, BODY, { relayRequestId: `0x${digestOf('unknown')}` }))).toBe(
      'payment_not_found',
    );
    expect(await reasonOf(harness.call(buyer, other, BODY, { relayRequestId }))).toBe('listing_mismatch');
    for (const body of [
      '{"city":"Zürich","days":4}',
      '{"city":"Zürich"}',
      '{"city":"Zürich","days":3,"x":null}',
      '{"city":"Zu\u0308rich","days":3}',
      '{"days":"3","city":"Zürich"}',
    ]) {
      expect(await reasonOf(harness.call(buyer, shop, body, { relayRequestId }))).toBe('request_body_mismatch');
    }
    expect(await harness.paymentOf(relayRequestId)).toEqual(before);
    expect([...shop.seller.requests, ...other.seller.requests]).toEqual([]);

    const reordered = ' { "days" : 3.0 , "city" : "Z\\u00fcrich" } ';
    await harness.answer(buyer, shop, reordered, { relayRequestId });
    expect(shop.seller.requests.map(({ rawBody }) => rawBody)).toEqual([reordered]);
  });

  it('buys no call of another listing at the same price, and none for another buyer', async () => {
    const buyers = [newId(), newId()];
    const shops = await Promise.all(Array.from({ length: countOf('pairs') }, () => harness.open()));
    for (const buyer of buyers) {
      const another = buyers.find((one) => one !== buyer)!;
      for (const shop of shops) {
        const relayRequestId = await harness.buy(buyer, shop);
        for (const asked of shops) {
          expect(await reasonOf(harness.call(another, asked, BODY, { relayRequestId }))).toBe('payment_not_found');
          if (asked !== shop)
            expect(await reasonOf(harness.call(buyer, asked, BODY, { relayRequestId }))).toBe('listing_mismatch');
        }
      }
    }
    expect(shops.flatMap(({ seller }) => seller.requests)).toEqual([]);
  }, 600_000);

  it('answers by uuid and by slug alike', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop, BODY, { ref: shop.offering.slug });
    const { dataJson } = await harness.answer(buyer, shop, BODY, { relayRequestId });
    expect((await harness.answer(buyer, shop, BODY, { relayRequestId, ref: shop.offering.slug })).dataJson).toBe(
      dataJson,
    );
  });

  it('gives the same offer to 32 unpaid calls at once, and one history entry', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const quotes = await Promise.all(Array.from({ length: 32 }, () => harness.quote(buyer, shop)));
    expect(new Set(quotes.map(({ payment }) => JSON.stringify(payment))).size).toBe(1);
    expect((await harness.history(buyer)).total).toBe(1);
  });
});

describe('the paid call', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    // Longer than any test, so that a test does not pass because a wait ended.
    harness = await startGateway({ env: { GATEWAY_WAIT_FOR_RESULT_MS: '30000' } });
  });
  afterAll(() => harness.stop());

  it.each([
    [
      'numbers no double holds',
      '{"n":123456789012345678901234567890,"f":0.1000000000000000055511151231257827,"e":1E+400,"z":-0.0}',
    ],
    ['spelling, order and spaces', '{ "b" : 1 , "a":[ 1,2 ],"\\u0061":"\\/" }\n'],
    ['repeated keys', '{"a":1,"a":2}'],
    ['a bare value', '"just text"'],
    ['null', 'null'],
    ['characters beyond the basic plane', '{"owl":"🦉","half":"\\ud83e"}'],
  ])("relays the seller's %s unchanged", async (_name, json) => {
    const [buyer, shop] = [newId(), await harness.open(undefined, () => json)];
    const relayRequestId = await harness.buy(buyer, shop);
    const { dataJson } = await harness.answer(buyer, shop, BODY, { relayRequestId });
    expect(dataJson.endsWith(`"seller_response":${json}}`)).toBe(true);
    expect((await harness.answer(buyer, shop, BODY, { relayRequestId })).dataJson).toBe(dataJson);
  });

  it('asks for what is missing, on the same id, and is answered once it is all there', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const { other_routes: _others, ...payment } = (await harness.quote(buyer, shop)).payment;
    const relayRequestId = payment.relay_request_id;
    await harness.pay(buyer, relayRequestId, 'underpaid');
    const outcome = expectOutcome(await harness.call(buyer, shop, BODY, { relayRequestId }), 'payment_required');
    expect(outcome).toEqual({
      outcome: 'payment_required',
      reason: 'underpaid',
      received: '0.125',
      missing: '0.125',
      payment: { ...payment, status: 'underpaid', x402: [] },
    });
    await harness.pay(buyer, relayRequestId);
    await harness.answer(buyer, shop, BODY, { relayRequestId });
  });

  it.each([
    ['has failed', 'failed', 'payment_failed'],
    ['came late', 'late', 'refund_due'],
  ] as const)(
    'asks for a fresh payment after one that %s, all at once for one and the same',
    async (_name, outcome, reason) => {
      const [buyer, shop] = [newId(), await harness.open()];
      const { payment } = await harness.quote(buyer, shop);
      await harness.pay(buyer, payment.relay_request_id, outcome);
      const again = await Promise.all(
        Array.from({ length: 16 }, () =>
          harness.quote(buyer, shop, BODY, { relayRequestId: payment.relay_request_id }),
        ),
      );
      expect(new Set(again.map((quote) => quote.reason))).toEqual(new Set([reason]));
      expect(new Set(again.map((quote) => quote.payment.relay_request_id)).size).toBe(1);
      expect(again[0]!.payment.relay_request_id).not.toBe(payment.relay_request_id);
    },
  );

  it('is judged by its own signature, key and route, whoever else tries the same offer at the same time', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const { payment } = await harness.quote(buyer, shop);
    const relayRequestId = payment.relay_request_id;
    const badSignature = JSON.stringify({
      x402Version: 2,
      accepted: payment.x402[0],
      payload: {
        signature: `0x${'11'.repeat(65)}`,
        authorization: {
          from: `0x${'22'.repeat(20)}`,
          to: payment.x402[0]!.payTo,
          value: payment.x402[0]!.amount,
          validAfter: '0',
          validBefore: '99999999999',
          nonce: `0x${'33'.repeat(32)}`,
        },
      },
    });
    const together = async (...attempts: CallOptions[]): Promise<PromiseSettledResult<Outcome>[]> => {
      const before = harness.transport.sent(authorizePayment);
      const release = harness.transport.hold(authorizePayment);
      const outcomes = Promise.allSettled(
        attempts.map((attempt) => harness.call(buyer, shop, BODY, { relayRequestId, ...attempt })),
      );
      // One of them has the lock of the call, and the others wait for it.
      await eventually(() => expect(harness.transport.sent(authorizePayment)).toBe(before + 1));
      release();
      return outcomes;
    };
    const unpaid = await together({ authorization: '{}' }, { authorization: badSignature }, {});
    expect(unpaid).toMatchObject([
      { value: { rejection: { reason: 'invalid_payload' } } },
      { value: { rejection: { reason: 'invalid_exact_evm_signature' } } },
      { value: { reason: 'unpaid' } },
    ]);

    await harness.pay(buyer, relayRequestId);
    const [astray, paid] = await together({ paymentNetwork: 'eip155:1' }, {});
    expect([astray, paid]).toMatchObject([
      { reason: { reason: 'payment_route_mismatch' } },
      { value: { outcome: 'answered' } },
    ]);
  });

  it('holds no answer for those who waited with it once they have it', async () => {
    const [answerBytes, calls] = [1_000_000, 20];
    const shop = await harness.open(undefined, async () => `"${'x'.repeat(answerBytes)}"`);
    const deliver = async (n: number): Promise<void> => {
      const body = `{"n":${n}}`;
      const buyer = newId();
      const relayRequestId = await harness.buy(buyer, shop, body);
      await Promise.all([1, 2].map(() => harness.answer(buyer, shop, body, { relayRequestId })));
    };
    await deliver(0);
    const before = heapUsed();
    for (let n = 1; n <= calls; n += 1) await deliver(n);
    expect(heapUsed() - before).toBeLessThan((answerBytes * calls) / 2);
  });

  it('keeps the quoted price whatever the listing costs when it is delivered', async () => {
    for (let n = 0; n < countOf('prices'); n += 1) {
      const [buyer, shop] = [newId(), await harness.open()];
      const relayRequestId = await harness.buy(buyer, shop);
      harness.catalog.offer({ ...shop.offering, priceMicros: '9000000' });
      const result = resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }));
      expect(result.charged_amount.amount_cents).toBe(25);
      await eventually(async () => expect((await harness.quote(buyer, shop)).payment.fees.gross_amount).toBe(9));
    }
  });

  it.each<['draft' | 'suspended' | 'removed']>([['draft'], ['suspended'], ['removed']])(
    'is refused while its listing is %s after payment, and delivered when it is back',
    async (status) => {
      const [buyer, shop] = [newId(), await harness.open()];
      const relayRequestId = await harness.buy(buyer, shop);
      if (status === 'removed') harness.catalog.remove(shop.offering);
      else harness.catalog.offer({ ...shop.offering, status });
      await eventually(async () =>
        expect(await reasonOf(harness.call(buyer, shop, BODY, { relayRequestId }))).toBe('listing_unavailable'),
      );
      expect(shop.seller.requests).toEqual([]);
      expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
      expect(await reasonOf(harness.call(buyer, shop, '{"another":"body"}'))).toBe('listing_not_found');
      // The payment is complete, so the call does not expire with its offer.
      const { retry_until } = await harness.paymentOf(relayRequestId);
      expect(
        await harness.db.inspect(
          'SELECT offer_expires_at AS until FROM gateway.gateway_requests WHERE relay_request_id = $1',
          [relayRequestId],
        ),
      ).toEqual([{ until: retry_until }]);
      harness.catalog.offer(shop.offering);
      await eventually(() => harness.answer(buyer, shop, BODY, { relayRequestId }));
    },
  );

  it('answers what was delivered even when the listing is gone', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop);
    const { dataJson } = await harness.answer(buyer, shop, BODY, { relayRequestId });
    harness.catalog.remove(shop.offering);
    await eventually(async () => expect(await reasonOf(harness.call(buyer, shop, '{}'))).toBe('listing_not_found'));
    expect((await harness.answer(buyer, shop, BODY, { relayRequestId })).dataJson).toBe(dataJson);
  });

  it('is refused while its endpoint is paused, before and after payment, and delivered when it is active', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop);
    await harness.configure(shop, { status: 'paused' });
    const refused = await eventually(() => refusalOf(harness.call(buyer, shop, BODY, { relayRequestId })));
    expect([refused.reason, refused.details]).toEqual([
      'delivery_postponed',
      { endpoint_status: 'paused', retry_after_seconds: 60 },
    ]);
    const unsold = await refusalOf(harness.call(buyer, shop, '{}'));
    expect([unsold.reason, unsold.details]).toEqual(['endpoint_unavailable', { endpoint_status: 'paused' }]);
    expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
    expect(shop.seller.requests).toEqual([]);
    await harness.configure(shop, { status: 'active' });
    await eventually(() => harness.answer(buyer, shop, BODY, { relayRequestId }));
  });

  it('is refused where the seller handles as many calls as it allows, and the payment is untouched', async () => {
    const busy = held();
    const shop = await harness.open(undefined, busy.behaviour);
    await harness.configure(shop, { limits: { max_concurrency: 2 } });
    await eventually(async () => expect((await harness.quote(newId(), shop)).payment.status).toBe('pending'));
    const buyers = [newId(), newId(), newId()];
    const ids = await Promise.all(buyers.map((buyer) => harness.buy(buyer, shop)));
    const running = [0, 1].map((index) => harness.call(buyers[index]!, shop, BODY, { relayRequestId: ids[index]! }));
    await eventually(() => expect(shop.seller.requests).toHaveLength(2));
    const refused = await refusalOf(harness.call(buyers[2]!, shop, BODY, { relayRequestId: ids[2]! }));
    expect([refused.reason, refused.details]).toEqual(['listing_busy', { retry_after_seconds: 1 }]);
    expect((await harness.paymentOf(ids[2]!)).state).toBe('verified');
    busy.release();
    await Promise.all(running);
    await harness.answer(buyers[2]!, shop, BODY, { relayRequestId: ids[2]! });
    expect(shop.seller.requests).toHaveLength(3);
    // Refused calls are not counted as attempts.
    expect(shop.seller.requests.map(({ headers }) => headers['x-market-attempt'])).toEqual(['1', '1', '1']);
  });

  it('is told to its seller with the number of real attempts, whatever was refused in between', async () => {
    const [buyer, shop] = [newId(), await harness.open(undefined, answer(500, '{}'))];
    const relayRequestId = await harness.buy(buyer, shop);
    const retry = (): ReturnType<GatewayHarness['call']> => harness.call(buyer, shop, BODY, { relayRequestId });
    const refusedWhile = async (status: 'paused' | 'active', reason: string): Promise<void> => {
      await harness.configure(shop, { status });
      await eventually(async () => expect(await reasonOf(retry())).toBe(reason));
    };
    await refusedWhile('paused', 'delivery_postponed');
    await harness.configure(shop, { status: 'active' });
    await eventually(() => retry());
    await refusedWhile('paused', 'delivery_postponed');
    await harness.configure(shop, { status: 'active' });
    await eventually(() => retry());
    const attempts = shop.seller.requests.map(({ headers }) => Number(headers['x-market-attempt']));
    expect(attempts).toEqual(attempts.map((_, index) => index + 1));
    shop.seller.behave(() => '{"ok":true}');
    await retry();
  });

  it('answers what was delivered while the catalog is away, by uuid and by slug, and delivers nothing else', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const [delivered, undelivered] = [await harness.buy(buyer, shop), await harness.buy(buyer, shop, '{"n":2}')];
    const { dataJson } = await harness.answer(buyer, shop, BODY, { relayRequestId: delivered, key: 'kept' });
    const heal = harness.transport.lose(getOffering, 'request');
    harness.catalog.offer(shop.offering);
    await eventually(async () => expect(await reasonOf(harness.call(newId(), shop))).toBe('dependency_unavailable'));
    for (const ref of [shop.offering.listingId, shop.offering.slug])
      expect((await harness.answer(buyer, shop, BODY, { relayRequestId: delivered, ref })).dataJson).toBe(dataJson);
    expect((await harness.answer(buyer, shop, BODY, { key: 'kept' })).dataJson).toBe(dataJson);
    expect(await reasonOf(harness.call(buyer, shop, '{"n":2}', { relayRequestId: undelivered }))).toBe(
      'dependency_unavailable',
    );
    expect(
      await reasonOf(harness.call(newId(), shop, BODY, { relayRequestId: delivered, ref: shop.offering.slug })),
    ).toBe('dependency_unavailable');
    expect((await harness.paymentOf(undelivered)).state).toBe('verified');
    heal();
    await harness.answer(buyer, shop, '{"n":2}', { relayRequestId: undelivered });
    expect(shop.seller.requests).toHaveLength(2);
  });

  it('takes the retry headers of its own offer, and no others', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const { payment } = await harness.quote(buyer, shop);
    const own = {
      paymentScheme: payment.retry_headers['X-Market-Payment-Scheme'],
      paymentNetwork: payment.retry_headers['X-Market-Payment-Network'],
    };
    await harness.pay(buyer, payment.relay_request_id);
    for (const other of [
      { paymentScheme: 'exact' },
      { paymentNetwork: 'eip155:1' },
      { ...own, paymentNetwork: 'solana:mainnet' },
    ]) {
      const refused = await refusalOf(
        harness.call(buyer, shop, BODY, { relayRequestId: payment.relay_request_id, ...other }),
      );
      expect([refused.reason, refused.details]).toEqual([
        'payment_route_mismatch',
        { scheme: own.paymentScheme, network: own.paymentNetwork },
      ]);
      expect(await reasonOf(harness.call(buyer, shop, '{"unpaid":true}', other))).toBe('payment_route_mismatch');
    }
    expect((await harness.paymentOf(payment.relay_request_id)).state).toBe('verified');
    expect(shop.seller.requests).toEqual([]);
    await harness.answer(buyer, shop, BODY, { relayRequestId: payment.relay_request_id, ...own });
    expect(shop.seller.requests.map(({ headers }) => headers['x-market-attempt'])).toEqual(['1']);
  });

  it('takes none of what the seller allows once the seller has answered, however long its settlement takes', async () => {
    const shop = await harness.open();
    await harness.configure(shop, { limits: { max_concurrency: 1 } });
    const buyers = [newId(), newId()];
    const ids = await Promise.all(buyers.map((buyer) => harness.buy(buyer, shop)));
    const settled = harness.transport.sent(settlePayment);
    const letGo = harness.transport.hold(settlePayment);
    const calls: Promise<unknown>[] = [];
    for (const [index, buyer] of buyers.entries()) {
      calls.push(harness.answer(buyer, shop, BODY, { relayRequestId: ids[index]! }));
      await eventually(() => expect(harness.transport.sent(settlePayment)).toBe(settled + calls.length));
    }
    letGo();
    await Promise.all(calls);
    expect(shop.seller.requests).toHaveLength(2);
  });

  it('is refused beyond the calls a minute that the seller allows', async () => {
    const shop = await harness.open();
    await harness.configure(shop, { limits: { requests_per_minute: 1 } });
    const [first, second] = [newId(), newId()];
    const ids = await Promise.all([first, second].map((buyer) => harness.buy(buyer, shop)));
    await harness.answer(first, shop, BODY, { relayRequestId: ids[0]! });
    const refused = await refusalOf(harness.call(second, shop, BODY, { relayRequestId: ids[1]! }));
    expect(refused.reason).toBe('listing_busy');
    expect(refused.details.retry_after_seconds).toBeGreaterThan(50);
    expect(shop.seller.requests).toHaveLength(1);
    expect((await harness.paymentOf(ids[1]!)).state).toBe('verified');
  });

  describe('before it asks for a payment', () => {
    it.each<[string, string, string]>([
      ['text that is no JSON', '{"a":', 'invalid_json'],
      ['an array', '[1]', 'not_an_object'],
      ['too deep a body', `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`, 'too_deep'],
    ])('refuses %s', async (_name, body, problem) => {
      const refused = await refusalOf(harness.call(newId(), await harness.open(), body));
      expect([refused.reason, refused.details.problem]).toEqual(['request_body_invalid', problem]);
    });

    it("refuses a body beyond the listing's limit, and on the paid retry one that is padded beyond it", async () => {
      const [buyer, shop] = [newId(), await harness.open()];
      await harness.configure(shop, { limits: { max_request_bytes: 1024 } });
      const sized = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;
      await eventually(async () =>
        expect((await refusalOf(harness.call(newId(), shop, sized(1025)))).details).toEqual({
          max_request_bytes: 1024,
        }),
      );
      const relayRequestId = await harness.buy(buyer, shop, sized(1024));
      expect(await reasonOf(harness.call(buyer, shop, `${sized(1024)} `, { relayRequestId }))).toBe(
        'request_body_too_large',
      );
      expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
      await harness.answer(buyer, shop, sized(1024), { relayRequestId });
    });

    it("refuses unknown listings, others' drafts, what is not sold per call, and one's own", async () => {
      const [shop, draft, free] = [
        await harness.open(),
        await harness.open({ status: 'draft' }),
        await harness.open({ pricingModel: 'free', priceMicros: '0' }),
      ];
      expect(await reasonOf(harness.call(newId(), shop, BODY, { ref: newId() }))).toBe('listing_not_found');
      expect(await reasonOf(harness.call(newId(), shop, BODY, { ref: 'no-such-slug' }))).toBe('listing_not_found');
      expect(await reasonOf(harness.call(newId(), draft))).toBe('listing_not_found');
      expect(await reasonOf(harness.call(newId(), free))).toBe('listing_not_per_call');
      expect(await reasonOf(harness.call(shop.offering.sellerId, shop))).toBe('own_listing');
      expect(await reasonOf(harness.call(draft.offering.sellerId, draft))).toBe('own_listing');
    });

    it('refuses a route below its minimum without calling the seller, and quotes another', async () => {
      const [buyer, shop] = [newId(), await harness.open({ priceMicros: '999' })];
      const refused = await refusalOf(harness.call(buyer, shop, BODY, { originCurrency: 'USDC' }));
      expect([refused.reason, refused.details.seller_endpoint_called]).toEqual([
        'payment_route_minimum_not_met',
        false,
      ]);
      // Nothing less than a tenth of a cent is taken by signature.
      expect((await harness.quote(buyer, shop)).payment.requirements.currency).toBe('SOL');
      expect(await reasonOf(harness.call(buyer, shop, BODY, { originChainId: 'eip155:1' }))).toBe(
        'payment_route_unavailable',
      );
      expect(shop.seller.requests).toEqual([]);
    });
  });
});
