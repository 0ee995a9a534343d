import { authorizePayment, createOffer, paymentArrived, settlePayment } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { verifyRequest } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import {
  BODY,
  expectOutcome,
  reasonOf,
  resultOf,
  startGateway,
  type GatewayHarness,
  type Shop,
} from '../support/gateway-harness.js';
import { answer, held } from '../support/test-seller.js';

interface Unsettled {
  buyer: string;
  shop: Shop;
  relayRequestId: string;
}

/** The tests simulate each crash by losing one message, after which the attempt does nothing more. */
describe('a paid call that was cut off', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({ replicas: 2, env: { GATEWAY_WAIT_FOR_RESULT_MS: '200' } });
  });
  afterAll(() => harness.stop());

  const bought = async (): Promise<{
    buyer: string;
    shop: Shop;
    relayRequestId: string;
    retry: () => ReturnType<GatewayHarness['call']>;
  }> => {
    const [buyer, shop] = [newId(), await harness.open(undefined, async () => `{"drawn":"${newId()}"}`)];
    const relayRequestId = await harness.buy(buyer, shop);
    return { buyer, shop, relayRequestId, retry: () => harness.call(buyer, shop, BODY, { relayRequestId }) };
  };
  const storedOf = async (relayRequestId: string): Promise<string | undefined> =>
    (
      await harness.db.inspect<{ result_json: string }>(
        'SELECT result_json FROM gateway.gateway_requests WHERE relay_request_id = $1 AND billable',
        [relayRequestId],
      )
    )[0]?.result_json;

  it.each([1, 16])(
    'between the stored result and its settlement is settled by a retry, with %i at once and no second call of the seller',
    async (copies) => {
      const { shop, relayRequestId, retry } = await bought();
      const heal = harness.transport.lose(settlePayment, 'request');
      expect(expectOutcome(await retry(), 'pending').relayRequestId).toBe(relayRequestId);
      const stored = await storedOf(relayRequestId);
      expect(stored).toContain('drawn');
      expect([(await harness.paymentOf(relayRequestId)).state, await harness.chargesOf(relayRequestId)]).toEqual([
        'verified',
        0,
      ]);
      heal();
      const outcomes = await Promise.all(Array.from({ length: copies }, retry));
      for (const outcome of outcomes)
        if (outcome.outcome !== 'pending') expect(expectOutcome(outcome, 'answered').dataJson).toBe(stored);
      expect(expectOutcome(await retry(), 'answered').dataJson).toBe(stored);
      expect([shop.seller.requests.length, await harness.chargesOf(relayRequestId)]).toEqual([1, 1]);
    },
  );

  it('between the settlement and its answer is answered from the stored result', async () => {
    const { shop, relayRequestId, retry } = await bought();
    const heal = harness.transport.lose(settlePayment, 'answer');
    expect((await retry()).outcome).toBe('pending');
    expect([(await harness.paymentOf(relayRequestId)).state, await harness.chargesOf(relayRequestId)]).toEqual([
      'completed',
      1,
    ]);
    heal();
    expect(expectOutcome(await retry(), 'answered').dataJson).toBe(await storedOf(relayRequestId));
    expect([shop.seller.requests.length, await harness.chargesOf(relayRequestId)]).toEqual([1, 1]);
  });

  it('between the authorization and the call of the seller is made by the next retry', async () => {
    const { shop, retry } = await bought();
    const heal = harness.transport.lose(authorizePayment, 'answer');
    expect(await reasonOf(retry())).toBe('dependency_unavailable');
    heal();
    expect(shop.seller.requests).toEqual([]);
    expectOutcome(await retry(), 'answered');
    expect(shop.seller.requests).toHaveLength(1);
  });

  it('before the authorization is as if it had not been tried', async () => {
    const { relayRequestId, retry } = await bought();
    const before = await harness.paymentOf(relayRequestId);
    const heal = harness.transport.lose(authorizePayment, 'request');
    expect(await reasonOf(retry())).toBe('dependency_unavailable');
    expect(await harness.paymentOf(relayRequestId)).toEqual(before);
    heal();
    expectOutcome(await retry(), 'answered');
  });

  it.each([422, 500])('after its seller answered %i is good for another attempt at once', async (status) => {
    const { shop, relayRequestId, retry } = await bought();
    shop.seller.behave(answer(status, '{}'));
    expect(resultOf(expectOutcome(await retry(), 'answered'))).toMatchObject({ billable: false });
    expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
    shop.seller.behave(() => '{"ok":true}');
    expect(resultOf(expectOutcome(await retry(), 'answered'))).toMatchObject({ billable: true });
    expect(shop.seller.requests.map((request) => verifyRequest({ ...request, secret: shop.secret }).attempt)).toEqual([
      1, 2,
    ]);
  });

  it('while quoted gets the same offer again, and its call is in the history from then on', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const heal = harness.transport.lose(createOffer, 'answer');
    expect(await reasonOf(harness.call(buyer, shop))).toBe('dependency_unavailable');
    heal();
    const relayRequestId = await harness.buy(buyer, shop);
    // Another process may have quoted it, which writes quotes a moment later.
    await eventually(async () =>
      expect((await harness.history(buyer)).items).toMatchObject([
        { status: 'paid', payment: { provider: 'sandbox', relay_request_id: relayRequestId } },
      ]),
    );
    await harness.answer(buyer, shop, BODY, { relayRequestId });
    expect((await harness.history(buyer)).items).toMatchObject([
      { status: 'succeeded', payment: { relay_request_id: relayRequestId } },
    ]);
    const rows = await harness.ledger.inspect('SELECT 1 FROM payments_ledger.payments WHERE buyer_id = $1', [buyer]);
    expect(rows).toHaveLength(1);
  });

  it('shows nothing of a stored result to its Idempotency-Key before it is charged for', async () => {
    const [buyer, shop, key] = [newId(), await harness.open(), newId()];
    const relayRequestId = await harness.buy(buyer, shop, BODY, { key });
    const heal = harness.transport.lose(settlePayment, 'request');
    expect((await harness.call(buyer, shop, BODY, { key, relayRequestId })).outcome).toBe('pending');
    expect(expectOutcome(await harness.call(buyer, shop, BODY, { key }), 'pending').relayRequestId).toBe(
      relayRequestId,
    );
    heal();
    const settled = await harness.answer(buyer, shop, BODY, { key });
    expect([settled.dataJson, settled.idempotencyReplayed]).toEqual([await storedOf(relayRequestId), true]);
    expect([shop.seller.requests.length, await harness.chargesOf(relayRequestId)]).toEqual([1, 1]);
  });

  it('is made anew by the other process when its own lost the lock: the first stored result is what everyone gets', async () => {
    const gates = [held(() => '{"attempt":1}'), held(() => '{"attempt":1}')];
    const buyer = newId();
    const shops = await Promise.all(gates.map(({ behaviour }) => harness.open(undefined, behaviour)));
    const relayRequestIds = await Promise.all(shops.map((shop) => harness.buy(buyer, shop)));
    const call = (n: number): ReturnType<GatewayHarness['call']> =>
      harness.call(buyer, shops[n]!, BODY, { relayRequestId: relayRequestIds[n] });
    // Requests alternate between the processes, so each process has one of the calls.
    const firsts = Promise.all([call(0), call(1)]);
    const retryAll = (): Promise<unknown> => Promise.allSettled([call(1), call(0)]);
    await eventually(() => expect(shops.map(({ seller }) => seller.requests.length)).toEqual([1, 1]));
    const heal = harness.cutLocks(0);
    shops.forEach(({ seller }) => seller.behave(() => '{"attempt":2}'));
    const attempts = (): number[] => shops.map(({ seller }) => seller.requests.length).sort();
    const retries: Promise<unknown>[] = [];
    await eventually(
      () => {
        retries.push(retryAll());
        expect(attempts()).toEqual([1, 2]);
      },
      { withinMs: 8_000, everyMs: 200 },
    );
    // The call of the process that was not cut off stays its own, however long it takes.
    await Promise.all([...retries, retryAll()]);
    expect(attempts()).toEqual([1, 2]);
    gates.forEach(({ release }) => release());
    await firsts;
    heal();
    for (const [n, shop] of shops.entries()) {
      const answered = await eventually(() =>
        harness.answer(buyer, shop, BODY, { relayRequestId: relayRequestIds[n] }),
      );
      expect(resultOf(answered).seller_response).toEqual({ attempt: shop.seller.requests.length });
      const sent = shop.seller.requests.map((request) => verifyRequest({ ...request, secret: shop.secret }));
      expect(sent.map(({ attempt }) => attempt)).toEqual(sent.map((_, index) => index + 1));
      expect(new Set(sent.map(({ requestId }) => requestId)).size).toBe(1);
      expect(await harness.chargesOf(relayRequestIds[n]!)).toBe(1);
    }
    expect(attempts()).toEqual([1, 2]);
  });
});

