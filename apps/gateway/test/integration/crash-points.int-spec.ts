import { claimsHeld } from '@market/contracts/gateway';
import { claimPayment, createOffer, releasePayment, settlePayment } from '@market/contracts/payments-ledger';
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
  const endLease = (relayRequestId: string): Promise<unknown> =>
    harness.ledger.inspect(
      "UPDATE payments_ledger.payments SET lease_until = now() - interval '1 second' WHERE relay_request_id = $1",
      [relayRequestId],
    );
  const storedOf = async (relayRequestId: string): Promise<string | undefined> =>
    (
      await harness.db.inspect<{ result_json: string }>(
        'SELECT result_json FROM gateway.gateway_requests WHERE relay_request_id = $1 AND billable',
        [relayRequestId],
      )
    )[0]?.result_json;

  it.each([1, 16])(
    'between the stored result and its settlement is settled by a retry after the lease, with %i at once and no second call of the seller',
    async (copies) => {
      const { shop, relayRequestId, retry } = await bought();
      const heal = harness.transport.lose(settlePayment, 'request');
      expect(expectOutcome(await retry(), 'pending').relayRequestId).toBe(relayRequestId);
      const stored = await storedOf(relayRequestId);
      expect(stored).toContain('drawn');
      expect([(await harness.paymentOf(relayRequestId)).state, await harness.chargesOf(relayRequestId)]).toEqual([
        'in_flight',
        0,
      ]);
      heal();
      expect((await retry()).outcome).toBe('pending');
      await endLease(relayRequestId);
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

  it('between the claim and the call of the seller is made by a retry within seconds: no process names the claim', async () => {
    const { shop, retry } = await bought();
    const heal = harness.transport.lose(claimPayment, 'answer');
    expect(await reasonOf(retry())).toBe('dependency_unavailable');
    heal();
    expect((await retry()).outcome).toBe('pending');
    expect(shop.seller.requests).toEqual([]);
    await eventually(async () => expectOutcome(await retry(), 'answered'), { withinMs: 6_000 });
    expect(shop.seller.requests).toHaveLength(1);
  });

  it('before the claim is as if it had not been tried', async () => {
    const { relayRequestId, retry } = await bought();
    const before = await harness.paymentOf(relayRequestId);
    const heal = harness.transport.lose(claimPayment, 'request');
    expect(await reasonOf(retry())).toBe('dependency_unavailable');
    expect(await harness.paymentOf(relayRequestId)).toEqual(before);
    heal();
    expectOutcome(await retry(), 'answered');
  });

  it('between a refused call and its release is released once the ledger is there again, with nobody asking', async () => {
    const { shop, relayRequestId, retry } = await bought();
    shop.seller.behave(answer(422, '{}'));
    const heal = harness.transport.lose(releasePayment, 'request');
    expect(resultOf(expectOutcome(await retry(), 'answered'))).toMatchObject({ billable: false });
    const tried = harness.transport.sent(releasePayment);
    await eventually(() => expect(harness.transport.sent(releasePayment)).toBeGreaterThan(tried), { withinMs: 6_000 });
    expect((await harness.paymentOf(relayRequestId)).state).toBe('in_flight');
    heal();
    await eventually(async () => expect((await harness.paymentOf(relayRequestId)).state).toBe('verified'), {
      withinMs: 6_000,
    });
    const released = harness.transport.sent(releasePayment);
    shop.seller.behave(() => '{"ok":true}');
    expect(resultOf(expectOutcome(await retry(), 'answered'))).toMatchObject({ billable: true });
    expect(harness.transport.sent(releasePayment)).toBe(released);
  });

  it.each(['request', 'answer'] as const)(
    'between a failed call and its release (%s lost) is good for another attempt, at the latest after the lease',
    async (loss) => {
      const { shop, relayRequestId, retry } = await bought();
      shop.seller.behave(answer(500, '{}'));
      const heal = harness.transport.lose(releasePayment, loss);
      expect(resultOf(expectOutcome(await retry(), 'answered'))).toMatchObject({ billable: false });
      // The release is repeated every second, so it must stay lost until the lease has expired.
      expect((await harness.paymentOf(relayRequestId)).state).toBe(loss === 'request' ? 'in_flight' : 'verified');
      shop.seller.behave(() => '{"ok":true}');
      await endLease(relayRequestId);
      heal();
      expect(resultOf(expectOutcome(await retry(), 'answered'))).toMatchObject({ billable: true });
      expect(shop.seller.requests.map((request) => verifyRequest({ ...request, secret: shop.secret }).attempt)).toEqual(
        [1, 2],
      );
    },
  );

  it('while quoted gets the same offer again, and its call is in the history from then on', async () => {
    const [buyer, shop] = [newId(), await harness.open()];
    const heal = harness.transport.lose(createOffer, 'answer');
    expect(await reasonOf(harness.call(buyer, shop))).toBe('dependency_unavailable');
    heal();
    const relayRequestId = await harness.buy(buyer, shop);
    expect((await harness.history(buyer)).items).toMatchObject([
      { status: 'payment_required', payment: { provider: 'sandbox', relay_request_id: relayRequestId } },
    ]);
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
    await endLease(relayRequestId);
    const settled = await harness.answer(buyer, shop, BODY, { key });
    expect([settled.dataJson, settled.idempotencyReplayed]).toEqual([await storedOf(relayRequestId), true]);
    expect([shop.seller.requests.length, await harness.chargesOf(relayRequestId)]).toEqual([1, 1]);
  });

  it('lets go of an attempt whose lease was taken over: the first stored result is what everyone gets', async () => {
    const gate = held(() => '{"attempt":1}');
    const [buyer, shop] = [newId(), await harness.open(undefined, gate.behaviour)];
    const relayRequestId = await harness.buy(buyer, shop);
    const first = harness.call(buyer, shop, BODY, { relayRequestId });
    await eventually(() => expect(shop.seller.requests).toHaveLength(1));
    shop.seller.behave(() => '{"attempt":2}');
    await endLease(relayRequestId);
    // The other process takes over the payment. The process of the first attempt would join that attempt instead.
    const second = await eventually(() => harness.answer(buyer, shop, BODY, { relayRequestId }));
    gate.release();
    const late = await first;
    expect(late.outcome === 'pending' || (late.outcome === 'answered' && late.dataJson === second.dataJson)).toBe(true);
    expect(resultOf(second).seller_response).toEqual({ attempt: 2 });
    expect((await harness.answer(buyer, shop, BODY, { relayRequestId })).dataJson).toBe(second.dataJson);
    expect(
      new Set(shop.seller.requests.map((request) => verifyRequest({ ...request, secret: shop.secret }).requestId)).size,
    ).toBe(1);
    expect(await harness.chargesOf(relayRequestId)).toBe(1);
  });

  it('with its process, now silent, is taken over by the other; that of one that is heard is not, however long it takes', async () => {
    const gates = [held(() => '{"attempt":1}'), held(() => '{"attempt":1}')];
    const buyer = newId();
    const shops = await Promise.all(gates.map(({ behaviour }) => harness.open(undefined, behaviour)));
    const relayRequestIds = await Promise.all(shops.map((shop) => harness.buy(buyer, shop)));
    const call = (n: number): Promise<unknown> =>
      harness.call(buyer, shops[n]!, BODY, { relayRequestId: relayRequestIds[n] });
    // Requests alternate between the processes, so each process has one of the calls and then receives a retry of the
    // other.
    const firsts = Promise.all([call(0), call(1)]);
    const retryAll = (): Promise<unknown> => Promise.all([call(1), call(0)]);
    await eventually(() => expect(shops.map(({ seller }) => seller.requests.length)).toEqual([1, 1]));
    const restoreSignals = harness.transport.dropSignals(claimsHeld, 'gateway', 1);
    shops.forEach(({ seller }) => seller.behave(() => '{"attempt":2}'));
    const attempts = (): number[] => shops.map(({ seller }) => seller.requests.length).sort();
    await eventually(
      async () => {
        await retryAll();
        expect(attempts()).toEqual([1, 2]);
      },
      { withinMs: 8_000 },
    );
    await retryAll();
    restoreSignals();
    gates.forEach(({ release }) => release());
    await firsts;
    for (const [n, shop] of shops.entries()) {
      const answered = await eventually(() =>
        harness.answer(buyer, shop, BODY, { relayRequestId: relayRequestIds[n] }),
      );
      expect(resultOf(answered).seller_response).toEqual({ attempt: shop.seller.requests.length });
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
  const settledAt = async (relayRequestId: string): Promise<Date | null> =>
    (
      await harness.db.inspect<{ settled_at: Date | null }>(
        'SELECT settled_at FROM gateway.gateway_requests WHERE relay_request_id = $1',
        [relayRequestId],
      )
    )[0]!.settled_at;

  it.each<[string, string | null]>([
    ['whose lease still runs', null],
    ['whose lease is over', "lease_until = now() - interval '1 second'"],
    ['whose claim was given back', "state = 'verified', lease_until = NULL"],
  ])('charges each delivered call once %s, with two processes doing it and nobody asking', async (_name, change) => {
    const calls = await unsettled(12);
    const ids = calls.map(({ relayRequestId }) => relayRequestId);
    if (change) await payments(change, ids);
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
    expect((await harness.paymentOf(bad.relayRequestId)).state).toBe('in_flight');
    await harness.db.inspect('DELETE FROM gateway.gateway_requests WHERE relay_request_id = $1', [bad.relayRequestId]);
  });

  it('lets a call be that was refunded before it could be charged, and the buyer buys anew', async () => {
    const [{ buyer, shop, relayRequestId }] = (await unsettled(1)) as [Unsettled];
    await payments("lease_until = now() - interval '61 seconds', retry_until = now() - interval '1 second'", [
      relayRequestId,
    ]);
    await eventually(async () =>
      expect((await harness.history(buyer)).items).toMatchObject([
        { status: 'refunded', billable: false, charged_amount: { amount_cents: 0 } },
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
    await payments("state = 'indeterminate', lease_until = NULL", [relayRequestId]);
    await payments("state = 'expired', received_base_units = 0, transaction_hash = NULL, expires_at = now()", [
      relayRequestId,
    ]);
    await age([relayRequestId]);
    await eventually(async () =>
      expect((await harness.history(buyer)).items).toMatchObject([
        { status: 'expired', billable: false, charged_amount: { amount_cents: 0 } },
      ]),
    );
  });

  it('leaves an answer that came after the refund unstored and uncharged', async () => {
    const gate = held();
    const [buyer, shop] = [newId(), await harness.open(undefined, gate.behaviour)];
    const relayRequestId = await harness.buy(buyer, shop);
    const call = harness.call(buyer, shop, BODY, { relayRequestId });
    await eventually(() => expect(shop.seller.requests).toHaveLength(1));
    await payments("lease_until = now() - interval '61 seconds', retry_until = now() - interval '1 second'", [
      relayRequestId,
    ]);
    await eventually(async () => expect((await harness.history(buyer)).items).toMatchObject([{ status: 'refunded' }]));
    gate.release();
    expectOutcome(await call, 'pending');
    expect((await harness.history(buyer)).items).toMatchObject([{ status: 'refunded', billable: false }]);
    expect(expectOutcome(await harness.call(buyer, shop, BODY, { relayRequestId }), 'payment_required').reason).toBe(
      'refund_due',
    );
    expect(await harness.chargesOf(relayRequestId)).toBe(0);
  });
});
