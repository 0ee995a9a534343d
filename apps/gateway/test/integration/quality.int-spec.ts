import { topology, type PayloadOf } from '@market/contracts';
import { listingRemoved } from '@market/contracts/catalog';
import { listingQualityMeasured } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { resultOf, startGateway, type GatewayHarness, type Shop } from '../support/gateway-harness.js';
import { answer } from '../support/test-seller.js';

type Measured = PayloadOf<typeof listingQualityMeasured>;
const MARKETPLACE = '00000000-0000-0000-0000-000000000000';
const broken = answer(500, '{}');
const working = answer(200, '{"ok":true}');

describe('the measured quality of a listing', () => {
  let harness: GatewayHarness;
  beforeAll(async () => {
    harness = await startGateway({
      replicas: 2,
      env: { GATEWAY_QUALITY_INTERVAL_MS: '100', GATEWAY_FAILING_AFTER: '1000' },
    });
  });
  afterAll(() => harness.stop());

  /** Returns the published measurements of a listing, oldest first, and checks that each version occurs once. */
  const measurements = async ({ offering }: Shop): Promise<Measured[]> => {
    const rows = await harness.db.inspect<{ payload: unknown }>(
      'SELECT payload FROM gateway.outbox WHERE subject = $1 ORDER BY id',
      [listingQualityMeasured.subject],
    );
    const events = rows
      .map(({ payload }) => listingQualityMeasured.payload.parse(payload))
      .filter(({ listingId }) => listingId === offering.listingId);
    expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1));
    return events;
  };
  const latest = async (shop: Shop): Promise<Partial<Measured['quality']>> =>
    (await measurements(shop)).at(-1)?.quality ?? {};
  const buy = async (shop: Shop, buyer: string): Promise<boolean> => {
    const body = `{"id":"${newId()}"}`;
    const relayRequestId = await harness.buy(buyer, shop, body);
    return resultOf(await harness.answer(buyer, shop, body, { relayRequestId })).billable === true;
  };
  /** Inserts the evidence of one buyer's calls on another day. */
  const onDay = (
    { offering }: Shop,
    daysAgo: number,
    {
      buyerId = newId(),
      delivered = 0,
      failed = 0,
      ms = 100,
    }: Partial<Record<'delivered' | 'failed' | 'ms', number>> & { buyerId?: string },
  ): Promise<unknown> =>
    harness.db.inspect(
      `INSERT INTO gateway.call_evidence (listing_id, day, buyer_id, delivered, failed_calls, latencies_ms)
       VALUES ($1, current_date - $2::int, $3, $4,
         ARRAY(SELECT gen_random_uuid() FROM generate_series(1, $5)), array_fill($6::int, ARRAY[$4::int]))`,
      [offering.listingId, daysAgo, buyerId, delivered, failed, ms],
    );
  const measureAgain = async (shop: Shop): Promise<void> => {
    await harness.db.inspect(
      `INSERT INTO gateway.listing_quality (listing_id, due_at) VALUES ($1, now()) ON CONFLICT (listing_id) DO UPDATE SET due_at = now()`,
      [shop.offering.listingId],
    );
  };

  it('counts twenty calls of a buyer and day, however many it makes, and all that were charged', async () => {
    const shop = await harness.open(undefined, working);
    const [often, another] = [newId(), newId()];
    for (let n = 0; n < 23; n += 1) expect(await buy(shop, often)).toBe(true);
    shop.seller.behave(broken);
    for (let n = 0; n < 22; n += 1) expect(await buy(shop, often)).toBe(false);
    await eventually(async () => expect(await latest(shop)).toMatchObject({ calls_7d: 23, calls_30d: 23 }));
    // No other buyer failed, so these failures do not count yet.
    expect(await latest(shop)).toMatchObject({ success_rate_7d: 1 });
    expect(await buy(shop, another)).toBe(false);
    await eventually(async () => expect(await latest(shop)).toMatchObject({ success_rate_7d: 0.4878, calls_7d: 23 }));
    const [row] = await harness.db.inspect<{ failed: number; latencies: number }>(
      `SELECT cardinality(failed_calls) AS failed, cardinality(latencies_ms) AS latencies
       FROM gateway.call_evidence WHERE listing_id = $1 AND buyer_id = $2`,
      [shop.offering.listingId, often],
    );
    expect(row).toEqual({ failed: 20, latencies: 20 });
  });

  it('is of seven and of thirty days, and of no longer', async () => {
    const shop = await harness.open();
    await onDay(shop, 0, { delivered: 10, ms: 100 });
    await onDay(shop, 6, { delivered: 10, ms: 200 });
    await onDay(shop, 7, { delivered: 20, ms: 300 });
    await onDay(shop, 29, { delivered: 20, ms: 400 });
    await onDay(shop, 30, { delivered: 20, ms: 500 });
    await measureAgain(shop);
    await eventually(async () =>
      expect(await latest(shop)).toEqual({
        last_success_at: null,
        success_rate_7d: 1,
        success_rate_30d: 1,
        p50_ms_7d: 150,
        p95_ms_7d: 200,
        p50_ms_30d: 300,
        p95_ms_30d: 400,
        calls_7d: 20,
        calls_30d: 60,
        buyers_30d: 4,
        buyers_success_rate_30d: 1,
      }),
    );
    const days = await harness.db.inspect('SELECT 1 FROM gateway.call_evidence WHERE listing_id = $1', [
      shop.offering.listingId,
    ]);
    expect(days).toHaveLength(4);
    // Nothing has changed, so no measurement is published, and the next one is due a day later.
    await measureAgain(shop);
    await eventually(async () => {
      const [row] = await harness.db.inspect<{ hours: number }>(
        'SELECT round(extract(epoch FROM due_at - now()) / 3600)::int AS hours FROM gateway.listing_quality WHERE listing_id = $1',
        [shop.offering.listingId],
      );
      expect(row!.hours).toBe(24);
    });
    expect(await measurements(shop)).toHaveLength(1);
  });

  it('counts the failures of a day where two buyers had one, or a test of ours failed', async () => {
    const shop = await harness.open();
    await onDay(shop, 1, { delivered: 8, failed: 8 });
    await onDay(shop, 2, { failed: 8 });
    await measureAgain(shop);
    await eventually(async () => expect(await latest(shop)).toMatchObject({ success_rate_7d: 1, calls_7d: 8 }));
    await onDay(shop, 2, { failed: 1 });
    await measureAgain(shop);
    await eventually(async () => expect(await latest(shop)).toMatchObject({ success_rate_7d: 0.4706 }));
    await onDay(shop, 1, { failed: 1, buyerId: MARKETPLACE });
    await measureAgain(shop);
    // Those of buyers alone: 8 delivered, 17 failed.
    await eventually(async () =>
      expect(await latest(shop)).toMatchObject({
        success_rate_7d: 0.3077,
        calls_7d: 8,
        buyers_30d: 1,
        buyers_success_rate_30d: 0.32,
      }),
    );
  });

  it('is of no free call and no refusal, and goes with its listing', async () => {
    const free = await harness.open({ priceMicros: '0' }, broken);
    for (const buyer of [newId(), newId()]) await harness.answer(buyer, free, '{"n":1}', {});
    const shop = await harness.open(undefined, answer(404, '{}'));
    for (const buyer of [newId(), newId()]) expect(await buy(shop, buyer)).toBe(false);
    shop.seller.behave(working);
    expect(await buy(shop, newId())).toBe(true);
    await eventually(async () => expect(await latest(shop)).toMatchObject({ success_rate_7d: 1, calls_7d: 1 }));
    expect(await measurements(free)).toEqual([]);
    const link = await harness.transport.connect('catalog', topology.catalog);
    const payload = { listingId: shop.offering.listingId, removedAt: new Date().toISOString() };
    await link.publishEvents([{ id: newId(), subject: listingRemoved.subject, payload, requestId: 'test' }]);
    await eventually(async () =>
      expect(
        await harness.db.inspect(
          'SELECT 1 FROM gateway.call_evidence WHERE listing_id = $1 UNION ALL SELECT 1 FROM gateway.listing_quality WHERE listing_id = $1',
          [shop.offering.listingId],
        ),
      ).toEqual([]),
    );
  });
});
