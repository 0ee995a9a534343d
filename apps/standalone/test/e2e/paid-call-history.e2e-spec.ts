import type { GatewayRequest, GatewayRequestQuery } from '@market/sdk';
import { eventually, startMarketplace, withClient, type RunningMarketplace } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, payFor, quote, resultOf, withRelayId } from '../support/buyer.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { letTimePass } from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

/** A refund is due soon after its time, and is paid in no run. */
const SETTINGS = {
  PAYMENTS_LEDGER_SANDBOX_REFUND_SECONDS: '86400',
  PAYMENTS_LEDGER_SWEEP_INTERVAL_MS: '100',
  GATEWAY_RESUME_INTERVAL_MS: '100',
};
const UNKNOWN_ID = '01995bad-5c00-7000-8000-00000000dead';

inEachMode('the history of calls', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let buyer: Agent;
  let seller: Agent;
  let stranger: Agent;
  let shop: Shop;
  let broken: Shop;
  let bought: Shop;
  let relayOf: Record<string, string>;
  const began = new Date();

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: SETTINGS });
    [buyer, seller, stranger] = await Promise.all([
      registerAgent(marketplace, { displayName: 'Buyer' }),
      registerAgent(marketplace, { displayName: 'Seller' }),
      registerAgent(marketplace),
    ]);
    shop = await openShop(seller, () => ({ secret: 'of the seller' }));
    broken = await openShop(seller, () => reply(500, { secret: 'of the seller' }));
    bought = await openShop(buyer);
    const deliver = async (agent: Agent, { listing }: Shop, body: object): Promise<string> => {
      const relayRequestId = await payFor(agent, listing, body);
      expect((await callOnce(agent, listing, body, withRelayId(relayRequestId))).status).toBe(200);
      return relayRequestId;
    };
    // The calls are made one after another, so that their order is known; those that must wait come first.
    const offer = await quote(buyer, shop.listing, { secret: 'expired' });
    const failed = await quote(buyer, broken.listing, { secret: 'refunded' });
    relayOf = {
      expired: offer.relay_request_id,
      refunded: await deliver(buyer, broken, { secret: 'refunded' }),
    };
    // Reading the history writes what is quoted.
    await list(buyer);
    await letTimePass(marketplace, { offer: offer.payment_id!, window: failed.payment_id! });
    await withClient(marketplace.databaseUrl, (client) =>
      client.query('UPDATE gateway.gateway_requests SET offer_expires_at = now() WHERE relay_request_id = $1', [
        relayOf.expired,
      ]),
    );
    await statusOf('refunded', 'refund_due');
    await statusOf('expired', 'expired');
    relayOf.succeeded = await deliver(buyer, shop, { secret: 'succeeded' });
    await deliver(seller, bought, { secret: 'sold' });
  }, 240_000);
  afterAll(async () => {
    await expectBooksInOrder(marketplace, [shop, bought]);
    await Promise.all([shop, broken, bought].map((each) => each?.close()));
    await marketplace?.stop();
  }, 120_000);

  const list = async (agent: Agent, query: GatewayRequestQuery = {}): Promise<GatewayRequest[]> =>
    (await agent.market.gatewayRequests.list(query)).data;
  const find = async (agent: Agent, relayRequestId: string | undefined): Promise<GatewayRequest> =>
    (await list(agent, { role: 'buyer' })).find(({ payment }) => payment!.relay_request_id === relayRequestId)!;
  const statusOf = (name: string, status: string): Promise<void> =>
    eventually(async () => expect((await find(buyer, relayOf[name])).status).toBe(status), { withinMs: 60_000 });
  const brief = (requests: GatewayRequest[]): string[] => requests.map(({ role, status }) => `${role} ${status}`);

  it('shows what was bought and what was sold, newest first, by role [spec: GET /gateway-requests]', async () => {
    expect(brief(await list(buyer))).toEqual([
      'seller succeeded',
      'buyer succeeded',
      'buyer refund_due',
      'buyer expired',
    ]);
    expect(brief(await list(buyer, { role: 'all' }))).toEqual(brief(await list(buyer)));
    expect(brief(await list(buyer, { role: 'buyer' }))).toEqual([
      'buyer succeeded',
      'buyer refund_due',
      'buyer expired',
    ]);
    expect(brief(await list(buyer, { role: 'seller' }))).toEqual(['seller succeeded']);
    expect(brief(await list(seller, { role: 'seller' }))).toEqual([
      'seller succeeded',
      'seller refund_due',
      'seller expired',
    ]);
    expect(await list(stranger)).toEqual([]);
  });

  it('tells a seller no digest of a request that was never forwarded [spec: GET /gateway-requests]', async () => {
    const [offered] = await list(seller, { role: 'seller', status: 'expired' });
    expect([offered!.request_digest, (await find(buyer, relayOf.expired)).request_digest]).toEqual([
      null,
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ]);
  });

  it('tells what a call was, to both sides, and neither body nor answer [spec: GET /gateway-requests]', async () => {
    const own = await eventually(async () => {
      const request = await find(buyer, relayOf.succeeded);
      expect(request.response_digest).not.toBeNull();
      return request;
    });
    expect(own).toEqual({
      id: own.id,
      request_id: own.id,
      listing: { id: shop.listing.id, name: shop.listing.name, slug: shop.listing.slug },
      kind: 'json',
      content_type: null,
      usage: null,
      size: null,
      progress: null,
      deadline: null,
      retry_after_seconds: null,
      role: 'buyer',
      buyer: { id: buyer.id, display_name: 'Buyer' },
      seller: { id: seller.id, display_name: 'Seller' },
      status: 'succeeded',
      billable: true,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      fees: { fee_rate: 0.05, fee_amount_cents: 1.25, seller_receives_cents: 23.75 },
      payment: {
        provider: 'sandbox',
        scheme: 'deposit',
        network: expect.stringMatching(/^eip155:/),
        relay_request_id: relayOf.succeeded,
        transaction_hash: expect.stringMatching(/^0x/),
      },
      seller_status_code: 200,
      latency_ms: expect.any(Number),
      error_code: null,
      refund: null,
      request_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      response_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      created_at: expect.stringMatching(/Z$/),
      completed_at: expect.stringMatching(/Z$/),
    });
    expect(shop.requests.at(-1)!.call.requestId).toBe(own.id);
    // A seller sees the buyer, but only the transaction of its payment.
    const [sold] = await list(seller, { role: 'seller', status: 'succeeded' });
    expect(sold).toEqual({ ...own, role: 'seller', payment: { ...own.payment, relay_request_id: null } });
    expect(JSON.stringify([await list(buyer), await list(seller)])).not.toContain('secret');
  });

  it('shows a call that was paid and not delivered as refunded, and an unpaid offer as expired [spec: GET /gateway-requests]', async () => {
    const nothing = {
      charged_amount: { amount_cents: 0, currency: 'USD' },
      fees: { fee_rate: 0.05, fee_amount_cents: 0, seller_receives_cents: 0 },
      response_digest: null,
    };
    expect(await find(buyer, relayOf.refunded)).toMatchObject({
      ...nothing,
      status: 'refund_due',
      billable: false,
      seller_status_code: 500,
      error_code: 'seller_error',
    });
    expect(await find(buyer, relayOf.expired)).toMatchObject({
      ...nothing,
      status: 'expired',
      billable: null,
      seller_status_code: null,
      latency_ms: null,
      error_code: null,
      completed_at: null,
    });
    const [unpaid] = await list(seller, { status: 'refund_due' });
    expect(unpaid!.payment).toMatchObject({ relay_request_id: null, transaction_hash: null });
  });

  it('of what can no longer be bought says so, and asks for another payment', async () => {
    for (const [name, reason, listing] of [
      ['expired', 'offer_expired', shop.listing],
      ['refunded', 'refund_due', broken.listing],
    ] as const) {
      const answer = await callOnce(buyer, listing, { secret: name }, withRelayId(relayOf[name]!));
      expect(answer.status).toBe(402);
      expect(bodyOf(answer)).toMatchObject({
        error: {
          code: 'PAYMENT_REQUIRED',
          details: { reason },
          recovery: {
            next_action: 'request_new_payment_requirements',
            keep: ['Idempotency-Key'],
            drop: expect.arrayContaining(['X-Market-Relay-Request-Id']),
          },
        },
        data: { payment: { relay_request_id: expect.not.stringMatching(relayOf[name]!), status: 'pending' } },
      });
    }
  });

  it('shows a call as it goes on: asked for, pending, forwarded, failed, delivered [spec: GET /gateway-requests]', async () => {
    let letGo = (): void => {};
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const answers: (() => unknown)[] = [() => gate.then(() => reply(503, {})), () => ({ ok: true })];
    const slow = await openShop(seller, () => answers.shift()!());
    const own = async (): Promise<GatewayRequest> => (await list(buyer, { listing_id: slow.listing.id }))[0]!;
    const body = { slow: true };
    const { relay_request_id: relayRequestId } = await quote(buyer, slow.listing, body);
    const call = (): ReturnType<typeof callOnce> => callOnce(buyer, slow.listing, body, withRelayId(relayRequestId));
    expect(await own()).toMatchObject({ status: 'payment_required', billable: null });
    expect((await call()).status).toBe(402);
    expect(await own()).toMatchObject({ status: 'payment_required', billable: null });
    await buyer.market.sandbox.pay(relayRequestId, { outcome: 'pending' });
    expect((await call()).status).toBe(202);
    expect(await own()).toMatchObject({ status: 'payment_pending', billable: null });
    const failed = eventually(async () => {
      const answer = await call();
      expect(answer.status).toBe(200);
      return answer;
    });
    await eventually(async () => expect(await own()).toMatchObject({ status: 'forwarding', billable: null }));
    letGo();
    expect(resultOf(await failed).billable).toBe(false);
    expect(await own()).toMatchObject({
      status: 'seller_failed',
      billable: false,
      seller_status_code: 503,
      error_code: 'seller_error',
    });
    expect(resultOf(await call()).billable).toBe(true);
    expect(await own()).toMatchObject({
      status: 'succeeded',
      billable: true,
      seller_status_code: 200,
      error_code: null,
    });
    await slow.close();
  });

  it('is filtered, and cut into pages that add up [spec: GET /gateway-requests]', async () => {
    const totalOf = async (query: GatewayRequestQuery): Promise<number> =>
      (await buyer.market.gatewayRequests.list(query)).pagination.total;
    const to = (await find(buyer, relayOf.succeeded)).created_at;
    expect(await totalOf({ status: 'refund_due' })).toBe(1);
    expect(await totalOf({ status: 'expired', role: 'seller' })).toBe(0);
    expect(await totalOf({ listing_id: broken.listing.id, to })).toBe(1);
    expect(await totalOf({ listing_id: UNKNOWN_ID })).toBe(0);
    expect(await totalOf({ to: began.toISOString() })).toBe(0);
    // `to` is exclusive, `from` inclusive.
    const all = await totalOf({});
    const before = await totalOf({ to });
    expect([before, await totalOf({ from: to })]).toEqual([2, all - 2]);
    const pages = await Promise.all([1, 2, 3].map((page) => buyer.market.gatewayRequests.list({ page, limit: 2 })));
    expect(pages.map(({ pagination }) => pagination)).toMatchObject(
      [1, 2, 3].map((page) => ({ page, limit: 2, total: all, totalPages: Math.ceil(all / 2) })),
    );
    expect(pages.flatMap(({ data }) => data)).toEqual((await list(buyer)).slice(0, 6));
    expect((await buyer.market.gatewayRequests.list({ page: 1_000 })).data).toEqual([]);
  });

  it('shows one call to its two sides and to nobody else', async () => {
    const own = await find(buyer, relayOf.succeeded);
    expect(await buyer.market.gatewayRequests.get(own)).toEqual({
      ...own,
      attempts: [
        {
          started_at: expect.stringMatching(/Z$/),
          outcome: 'delivered',
          seller_status_code: 200,
          latency_ms: expect.any(Number),
        },
      ],
    });
    expect((await seller.market.gatewayRequests.get(own)).role).toBe('seller');
    await expect(stranger.market.gatewayRequests.get(own)).rejects.toMatchObject({
      status: 404,
      details: { reason: 'gateway_request_not_found' },
    });
  });
});

