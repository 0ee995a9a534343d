import type { CallableOffering } from '@market/contracts/catalog';
import {
  authorizePayment,
  paySandbox,
  releasePayment,
  settlePayment,
  subscribe,
  takeIncludedCall,
  verifyPayment,
} from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import type { ServerResponse } from 'node:http';
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
  type Shop,
} from '../support/gateway-harness.js';
import { answer, held } from '../support/test-seller.js';

/** The tests simulate each crash by losing one message, after which the attempt does nothing more. */
describe('a call that the period of a subscription includes', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      replicas: 2,
      env: {
        GATEWAY_WAIT_FOR_RESULT_MS: '200',
        GATEWAY_RESUME_INTERVAL_MS: '50',
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '50',
      },
    });
  });
  afterAll(() => harness.stop());

  interface Plan {
    buyer: string;
    shop: Shop;
    call(body?: string, options?: CallOptions): ReturnType<GatewayHarness['call']>;
    used(): Promise<number>;
  }
  async function planOf(includedCalls: number, behaviour?: Parameters<GatewayHarness['open']>[1]): Promise<Plan> {
    const formats = ['json', 'sse'];
    const offering: Partial<CallableOffering> = {
      pricingModel: 'monthly',
      priceMicros: '9990000',
      includedCalls,
      formats,
    };
    const [buyer, shop] = [newId(), await harness.open(offering, behaviour)];
    const listing_id = shop.offering.listingId;
    const asked = await harness.edge.request(subscribe, { listing_id }, as(buyer));
    if (asked.outcome !== 'payment_required') throw new Error('a plan costs something');
    const { payment_id, requirements } = asked.payment;
    await harness.edge.request(paySandbox, { relay_request_id: requirements.relayRequestId }, as(buyer));
    const proof = { payment_id, relay_request_id: requirements.relayRequestId };
    await harness.edge.request(verifyPayment, proof as never, as(buyer));
    return {
      buyer,
      shop,
      call: (body, options) => harness.call(buyer, shop, body, options),
      async used() {
        const [row] = await harness.ledger.inspect<{ used: number }>(
          'SELECT used::int FROM payments_ledger.call_quotas WHERE buyer_id = $1 AND NOT is_trial',
          [buyer],
        );
        return row!.used;
      },
    };
  }
  const lapse = ({ buyer }: Plan): Promise<unknown> =>
    harness.ledger.inspect(
      `UPDATE payments_ledger.payments SET retry_until = now() WHERE buyer_id = $1 AND purpose = 'included' AND state = 'verified'`,
      [buyer],
    );
  const stateOfLast = async ({ buyer }: Plan): Promise<string | undefined> =>
    (
      await harness.ledger.inspect<{ state: string }>(
        `SELECT state FROM payments_ledger.payments WHERE buyer_id = $1 AND purpose = 'included' ORDER BY id DESC LIMIT 1`,
        [buyer],
      )
    )[0]?.state;
  const numbered = (n: number): string => JSON.stringify({ n });

  it('is answered at once, costs nothing, and is refused with what continues when none is left', async () => {
    const plan = await planOf(2);
    for (let n = 0; n < 2; n += 1) {
      const answered = expectOutcome(await plan.call(numbered(n)), 'answered');
      expect(resultOf(answered)).toMatchObject({
        billable: true,
        charged_amount: { amount_cents: 0 },
        fees: { fee_amount_cents: 0 },
      });
    }
    const refusal = await refusalOf(plan.call(numbered(3)));
    expect([refusal.reason, refusal.details]).toMatchObject([
      'quota_used_up',
      {
        listing_id: plan.shop.offering.listingId,
        price_usd: 9.99,
        included_calls: 2,
        included: { period: { calls: 2, used: 2, left: 0 }, trial: null },
      },
    ]);
    expect(plan.shop.seller.requests).toHaveLength(2);
    expect((await harness.history(plan.buyer)).items).toMatchObject([
      { status: 'succeeded', payment: { provider: 'included' } },
      { status: 'succeeded', payment: { provider: 'included' } },
    ]);
    expect(await reasonOf(harness.call(newId(), plan.shop))).toBe('subscription_required');
  });

  it('never reaches the seller more often than there are calls, with many at once', async () => {
    const plan = await planOf(8);
    const outcomes = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => plan.call(numbered(n))));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    expect([plan.shop.seller.requests.length, await plan.used()]).toEqual([8, 8]);
  });

  it.each([422, 500])('is given back at once when its seller answers %i', async (status) => {
    const plan = await planOf(1, answer(status, '{}'));
    const key = newId();
    const failed = resultOf(expectOutcome(await plan.call(BODY, { key }), 'answered'));
    expect([failed, JSON.stringify(failed)]).toEqual([
      expect.objectContaining({ billable: false, charged_amount: { amount_cents: 0, currency: 'USD' } }),
      expect.not.stringContaining('refund'),
    ]);
    expect(await plan.used()).toBe(0);
    plan.shop.seller.behave(() => '{"ok":true}');
    const again = expectOutcome(await plan.call(BODY, { key }), 'answered');
    expect(resultOf(again)).toMatchObject({ billable: true });
    expect(expectOutcome(await plan.call(BODY, { key }), 'answered')).toMatchObject({ dataJson: again.dataJson });
    expect([plan.shop.seller.requests.length, await plan.used()]).toEqual([2, 1]);
  });

  it('is one for its Idempotency-Key, and for what is sent twice at once', async () => {
    const gate = held(() => '{"n":1}');
    const plan = await planOf(2, gate.behaviour);
    const [key] = [newId()];
    const first = plan.call(BODY, { key });
    await eventually(() => expect(plan.shop.seller.requests).toHaveLength(1));
    const { relayRequestId } = expectOutcome(await plan.call(BODY), 'pending');
    gate.release();
    const { dataJson } = expectOutcome(await first, 'answered');
    expect(expectOutcome(await plan.call(BODY, { relayRequestId }), 'answered').dataJson).toBe(dataJson);
    expect(expectOutcome(await plan.call(BODY, { key }), 'answered').dataJson).toBe(dataJson);
    expect([plan.shop.seller.requests.length, await plan.used()]).toEqual([1, 1]);
  });

  it('is given back when its stream breaks off, and stays taken when it ends', async () => {
    const responses: ServerResponse[] = [];
    const plan = await planOf(1, (_request, response) => {
      responses.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
      response.write('data: one\n\n');
    });
    const broken = expectOutcome(await plan.call(), 'streaming');
    expect(await plan.used()).toBe(1);
    responses[0]!.destroy();
    await eventually(async () => expect(await plan.used()).toBe(0));
    await eventually(async () =>
      expect((await harness.history(plan.buyer)).items).toMatchObject([{ id: broken.stream.callId, billable: false }]),
    );
    expectOutcome(await plan.call(), 'streaming');
    responses[1]!.end();
    await eventually(async () => expect(await stateOfLast(plan)).toBe('completed'));
    expect(await plan.used()).toBe(1);
  });

  it('is given back when the deadline of its job passes, and stays taken until then', async () => {
    const plan = await planOf(1, answer(202, '{}', { 'content-type': 'application/json', 'x-market-job': 'accepted' }));
    const { job } = expectOutcome(await plan.call(), 'working');
    expect(expectOutcome(await plan.call(), 'working').job.requestId).toBe(job.requestId);
    expect(await reasonOf(plan.call(numbered(1)))).toBe('quota_in_use');
    await harness.db.inspect('UPDATE gateway.gateway_requests SET job_until = now() WHERE id = $1', [job.requestId]);
    await eventually(async () => expect(await plan.used()).toBe(0));
    expect(plan.shop.seller.requests).toHaveLength(1);
    expect((await harness.history(plan.buyer)).items).toMatchObject([{ id: job.requestId, status: 'seller_failed' }]);
  });

  it('takes a key along that was first sent when there was no subscription, or another call was asked for', async () => {
    const shop = await harness.open({ freeCalls: 3 } as Partial<CallableOffering>);
    const [buyer, key] = [newId(), newId()];
    const asked = expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'payment_required');
    expect(asked.payment.included).toMatchObject({ period: null, trial: { left: 3, open: false } });
    const elsewhere = await harness.open();
    const relayRequestId = await harness.buy(buyer, elsewhere);
    await harness.answer(buyer, elsewhere, BODY, { relayRequestId });
    const tried = expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'answered');
    expect(resultOf(tried)).toMatchObject({ billable: true, charged_amount: { amount_cents: 0 } });
    expect(expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'answered').dataJson).toBe(tried.dataJson);
    expect(shop.seller.requests).toHaveLength(1);
    for (let n = 0; n < 2; n += 1) expectOutcome(await harness.call(buyer, shop, numbered(n)), 'answered');
    const over = expectOutcome(await harness.call(buyer, shop, numbered(2)), 'payment_required');
    expect([over.payment.included, over.payment.fees]).toMatchObject([
      { trial: { calls: 3, used: 3, left: 0, open: true } },
      { gross_amount: 0.25 },
    ]);
  });

  describe('whose process dies', () => {
    it('after it was taken is made by the next request, and is taken once', async () => {
      const plan = await planOf(1);
      const heal = harness.transport.lose(takeIncludedCall, 'answer');
      expect(await reasonOf(plan.call())).toBe('dependency_unavailable');
      expect(await plan.used()).toBe(1);
      heal();
      expectOutcome(await plan.call(), 'answered');
      expect([plan.shop.seller.requests.length, await plan.used()]).toEqual([1, 1]);
    });

    it.each(['request', 'answer'] as const)(
      'before the seller is called is given back when nobody repeats it (%s of the authorization)',
      async (lost) => {
        const plan = await planOf(1);
        const heal = harness.transport.lose(authorizePayment, lost);
        expect(await reasonOf(plan.call())).toBe('dependency_unavailable');
        heal();
        await lapse(plan);
        await eventually(async () => expect(await plan.used()).toBe(0));
        expectOutcome(await plan.call(), 'answered');
        expect([plan.shop.seller.requests.length, await plan.used()]).toEqual([1, 1]);
      },
    );

    it.each(['request', 'answer'] as const)(
      'after the answer was stored stays taken, and its key gets that answer (%s of the settlement)',
      async (lost) => {
        const plan = await planOf(1);
        const key = newId();
        const heal = harness.transport.lose(settlePayment, lost);
        expectOutcome(await plan.call(BODY, { key }), 'pending');
        heal();
        const answered = await eventually(async () => expectOutcome(await plan.call(BODY, { key }), 'answered'));
        expect(resultOf(answered)).toMatchObject({ billable: true });
        expect(await reasonOf(plan.call(numbered(1)))).toBe('quota_used_up');
        expect([plan.shop.seller.requests.length, await plan.used()]).toEqual([1, 1]);
      },
    );

    it('after the answer was stored is settled by the job when nobody asks', async () => {
      const plan = await planOf(1);
      const heal = harness.transport.lose(settlePayment, 'request');
      expectOutcome(await plan.call(), 'pending');
      heal();
      await harness.db.inspect(
        "UPDATE gateway.gateway_requests SET completed_at = now() - interval '3 seconds' WHERE buyer_id = $1",
        [plan.buyer],
      );
      const state = `SELECT state FROM payments_ledger.payments WHERE buyer_id = $1 AND purpose = 'included'`;
      await eventually(async () =>
        expect(await harness.ledger.inspect(state, [plan.buyer])).toEqual([{ state: 'completed' }]),
      );
      expect(await plan.used()).toBe(1);
    });

    it('after the seller failed is given back when nobody repeats it', async () => {
      const plan = await planOf(1, answer(500, '{}'));
      const heal = harness.transport.lose(releasePayment, 'request');
      await plan.call().catch(() => undefined);
      heal();
      await lapse(plan);
      await eventually(async () => expect(await plan.used()).toBe(0));
    });

    it('while a lost one is delivered late keeps the count right', async () => {
      const gate = held(() => '{"late":true}');
      const plan = await planOf(1, gate.behaviour);
      const call = plan.call();
      await eventually(() => expect(plan.shop.seller.requests).toHaveLength(1));
      await lapse(plan);
      // The lock of the call is held, so nothing is given back while its seller works.
      expect(await plan.used()).toBe(1);
      gate.release();
      expectOutcome(await call, 'answered');
      expect(await plan.used()).toBe(1);
    });
  });
});