describe('the resume job', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      replicas: 2,
      env: {
        GATEWAY_RESUME_INTERVAL_MS: '50',
        PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '50',
        PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '50',
        GATEWAY_WAIT_FOR_RESULT_MS: '200',
      },
    });
  });
  afterAll(() => harness.stop());

  /** Creates calls whose result is stored but not charged, as after a crash. */
  const unsettled = async (count: number): Promise<Unsettled[]> => {
    const heal = harness.transport.lose(settlePayment, 'request');
    const calls = await Promise.all(
      Array.from({ length: count }, async () => {
        const [buyer, shop] = [newId(), await harness.open()];
        const relayRequestId = await harness.buy(buyer, shop);
        expectOutcome(await harness.call(buyer, shop, BODY, { relayRequestId }), 'pending');
        return { buyer, shop, relayRequestId };
      }),
    );
    heal();
    return calls;
  };
  const age = (relayRequestIds: string[]): Promise<unknown> =>
    harness.db.inspect(
      "UPDATE gateway.gateway_requests SET completed_at = now() - interval '3 seconds' WHERE relay_request_id = ANY($1)",
      [relayRequestIds],
    );
  const payments = (change: string, relayRequestIds: string[]): Promise<unknown> =>
    harness.ledger.inspect(`UPDATE payments_ledger.payments SET ${change} WHERE relay_request_id = ANY($1)`, [
      relayRequestIds,
    ]);
  /** Delivers the event of a call's payment once more, as one of its own, and returns when the gateway has handled it. */
  const repeatArrival = async (relayRequestId: string): Promise<void> => {
    const [event] = await harness.ledger.inspect<{ id: string }>(
      `INSERT INTO payments_ledger.outbox (id, subject, payload, request_id)
       SELECT gen_random_uuid(), subject, payload, request_id FROM payments_ledger.outbox
       WHERE subject = $1 AND payload ->> 'gatewayRequestId' =
         (SELECT gateway_request_id::text FROM payments_ledger.payments WHERE relay_request_id = $2)
       RETURNING id`,
      [paymentArrived.subject, relayRequestId],
    );
    await eventually(async () =>
      expect(
        await harness.db.inspect('SELECT 1 FROM gateway.inbox WHERE subject = $1 AND event_id = $2', [
          paymentArrived.subject,
          event!.id,
        ]),
      ).toHaveLength(1),
    );
  };
  const settledAt = async (relayRequestId: string): Promise<Date | null> =>
    (
      await harness.db.inspect<{ settled_at: Date | null }>(
        'SELECT settled_at FROM gateway.gateway_requests WHERE relay_request_id = $1',
        [relayRequestId],
      )
    )[0]!.settled_at;

  it('charges each delivered call once, with two processes doing it and nobody asking', async () => {
    const calls = await unsettled(12);
    const ids = calls.map(({ relayRequestId }) => relayRequestId);
    await age(ids);
    await eventually(async () =>
      expect(new Set(await Promise.all(ids.map(async (id) => (await harness.paymentOf(id)).state)))).toEqual(
        new Set(['completed']),
      ),
    );
    expect(await Promise.all(ids.map((id) => harness.chargesOf(id)))).toEqual(ids.map(() => 1));
    await eventually(async () => expect(await Promise.all(ids.map(settledAt))).not.toContain(null));
    for (const { buyer, shop, relayRequestId } of calls) {
      expect(resultOf(await harness.answer(buyer, shop, BODY, { relayRequestId }))).toMatchObject({ billable: true });
      expect(shop.seller.requests).toHaveLength(1);
    }
  });

  it('is not stopped by a call that cannot be settled', async () => {
    const [bad, good] = (await unsettled(2)) as [Unsettled, Unsettled];
    await harness.db.inspect(
      'UPDATE gateway.gateway_requests SET payment_id = $2, listing_id = $2 WHERE relay_request_id = $1',
      [bad.relayRequestId, newId()],
    );
    await age([bad.relayRequestId, good.relayRequestId]);
    await eventually(async () => expect((await harness.paymentOf(good.relayRequestId)).state).toBe('completed'));
    expect((await harness.paymentOf(bad.relayRequestId)).state).toBe('verified');
    await harness.db.inspect('DELETE FROM gateway.gateway_requests WHERE relay_request_id = $1', [bad.relayRequestId]);
  });

  it('lets a call be that was refunded before it could be charged, and the buyer buys anew', async () => {
    const [{ buyer, shop, relayRequestId }] = (await unsettled(1)) as [Unsettled];
    await payments("retry_until = now() - interval '1 second'", [relayRequestId]);
    await eventually(async () =>
      expect((await harness.history(buyer)).items).toMatchObject([
        { status: 'refund_due', billable: false, charged_amount: { amount_cents: 0 } },
      ]),
    );
    expect(await harness.chargesOf(relayRequestId)).toBe(0);
    const outcome = expectOutcome(await harness.call(buyer, shop, BODY, { relayRequestId }), 'payment_required');
    expect([outcome.reason, outcome.payment.relay_request_id === relayRequestId]).toEqual(['refund_due', false]);
  });

  it('shows a call whose signature could not be settled as expired, since nothing was paid', async () => {
    const [{ buyer, relayRequestId }] = (await unsettled(1)) as [Unsettled];
    await harness.ledger.inspect(
      `DELETE FROM payments_ledger.sandbox_transfers
       WHERE payment_id = (SELECT id FROM payments_ledger.payments WHERE relay_request_id = $1)`,
      [relayRequestId],
    );
    await harness.db.inspect(
      'UPDATE gateway.gateway_requests SET offer_expires_at = now() WHERE relay_request_id = $1',
      [relayRequestId],
    );
    await payments("state = 'indeterminate'", [relayRequestId]);
    await payments("state = 'expired', received_base_units = 0, transaction_hash = NULL, expires_at = now()", [
      relayRequestId,
    ]);
    await age([relayRequestId]);
    await eventually(async () =>
      expect((await harness.history(buyer)).items).toMatchObject([
        { status: 'expired', billable: false, charged_amount: { amount_cents: 0 } },
      ]),
    );
    // The event of the payment may arrive after the call was given up.
    await repeatArrival(relayRequestId);
    expect((await harness.history(buyer)).items).toMatchObject([{ status: 'expired', billable: false }]);
  });

  it('leaves an answer that came after the refund unstored and uncharged', async () => {
    const gate = held();
    const [buyer, shop] = [newId(), await harness.open(undefined, gate.behaviour)];
    const relayRequestId = await harness.buy(buyer, shop);
    const call = harness.call(buyer, shop, BODY, { relayRequestId });
    await eventually(() => expect(shop.seller.requests).toHaveLength(1));
    const other = await harness.buy(newId(), shop, '{"never":"called"}');
    await payments("retry_until = now() - interval '1 second'", [relayRequestId, other]);
    // A call that is under way is not refunded while its process has the lock, as another is.
    await eventually(async () => expect((await harness.paymentOf(other)).state).toBe('refund_due'));
    expect((await harness.paymentOf(relayRequestId)).state).toBe('verified');
    const heal = [harness.cutLocks(0), harness.cutLocks(1)];
    await eventually(async () =>
      expect((await harness.history(buyer)).items).toMatchObject([{ status: 'refund_due' }]),
    );
    gate.release();
    expectOutcome(await call, 'pending');
    expect((await harness.history(buyer)).items).toMatchObject([{ status: 'refund_due', billable: false }]);
    heal.forEach((end) => end());
    const again = await eventually(() => harness.call(buyer, shop, BODY, { relayRequestId }));
    expect(expectOutcome(again, 'payment_required').reason).toBe('refund_due');
    expect(await harness.chargesOf(relayRequestId)).toBe(0);
  });
});