inEachMode('a call in the history that waits for the ledger', (harness) => {
  it('is paid before it is forwarded, and settling until its charge is booked [spec: GET /gateway-requests]', async () => {
    const [buyer, seller] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    let letGo = (): void => {};
    const isHeld = new Promise<void>((resolve) => (letGo = resolve));
    let paymentId = '';
    let holding: Promise<void> | undefined;
    /** Keeps the ledger from booking the payment. Ends once no one else can write it. */
    const hold = (): Promise<void> =>
      new Promise((begun, failed) => {
        holding = withClient(harness.databaseUrl, async (client) => {
          await client.query('BEGIN');
          await client.query('SELECT FROM payments_ledger.payments WHERE id = $1 FOR UPDATE', [paymentId]);
          begun();
          await isHeld;
          await client.query('COMMIT');
        });
        holding.catch(failed);
      });
    const shop = await openShop(seller, async () => {
      await hold();
      return { ok: true };
    });
    const own = async (): Promise<GatewayRequest> =>
      (await buyer.market.gatewayRequests.list({ listing_id: shop.listing.id })).data[0]!;
    const offer = await quote(buyer, shop.listing, {});
    paymentId = offer.payment_id!;
    await buyer.market.sandbox.pay(offer.relay_request_id);
    await eventually(async () => expect(await own()).toMatchObject({ status: 'paid', billable: null }));
    const answered = callOnce(buyer, shop.listing, {}, withRelayId(offer.relay_request_id));
    await eventually(async () =>
      expect(await own()).toMatchObject({
        status: 'settling',
        billable: null,
        charged_amount: { amount_cents: 0 },
        response_digest: null,
      }),
    );
    letGo();
    await holding;
    expect(resultOf(await answered).billable).toBe(true);
    await eventually(async () =>
      expect(await own()).toMatchObject({
        status: 'succeeded',
        billable: true,
        charged_amount: { amount_cents: 25 },
        response_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      }),
    );
    await shop.close();
  });
});
