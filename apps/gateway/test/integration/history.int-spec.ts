import { getGatewayRequest, listGatewayRequests } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import { createHash } from 'node:crypto';
import {
  as,
  BODY,
  reasonOf,
  startGateway,
  type GatewayHarness,
  type HistoryEntry,
  type Shop,
} from '../support/gateway-harness.js';
import { answer } from '../support/test-seller.js';

const SECRET_BODY = '{"question":"secret of the buyer"}';
const SECRET_ANSWER = '{"answer":"secret of the seller"}';
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the history of calls', () => {
  let harness: GatewayHarness;
  let shop: Shop;
  const [ada, bob, stranger] = [newId(), newId(), newId()];
  const started = new Date();

  beforeAll(async () => {
    harness = await startGateway();
    shop = await harness.open({ sellerId: bob }, () => SECRET_ANSWER);
    const failing = await harness.open(
      { sellerId: bob, name: 'Broken' },
      answer(500, '{"trace":"secret of the seller"}'),
    );
    const adas = await harness.open({ sellerId: ada });
    await harness.answer(ada, shop, SECRET_BODY, { relayRequestId: await harness.buy(ada, shop, SECRET_BODY) });
    await harness.answer(ada, failing, SECRET_BODY, { relayRequestId: await harness.buy(ada, failing, SECRET_BODY) });
    await harness.answer(bob, adas, BODY, { relayRequestId: await harness.buy(bob, adas) });
    await harness.quote(stranger, shop);
    await harness.quote(ada, shop, '{"n":1}');
    const unpaid = await harness.quote(ada, shop, '{"n":2}');
    await harness.pay(ada, unpaid.payment.relay_request_id, 'pending');
    await harness.call(ada, shop, '{"n":2}', { relayRequestId: unpaid.payment.relay_request_id });
    const over = await harness.quote(ada, shop, '{"n":3}');
    // Reading the history writes what is quoted.
    await harness.history(ada);
    await harness.db.inspect(
      "UPDATE gateway.gateway_requests SET offer_expires_at = now() - interval '1 second' WHERE relay_request_id = $1",
      [over.payment.relay_request_id],
    );
    // Events of the ledger mark payments as settled.
    await eventually(async () =>
      expect(
        await harness.db.inspect('SELECT 1 FROM gateway.gateway_requests WHERE billable AND settled_at IS NULL'),
      ).toEqual([]),
    );
  });
  afterAll(() => harness.stop());

  const brief = ({ items }: { items: HistoryEntry[] }): string[] =>
    items.map(({ role, status }) => `${role} ${status}`);

  it('shows what one bought and what one sold, newest first', async () => {
    const mine = await harness.history(ada);
    expect(brief(mine)).toEqual([
      'buyer expired',
      'buyer payment_pending',
      'buyer payment_required',
      'seller succeeded',
      'buyer seller_failed',
      'buyer succeeded',
    ]);
    expect(mine.total).toBe(6);
    expect(listGatewayRequests.output.safeParse(mine).error).toBeUndefined();
    expect(brief(await harness.history(bob))).toEqual([
      'seller expired',
      'seller payment_pending',
      'seller payment_required',
      'seller payment_required',
      'buyer succeeded',
      'seller seller_failed',
      'seller succeeded',
    ]);
  });

  it("tells a seller no transaction of a buyer's wallet that did not pay for a call", async () => {
    const failedFor = async (who: string): Promise<HistoryEntry> =>
      (await harness.history(who, { status: 'seller_failed' })).items[0]!;
    expect((await failedFor(ada)).payment).toMatchObject({
      relay_request_id: expect.stringMatching(/^0x/) as string,
      transaction_hash: expect.stringMatching(/^0x/) as string,
    });
    expect((await failedFor(bob)).payment).toMatchObject({ relay_request_id: null, transaction_hash: null });
  });

  it('shows a seller no digest of a body that it was never sent', async () => {
    const digests = (who: string, status: HistoryEntry['status']) =>
      harness.history(who, { status }).then(({ items }) => items.map(({ request_digest }) => request_digest));
    for (const status of ['payment_required', 'payment_pending', 'expired'] as const)
      expect(new Set(await digests(bob, status))).toEqual(new Set([null]));
    expect([await digests(ada, 'payment_required'), await digests(ada, 'payment_pending')]).toEqual([
      [digestOf('{"n":1}')],
      [digestOf('{"n":2}')],
    ]);
    expect(await digests(bob, 'seller_failed')).toEqual([digestOf(SECRET_BODY)]);
  });

  it('shows an answer that is not charged for as being settled, at no cost, and its digest to its seller alone', async () => {
    const shown = async (status: HistoryEntry['status']) =>
      (
        await Promise.all(
          [ada, bob].map((who) => harness.history(who, { status, listing_id: shop.offering.listingId })),
        )
      ).map(({ items }) => {
        const { billable, charged_amount, fees, response_digest } = items[0]!;
        return [billable, charged_amount.amount_cents, fees.seller_receives_cents, response_digest];
      });
    const settle = (at: string) =>
      harness.db.inspect(
        `UPDATE gateway.gateway_requests SET settled_at = ${at} WHERE buyer_id = $1 AND listing_id = $2 AND billable`,
        [ada, shop.offering.listingId],
      );
    await settle('NULL');
    expect(await shown('settling')).toEqual([
      [null, 0, 0, null],
      [null, 0, 0, digestOf(SECRET_ANSWER)],
    ]);
    await settle('now()');
    expect(await shown('succeeded')).toEqual(Array(2).fill([true, 25, 23.75, digestOf(SECRET_ANSWER)]));
  });

  it('shows a call whose money arrived as paid, with its transaction, for as long as it can be repeated', async () => {
    const [buyer, bought] = [newId(), await harness.open()];
    const relayRequestId = await harness.buy(buyer, bought, BODY);
    const { retry_until } = await harness.paymentOf(relayRequestId);
    const paid = await eventually(async () => {
      const { items } = await harness.history(buyer, { status: 'paid' });
      expect(items).toHaveLength(1);
      return items[0]!;
    });
    expect(paid).toMatchObject({ billable: null, charged_amount: { amount_cents: 0 }, refund: null });
    expect(paid.payment!.transaction_hash).not.toBeNull();
    expect(
      await harness.db.inspect('SELECT offer_expires_at FROM gateway.gateway_requests WHERE id = $1', [paid.id]),
    ).toEqual([{ offer_expires_at: retry_until }]);
    await harness.answer(buyer, bought, BODY, { relayRequestId });
    expect((await harness.history(buyer)).items).toMatchObject([{ status: 'succeeded', billable: true }]);
  });

  it('tells both sides the same of a call, and nothing of what was said in it', async () => {
    const [bought] = (await harness.history(ada, { status: 'succeeded', role: 'buyer' })).items;
    const [sold] = (await harness.history(bob, { status: 'succeeded', role: 'seller' })).items;
    // Only the buyer sees the relay request id.
    expect(sold).toEqual({ ...bought, role: 'seller', payment: { ...bought!.payment, relay_request_id: null } });
    expect(bought).toEqual({
      id: expect.any(String) as string,
      request_id: bought!.id,
      listing: { id: shop.offering.listingId, name: 'Weather', slug: shop.offering.slug },
      kind: 'json',
      content_type: null,
      size: null,
      progress: null,
      deadline: null,
      retry_after_seconds: null,
      role: 'buyer',
      buyer_id: ada,
      seller_id: bob,
      status: 'succeeded',
      billable: true,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      fees: { fee_rate: 0.05, fee_amount_cents: 1.25, seller_receives_cents: 23.75 },
      usage: null,
      payment: {
        provider: 'sandbox',
        scheme: 'deposit',
        network: 'eip155:84532',
        relay_request_id: expect.stringMatching(/^0x/) as string,
        transaction_hash: expect.stringMatching(/^0x/) as string,
      },
      refund: null,
      seller_status_code: 200,
      latency_ms: expect.any(Number) as number,
      error_code: null,
      request_digest: digestOf(SECRET_BODY),
      response_digest: digestOf(SECRET_ANSWER),
      created_at: expect.stringMatching(/Z$/) as string,
      completed_at: expect.stringMatching(/Z$/) as string,
    });
    const everything = JSON.stringify([await harness.history(ada), await harness.history(bob)]);
    expect(everything).not.toMatch(/secret of|127\.0\.0\.1|whsec_/);
  });

  it('charges nothing for what was not delivered', async () => {
    for (const entry of (await harness.history(ada, { role: 'buyer' })).items.filter(
      ({ status }) => status !== 'succeeded',
    )) {
      expect([
        entry.billable === true,
        entry.charged_amount.amount_cents,
        entry.fees.fee_amount_cents,
        entry.fees.seller_receives_cents,
      ]).toEqual([false, 0, 0, 0]);
    }
  });

  it.each<[string, Parameters<GatewayHarness['history']>[1], number]>([
    ['the buying side', { role: 'buyer' }, 5],
    ['the selling side', { role: 'seller' }, 1],
    ['both', { role: 'all' }, 6],
    ['a status', { status: 'succeeded' }, 2],
    ['a status that only time made', { status: 'expired' }, 1],
    ['the status it was before', { status: 'payment_required' }, 1],
    ['a status and a side', { status: 'succeeded', role: 'seller' }, 1],
    ['a listing nobody has', { listing_id: newId() }, 0],
    ['a time since the beginning', { from: started.toISOString() }, 6],
    ['a time before it', { to: started.toISOString() }, 0],
  ])('is filtered by %s, with an exact total', async (_name, filter, total) => {
    const page = await harness.history(ada, filter);
    expect([page.total, page.items.length]).toEqual([total, total]);
  });

  it('is filtered by listing', async () => {
    expect((await harness.history(ada, { listing_id: shop.offering.listingId })).total).toBe(4);
    expect((await harness.history(stranger, { listing_id: shop.offering.listingId })).total).toBe(1);
  });

  it('is cut into pages that add up, and is empty beyond the end', async () => {
    const pages = await Promise.all([1, 2, 3, 1_000_000_000].map((page) => harness.history(ada, { page, limit: 4 })));
    expect(pages.map(({ items, total }) => [items.length, total])).toEqual([
      [4, 6],
      [2, 6],
      [0, 6],
      [0, 6],
    ]);
    expect(pages.flatMap(({ items }) => items)).toEqual((await harness.history(ada)).items);
  });

  it('is counted and cut from indexes, however much there is', async () => {
    const busy = newId();
    await harness.db.inspect(
      `INSERT INTO gateway.gateway_requests (id, buyer_id, seller_id, listing_id, listing_name, listing_slug,
         status, body_digest, gross_micros, fee_micros, net_micros, fee_bps, created_at)
       SELECT gen_random_uuid(), CASE n % 20 WHEN 0 THEN $1 ELSE gen_random_uuid() END,
         CASE n % 20 WHEN 1 THEN $1 ELSE gen_random_uuid() END, $2, 'Weather', 'weather',
         CASE n % 40 WHEN 0 THEN 'seller_failed' ELSE 'refunded' END, sha256('body'), 0, 0, 0, 0, now() - n * interval '1 minute'
       FROM generate_series(1, 40000) n`,
      [busy, shop.offering.listingId],
    );
    await harness.db.inspect('ANALYZE gateway.gateway_requests');
    const last = await harness.history(busy, { page: 40, limit: 100 });
    expect([last.total, last.items.length]).toEqual([4_000, 100]);
    expect(last.items.map(({ created_at }) => created_at)).toEqual(
      last.items
        .map(({ created_at }) => created_at)
        .toSorted()
        .reverse(),
    );
    expect((await harness.history(busy, { role: 'seller', status: 'seller_failed' })).total).toBe(0);
    expect((await harness.history(busy, { role: 'buyer', status: 'seller_failed' })).total).toBe(1_000);
    expect(
      (await harness.history(busy, { from: new Date(Date.now() - 60 * 60_000 - 30_000).toISOString() })).total,
    ).toBe(6);
    // What is cheapest depends on the visibility map, which any older snapshot on the server delays.
    for (const way of ['seqscan', 'bitmapscan'])
      await harness.db.inspect(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_${way} = off', current_database()); END $$`,
      );
    const plans = await Promise.all(
      [
        `SELECT count(*) FROM gateway.gateway_requests g WHERE g.buyer_id = '${busy}'`,
        `SELECT g.id, g.created_at FROM gateway.gateway_requests g WHERE g.seller_id = '${busy}'
         ORDER BY g.created_at DESC, g.id DESC LIMIT 100 + 5000`,
      ].map(async (statement) =>
        (await harness.db.inspect<{ 'QUERY PLAN': string }>(`EXPLAIN ${statement}`))
          .map((line) => line['QUERY PLAN'])
          .join('\n'),
      ),
    );
    for (const plan of plans) expect(plan).toMatch(/Index Only Scan using gateway_requests_(buyer|seller)/);
  });

  it('tells every attempt at a call, the one that was delivered last', async () => {
    const attempts = async (status: HistoryEntry['status']) => {
      const [{ id }] = (await harness.history(ada, { status, role: 'buyer' })).items as [HistoryEntry];
      const call = await harness.edge.request(getGatewayRequest, { requestId: id }, as(ada));
      return call.attempts.map(({ outcome, seller_status_code }) => [outcome, seller_status_code]);
    };
    expect(await attempts('succeeded')).toEqual([['delivered', 200]]);
    expect(await attempts('seller_failed')).toEqual([['seller_error', 500]]);
    expect(await attempts('payment_required')).toEqual([]);
  });

  it('shows a single call to its two sides and to nobody else', async () => {
    const [entry] = (await harness.history(ada, { status: 'succeeded', role: 'buyer' })).items;
    expect(await harness.edge.request(getGatewayRequest, { requestId: entry!.id }, as(ada))).toEqual({
      ...entry,
      attempts: [expect.objectContaining({ outcome: 'delivered', latency_ms: entry!.latency_ms })],
    });
    expect(await harness.edge.request(getGatewayRequest, { requestId: entry!.id }, as(bob))).toEqual({
      ...entry,
      attempts: expect.any(Array) as unknown[],
      role: 'seller',
      payment: { ...entry!.payment, relay_request_id: null },
    });
    expect(await reasonOf(harness.edge.request(getGatewayRequest, { requestId: entry!.id }, as(stranger)))).toBe(
      'gateway_request_not_found',
    );
    expect(await reasonOf(harness.edge.request(getGatewayRequest, { requestId: newId() }, as(ada)))).toBe(
      'gateway_request_not_found',
    );
    expect((await harness.history(newId())).total).toBe(0);
  });
});
