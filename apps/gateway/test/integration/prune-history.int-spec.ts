import { getGatewayRequest } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import {
  as,
  BODY,
  reasonOf,
  refusalOf,
  resultOf,
  startGateway,
  type GatewayHarness,
} from '../support/gateway-harness.js';

describe('what is kept of calls', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      env: { GATEWAY_PRUNE_INTERVAL_MS: '50', GATEWAY_RESULTS_KEPT_DAYS: '30', GATEWAY_HISTORY_KEPT_DAYS: '90' },
    });
  });
  afterAll(() => harness.stop());

  const delivered = async (body = BODY) => {
    const [buyer, shop] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, shop, body);
    const { request_id: id } = resultOf(await harness.answer(buyer, shop, body, { relayRequestId }));
    return { buyer, shop, relayRequestId, id, repeat: () => harness.call(buyer, shop, body, { relayRequestId }) };
  };
  const isSettled = (id: string): Promise<void> =>
    eventually(async () =>
      expect(
        await harness.db.inspect('SELECT 1 FROM gateway.gateway_requests WHERE id = $1 AND settled_at IS NOT NULL', [
          id,
        ]),
      ).toHaveLength(1),
    );
  const completedDaysAgo = (id: string, days: number): Promise<unknown> =>
    harness.db.inspect(
      `UPDATE gateway.gateway_requests SET completed_at = now() - $2 * interval '1 day' WHERE id = $1`,
      [id, days],
    );
  /** Changes the time in an id, which begins with milliseconds. */
  const madeDaysAgo = async (id: string, days: number): Promise<string> => {
    const aged = `${(Date.now() - days * 86_400_000)
      .toString(16)
      .padStart(12, '0')
      .replace(/(.{8})/, '$1-')}${id.slice(13)}`;
    await harness.db.inspect('UPDATE gateway.gateway_requests SET id = $2 WHERE id = $1', [id, aged]);
    return aged;
  };
  const kept = async (id: string): Promise<{ row: boolean; result: boolean }> => {
    const [found] = await harness.db.inspect<{ result_json: string | null }>(
      'SELECT result_json FROM gateway.gateway_requests WHERE id = $1',
      [id],
    );
    return { row: found !== undefined, result: typeof found?.result_json === 'string' };
  };

  it('is the result for a month, in which its relay id brings it; then that is said, and nobody is called or charged again', async () => {
    const [young, old] = [await delivered(), await delivered()];
    await Promise.all([young.id, old.id].map(isSettled));
    await completedDaysAgo(young.id, 29.9);
    await completedDaysAgo(old.id, 30.1);
    await eventually(async () => expect(await kept(old.id)).toEqual({ row: true, result: false }));
    expect((await young.repeat()).outcome).toBe('answered');
    const refused = await refusalOf(old.repeat());
    expect([refused.reason, refused.declaration.kind, refused.declaration.recovery?.drop]).toEqual([
      'result_not_kept',
      'not-found',
      ['X-Market-Relay-Request-Id', 'Idempotency-Key'],
    ]);
    expect(old.shop.seller.requests).toHaveLength(1);
    expect(await harness.chargesOf(old.relayRequestId)).toBe(1);
    const entry = await harness.edge.request(getGatewayRequest, { requestId: old.id }, as(old.buyer));
    expect(entry).toMatchObject({
      status: 'succeeded',
      billable: true,
      charged_amount: { amount_cents: 25 },
      response_digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
  });

  it('is a quote that nobody paid for a day after its offer, and one that may still be paid for', async () => {
    const buyer = newId();
    const [old, recent, pending] = await Promise.all(
      ['{"n":1}', '{"n":2}', '{"n":3}'].map(async (body) => {
        const shop = await harness.open();
        await harness.quote(buyer, shop, body);
        const { items } = await harness.history(buyer, { listing_id: shop.offering.listingId });
        return items[0]!.id;
      }),
    );
    const overSince = (id: string, hours: number, status = 'payment_required'): Promise<unknown> =>
      harness.db.inspect(
        `UPDATE gateway.gateway_requests SET offer_expires_at = now() - $2 * interval '1 hour', status = $3 WHERE id = $1`,
        [id, hours, status],
      );
    await Promise.all([overSince(old!, 25), overSince(recent!, 23), overSince(pending!, 25, 'payment_pending')]);
    await eventually(async () => expect((await kept(old!)).row).toBe(false));
    expect([(await kept(recent!)).row, (await kept(pending!)).row]).toEqual([true, true]);
    expect((await harness.history(buyer)).total).toBe(2);
  });

  it('is the call for three months, delivered or not', async () => {
    const call = await delivered();
    await isSettled(call.id);
    await completedDaysAgo(call.id, 89);
    const [young, [unpaidOld, unpaidYoung]] = [
      await madeDaysAgo(call.id, 89),
      await Promise.all([delivered('{"n":1}'), delivered('{"n":2}')]),
    ];
    for (const { id } of [unpaidOld, unpaidYoung])
      await harness.db.inspect(
        `UPDATE gateway.gateway_requests SET status = 'payment_required', billable = NULL, result_json = NULL WHERE id = $1`,
        [id],
      );
    const [gone, stays] = [await madeDaysAgo(unpaidOld.id, 91), await madeDaysAgo(unpaidYoung.id, 89)];
    await eventually(async () => expect(await kept(gone)).toEqual({ row: false, result: false }));
    expect(await kept(stays)).toEqual({ row: true, result: false });
    expect(await kept(young)).toEqual({ row: true, result: false });
    const older = await madeDaysAgo(young, 91);
    await eventually(async () => expect((await kept(older)).row).toBe(false));
    expect(await reasonOf(harness.edge.request(getGatewayRequest, { requestId: older }, as(call.buyer)))).toBe(
      'gateway_request_not_found',
    );
  });

  it('is no longer the result of a call that was refunded, once its month is over', async () => {
    const call = await delivered();
    await isSettled(call.id);
    await harness.db.inspect(
      `UPDATE gateway.gateway_requests SET status = 'refunded', billable = false, settled_at = NULL WHERE id = $1`,
      [call.id],
    );
    await completedDaysAgo(call.id, 31);
    await eventually(async () => expect(await kept(call.id)).toEqual({ row: true, result: false }));
  });

  it('is a result that is not settled, however old', async () => {
    const [unsettled, settled] = [await delivered(), await delivered()];
    await Promise.all([unsettled.id, settled.id].map(isSettled));
    await harness.db.inspect('UPDATE gateway.gateway_requests SET settled_at = NULL WHERE id = $1', [unsettled.id]);
    for (const { id } of [unsettled, settled]) await completedDaysAgo(id, 200);
    const [waits, forgotten] = [await madeDaysAgo(unsettled.id, 200), await madeDaysAgo(settled.id, 199)];
    await eventually(async () => expect((await kept(forgotten)).row).toBe(false));
    expect(await kept(waits)).toEqual({ row: true, result: true });
  });
});
