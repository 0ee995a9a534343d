import { countOf, TEST_SEED } from '@market/test-servers/threats';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import {
  BODY,
  expectOutcome,
  reasonOf,
  resultOf,
  startGateway,
  type Answered,
  type GatewayHarness,
} from '../support/gateway-harness.js';
import { answer, held } from '../support/test-seller.js';

const OTHER_BODY = '{"city":"Bern"}';

describe('an Idempotency-Key on the paid call', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({ replicas: 2 });
  });
  afterAll(() => harness.stop());

  it('may be the same on the unpaid and the paid attempt, and then answers without the relay id', async () => {
    const [buyer, shop, key] = [newId(), await harness.open(), newId()];
    const relayRequestId = await harness.buy(buyer, shop, BODY, { key });
    expect((await harness.quote(buyer, shop, BODY, { key })).payment.relay_request_id).toBe(relayRequestId);
    const first = await harness.answer(buyer, shop, BODY, { key, relayRequestId });
    expect(first.idempotencyReplayed).toBe(false);
    for (let repeat = 0; repeat < 3; repeat += 1)
      expect(await harness.answer(buyer, shop, BODY, { key })).toEqual({ ...first, idempotencyReplayed: true });
    expect(await harness.answer(buyer, shop, BODY, { key, relayRequestId })).toEqual({
      ...first,
      idempotencyReplayed: true,
    });
    expect(shop.seller.requests).toHaveLength(1);
    expect(await harness.chargesOf(relayRequestId)).toBe(1);
  });

  it('may be new on the paid attempt, for each of those who wait for one answer', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop);
    const keys = Array.from({ length: 8 }, () => newId());
    const answers = await Promise.all(keys.map((key) => harness.answer(buyer, shop, BODY, { key, relayRequestId })));
    const replays = await Promise.all(keys.map((key) => harness.answer(buyer, shop, BODY, { key })));
    expect(new Set([...answers, ...replays].map(({ dataJson }) => dataJson)).size).toBe(1);
    expect(replays.every(({ idempotencyReplayed }) => idempotencyReplayed)).toBe(true);
    expect(shop.seller.requests).toHaveLength(1);
  });

  it('is for one listing, one body and one route, from the first request with it on', async () => {
    const [buyer, shop, other, key] = [newId(), await harness.open(), await harness.open(), newId()];
    const relayRequestId = await harness.buy(buyer, shop, BODY, { key });
    const misuses = (): Promise<string[]> =>
      Promise.all([
        reasonOf(harness.call(buyer, shop, OTHER_BODY, { key })),
        reasonOf(harness.call(buyer, shop, OTHER_BODY, { key, relayRequestId })),
        reasonOf(harness.call(buyer, other, BODY, { key })),
        reasonOf(harness.call(buyer, shop, BODY, { key, originCurrency: 'SOL' })),
        reasonOf(harness.call(buyer, shop, BODY, { key, originWalletId: newId() })),
      ]);
    expect(new Set(await misuses())).toEqual(new Set(['idempotency_key_reused']));
    const { dataJson } = await harness.answer(buyer, shop, BODY, { key, relayRequestId });
    expect(new Set(await misuses())).toEqual(new Set(['idempotency_key_reused']));
    expect((await harness.answer(buyer, shop, BODY, { key })).dataJson).toBe(dataJson);
    expect([shop.seller.requests.length, other.seller.requests.length]).toEqual([1, 0]);
  });

  it('knows a body by what it means: white space, order and spelling make no other request', async () => {
    const [buyer, shop] = [newId(), await harness.open({ priceMicros: '0' })];
    const spell = (value: Record<string, number | string>, variant: number): string => {
      const entries = Object.entries(value);
      const members = (variant % 2 ? entries.toReversed() : entries).map(
        ([name, inner]) => `${' '.repeat(variant)}${JSON.stringify(name)}: ${JSON.stringify(inner)}`,
      );
      return `{${members.join(' ,')}}`;
    };
    const bodies = fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(fc.integer(), fc.string({ maxLength: 5 })), {
      maxKeys: 4,
    });
    await fc.assert(
      fc.asyncProperty(bodies, fc.nat(3), async (body, variant) => {
        const key = newId();
        const { dataJson } = await harness.answer(buyer, shop, spell(body, 0), { key });
        expect(await harness.answer(buyer, shop, spell(body, variant), { key })).toEqual({
          outcome: 'answered',
          dataJson,
          idempotencyReplayed: true,
        });
        expect(await reasonOf(harness.call(buyer, shop, spell({ ...body, another: 1 }, variant), { key }))).toBe(
          'idempotency_key_reused',
        );
      }),
      { seed: TEST_SEED, numRuns: countOf('meanings') },
    );
  });

  const inFives = async <T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> => {
    const results: R[] = [];
    for (let at = 0; at < items.length; at += 5)
      results.push(...(await Promise.all(items.slice(at, at + 5).map(work))));
    return results;
  };

  it("is its account's own: the same key of another buyer is another call", async () => {
    const [shop, key] = [
      await harness.open(undefined, ({ headers }) => `{"for":"${String(headers['x-market-buyer-id'])}"}`),
      newId(),
    ];
    const buyers = Array.from({ length: countOf('namespaces') }, () => newId());
    const answers = await inFives(buyers, async (buyer) =>
      harness.answer(buyer, shop, BODY, { key, relayRequestId: await harness.buy(buyer, shop, BODY, { key }) }),
    );
    expect(answers.map((outcome) => resultOf(outcome).seller_response)).toEqual(
      buyers.map((buyer) => ({ for: buyer })),
    );
    expect(await inFives(buyers, async (buyer) => (await harness.answer(buyer, shop, BODY, { key })).dataJson)).toEqual(
      answers.map(({ dataJson }) => dataJson),
    );
    await expect(harness.quote(newId(), shop, BODY, { key })).resolves.toBeDefined();
  });

  it('keeps no failure: the seller is called again for the same key', async () => {
    const [buyer, shop, key] = [newId(), await harness.open(undefined, answer(503, '{}')), newId()];
    const relayRequestId = await harness.buy(buyer, shop, BODY, { key });
    for (let attempt = 1; attempt <= 2; attempt += 1)
      expect(resultOf(await harness.answer(buyer, shop, BODY, { key, relayRequestId }))).toMatchObject({
        billable: false,
      });
    shop.seller.behave(() => '{"ok":true}');
    expect(resultOf(await harness.answer(buyer, shop, BODY, { key, relayRequestId }))).toMatchObject({
      billable: true,
    });
    expect(shop.seller.requests).toHaveLength(3);
  });

  it('buys one call, whatever other payment it is sent with later', async () => {
    const [buyer, shop, key] = [newId(), await harness.open(), newId()];
    const first = await harness.answer(buyer, shop, BODY, {
      key,
      relayRequestId: await harness.buy(buyer, shop, BODY, { key }),
    });
    const second = await harness.buy(buyer, shop);
    expect(await harness.answer(buyer, shop, BODY, { key, relayRequestId: second })).toEqual({
      ...first,
      idempotencyReplayed: true,
    });
    expect((await harness.paymentOf(second)).state).toBe('verified');
    expect((await harness.answer(buyer, shop, BODY, { relayRequestId: second })).dataJson).not.toBe(first.dataJson);
  });

  it('does not ask for a second payment while the first is being delivered', async () => {
    const gate = held();
    const [buyer, shop, key] = [newId(), await harness.open(undefined, gate.behaviour), newId()];
    const relayRequestId = await harness.buy(buyer, shop, BODY, { key });
    const delivery = harness.answer(buyer, shop, BODY, { key, relayRequestId });
    await eventually(() => expect(shop.seller.requests).toHaveLength(1));
    const meanwhile = await harness.quote(buyer, shop, BODY, { key });
    expect([meanwhile.payment.relay_request_id, meanwhile.payment.status]).toEqual([relayRequestId, 'verified']);
    gate.release();
    const starters = Array.from({ length: 20 }, () => harness.call(buyer, shop, BODY, { key }));
    const { dataJson } = await delivery;
    for (const outcome of await Promise.all(starters)) {
      if (outcome.outcome === 'payment_required') expect(outcome.payment.relay_request_id).toBe(relayRequestId);
      else expect(expectOutcome(outcome, 'answered').dataJson).toBe(dataJson);
    }
    expect(await harness.answer(buyer, shop, BODY, { key })).toMatchObject({ dataJson });
  });

  it('replays what was delivered when the listing is gone', async () => {
    const [buyer, shop, key] = [newId(), await harness.open(), newId()];
    const first = await harness.answer(buyer, shop, BODY, {
      key,
      relayRequestId: await harness.buy(buyer, shop, BODY, { key }),
    });
    harness.catalog.remove(shop.offering);
    await eventually(async () =>
      expect(await reasonOf(harness.call(buyer, shop, OTHER_BODY))).toBe('listing_not_found'),
    );
    expect(await harness.answer(buyer, shop, BODY, { key })).toEqual({ ...first, idempotencyReplayed: true });
  });

  it('remembers a refused route, so that the next route comes with a new key', async () => {
    const [buyer, shop, key] = [newId(), await harness.open({ priceMicros: '1000' }), newId()];
    expect(await reasonOf(harness.call(buyer, shop, BODY, { key, originCurrency: 'USDC' }))).toBe(
      'payment_route_minimum_not_met',
    );
    expect(await reasonOf(harness.call(buyer, shop, BODY, { key, originCurrency: 'USDC' }))).toBe(
      'payment_route_minimum_not_met',
    );
    expect(await reasonOf(harness.call(buyer, shop, BODY, { key, originCurrency: 'SOL' }))).toBe(
      'idempotency_key_reused',
    );
    await harness.quote(buyer, shop, BODY, { key: newId(), originCurrency: 'SOL' });
  });

  it('is forgotten after a day', async () => {
    const [buyer, shop, key] = [newId(), await harness.open(), newId()];
    await harness.answer(buyer, shop, BODY, { key, relayRequestId: await harness.buy(buyer, shop, BODY, { key }) });
    await harness.db.inspect(
      "UPDATE gateway.call_keys SET created_at = now() - interval '24 hours 1 second' WHERE key = $1",
      [key],
    );
    const fresh = await harness.quote(buyer, shop, OTHER_BODY, { key });
    expect(fresh.payment.status).toBe('pending');
    expect(await reasonOf(harness.call(buyer, shop, BODY, { key }))).toBe('idempotency_key_reused');
  });

  describe('on a listing of price 0', () => {
    it('calls the seller for one answer, also for 32 at once; without a key each request is a call', async () => {
      let calls = 0;
      const [buyer, shop, key] = [
        newId(),
        await harness.open({ priceMicros: '0' }, () => `{"call":${(calls += 1)}}`),
        newId(),
      ];
      const settled = await Promise.all(Array.from({ length: 32 }, () => harness.call(buyer, shop, BODY, { key })));
      const answers = settled.filter((outcome): outcome is Answered => outcome.outcome === 'answered');
      expect(answers.length).toBeGreaterThan(0);
      expect(settled.every(({ outcome }) => outcome === 'answered' || outcome === 'pending')).toBe(true);
      const replay = await eventually(() => harness.answer(buyer, shop, BODY, { key }));
      expect(replay.idempotencyReplayed).toBe(true);
      expect(new Set([...answers, replay].map(({ dataJson }) => dataJson)).size).toBe(1);
      expect(shop.seller.requests).toHaveLength(1);
      expect(resultOf(replay)).toMatchObject({
        billable: true,
        charged_amount: { amount_cents: 0 },
        fees: { fee_rate: 0, fee_amount_cents: 0, seller_receives_cents: 0 },
        seller_response: { call: 1 },
      });

      await harness.answer(buyer, shop, BODY, {});
      await harness.answer(buyer, shop, BODY, {});
      expect(shop.seller.requests).toHaveLength(3);
      // The seller received the request, so it sees the digest.
      const [sold] = (await harness.history(shop.offering.sellerId)).items;
      expect(sold!.request_digest).toMatch(/^[0-9a-f]{64}$/);
      expect((await harness.history(buyer)).items.map(({ status, payment }) => [status, payment])).toEqual([
        ['succeeded', null],
        ['succeeded', null],
        ['succeeded', null],
      ]);
    });

    it('is held as long as it takes while its process lives, and is free soon after its end', async () => {
      // Requests alternate between the processes, so each process has one of the calls.
      const calls = await Promise.all(
        [0, 1].map(async () => {
          const hanging = held();
          const shop = await harness.open({ priceMicros: '0' }, hanging.behaviour);
          return { buyer: newId(), key: newId(), shop, hanging };
        }),
      );
      const call = ({ buyer, shop, key }: (typeof calls)[number]): ReturnType<GatewayHarness['call']> =>
        harness.call(buyer, shop, BODY, { key });
      const firsts = calls.map(call);
      await eventually(() => expect(calls.map(({ shop }) => shop.seller.requests.length)).toEqual([1, 1]));
      await delay(3_000);
      for (const each of [...calls, ...calls.toReversed()])
        expect(await call(each)).toMatchObject({ outcome: 'pending' });
      const heal = harness.cutLocks(0);
      const seconds: Promise<unknown>[] = [];
      await eventually(
        () => {
          seconds.push(...[...calls, ...calls.toReversed()].map((each) => call(each).catch(() => undefined)));
          expect(calls.map(({ shop }) => shop.seller.requests.length).sort()).toEqual([1, 2]);
        },
        { everyMs: 200 },
      );
      calls.forEach(({ hanging }) => hanging.release());
      const answers = await Promise.all(firsts);
      await Promise.all(seconds);
      heal();
      for (const [n, { buyer, shop, key }] of calls.entries())
        expect((await eventually(() => harness.answer(buyer, shop, BODY, { key }))).dataJson).toBe(
          expectOutcome(answers[n]!, 'answered').dataJson,
        );
      expect(calls.map(({ shop }) => shop.seller.requests.length).sort()).toEqual([1, 2]);
    });

    it('is another call than one whose offer came with the key, which stays as it was', async () => {
      const [buyer, shop, key] = [newId(), await harness.open(), newId()];
      const { payment } = await harness.quote(buyer, shop, BODY, { key });
      harness.catalog.offer({ ...shop.offering, priceMicros: '0' });
      await eventually(async () => expect((await harness.call(newId(), shop)).outcome).toBe('answered'));
      shop.seller.requests.length = 0;
      const [free, ...others] = await Promise.all(
        Array.from({ length: 8 }, () => eventually(() => harness.answer(buyer, shop, BODY, { key }))),
      );
      expect(new Set(others.map(({ dataJson }) => dataJson))).toEqual(new Set([free!.dataJson]));
      expect([resultOf(free!).charged_amount.amount_cents, shop.seller.requests.length]).toEqual([0, 1]);

      await harness.pay(buyer, payment.relay_request_id);
      const paid = resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId: payment.relay_request_id }));
      expect([
        paid.charged_amount.amount_cents,
        await harness.chargesOf(payment.relay_request_id),
        shop.seller.requests.length,
      ]).toEqual([25, 1, 2]);
      expect(paid.request_id).not.toBe(resultOf(free!).request_id);
      expect((await harness.answer(buyer, shop, BODY, { key })).dataJson).toBe(free!.dataJson);
    });

    it('tries a failed call again as the same request', async () => {
      const [buyer, shop, key] = [newId(), await harness.open({ priceMicros: '0' }, answer(500, '{}')), newId()];
      const failed = resultOf(await harness.answer(buyer, shop, BODY, { key }));
      expect(failed).toMatchObject({ billable: false, recovery: { next_action: 'retry_after_delay' } });
      shop.seller.behave(answer(404, '{}'));
      expect(resultOf(await harness.answer(buyer, shop, BODY, { key }))).toMatchObject({
        billable: false,
        seller_status_code: 404,
        recovery: { next_action: 'fix_request' },
      });
      shop.seller.behave(() => '{"ok":true}');
      expect(resultOf(await harness.answer(buyer, shop, BODY, { key }))).toMatchObject({
        billable: true,
        request_id: failed.request_id,
      });
      expect(shop.seller.requests.map(({ headers }) => headers['x-market-attempt'])).toEqual(['1', '2', '3']);
    });

    it('takes a call over whose process died with it, and shows it as failed until then', async () => {
      const [buyer, shop, key] = [newId(), await harness.open({ priceMicros: '0' }, answer(500, '{}')), newId()];
      await harness.answer(buyer, shop, BODY, { key });
      const forwarding = (until: string): Promise<unknown> =>
        harness.db.inspect(
          `UPDATE gateway.gateway_requests SET status = 'forwarding', forwarding_until = now() + interval '${until}' WHERE buyer_id = $1`,
          [buyer],
        );
      shop.seller.behave(() => '{"ok":true}');
      await forwarding('1 minute');
      expect((await harness.history(buyer)).items).toMatchObject([{ status: 'forwarding' }]);
      await forwarding('-1 second');
      expect((await harness.history(buyer)).items).toMatchObject([{ status: 'seller_failed' }]);
      expect(resultOf(await harness.answer(buyer, shop, BODY, { key }))).toMatchObject({ billable: true });
      expect(shop.seller.requests).toHaveLength(2);
    });
  });
});
