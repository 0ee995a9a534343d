import { Marketplace } from '@market/sdk';
import { eventually, freePort, startMarketplace, type RunningMarketplace } from '@market/testing';
import { createServer } from 'node:http';
import { bodyOf, callOnce, payFor, quote, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { listServer, openShop, reply, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

/**
 * Two gateway processes in distributed mode. An endpoint is suspended after failing for two seconds instead of a day.
 */
const SETTINGS = {
  GATEWAY_FAILING_AFTER: '3',
  GATEWAY_PROBE_INTERVAL_MS: '1000',
  CATALOG_FAILING_GRACE_SECONDS: '2',
  CATALOG_SWEEP_INTERVAL_MS: '100',
};

inEachMode('the health of an endpoint', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let other: Agent;
  let shop: Shop;
  let works: boolean;

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: SETTINGS, replicas: { gateway: 2 } });
    [seller, buyer, other] = await Promise.all([
      registerAgent(marketplace),
      registerAgent(marketplace),
      registerAgent(marketplace),
    ]);
  }, 240_000);
  beforeEach(async () => {
    works = true;
    shop = await openShop(seller, () => (works ? { ok: true } : reply(503, { busy: true })));
  });
  afterEach(() => shop.close());
  afterAll(() => marketplace?.stop(), 120_000);

  const health = async (): Promise<[string, number]> => {
    const { status, consecutive_failures } = await seller.market.endpoint.get(shop.listing);
    return [status, consecutive_failures];
  };
  const buy = async (n: number, by = buyer): Promise<() => ReturnType<typeof callOnce>> => {
    const relayRequestId = await payFor(by, shop.listing, { n });
    return () => callOnce(by, shop.listing, { n }, withRelayId(relayRequestId));
  };
  const calls = (): number => shop.requests.filter(({ call }) => call.event === 'gateway.call').length;
  /** Returns the public view of the listing. */
  const look = async (): Promise<[number, unknown, unknown]> => {
    const { status, json } = await new Marketplace({ baseUrl: marketplace.baseUrl }).send(
      'GET',
      `/listings/${shop.listing.id}`,
    );
    const { data } = json as { data?: { status: string; endpoint_status: string } };
    return [status, data?.status, data?.endpoint_status];
  };

  it('is shown with every call that failed in a row, breaks, sells no more, is mended by our test; what was paid follows', async () => {
    const [first, failing, another, third] = [await buy(1), await buy(2), await buy(3), await buy(4, other)];
    await first();
    expect(await health()).toEqual(['active', 0]);
    works = false;
    for (const [deliver, expected] of [
      [failing, ['active', 1]],
      [failing, ['active', 1]],
      [another, ['active', 2]],
      [third, ['failing', 3]],
    ] as const) {
      expect(resultOf(await deliver()).billable).toBe(false);
      expect(await health()).toEqual(expected);
    }
    await eventually(async () => {
      const refused = await callOnce(buyer, shop.listing, { n: 5 });
      expect([refused.status, bodyOf(refused).error?.details, bodyOf(refused).data]).toEqual([
        400,
        { reason: 'endpoint_unavailable', endpoint_status: 'failing' },
        undefined,
      ]);
    });
    const before = calls();
    const postponed = await eventually(async () => {
      const answer = await failing();
      expect(answer.status).toBe(503);
      return answer;
    });
    expect(bodyOf(postponed).error).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      details: { reason: 'delivery_postponed', endpoint_status: 'failing', retry_after_seconds: 1 },
      recovery: { next_action: 'retry_after_delay', keep: expect.arrayContaining(['X-Market-Relay-Request-Id']) },
    });
    expect(postponed.headers.get('retry-after')).toBe('1');
    expect(calls()).toBe(before);
    works = true;
    await eventually(async () => expect(await health()).toEqual(['active', 0]));
    for (const deliver of [failing, another, third]) {
      await eventually(async () => {
        const answer = await deliver();
        expect([answer.status, answer.status === 200 && resultOf(answer).billable]).toEqual([200, true]);
      });
    }
    await eventually(() => quote(buyer, shop.listing, { n: 5 }));
  });

  it('is failing where nobody ever listened, without any call, and comes back when somebody does', async () => {
    const port = await freePort();
    shop.listing.id = (await listServer(seller, `http://127.0.0.1:${port}/`)).id;
    await eventually(async () => expect(await look()).toEqual([200, 'active', 'failing']));
    await eventually(async () =>
      expect(reasonOf(await callOnce(buyer, shop.listing, { n: 1 }))).toBe('endpoint_unavailable'),
    );
    const server = createServer(
      (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'),
    ).listen(port, '127.0.0.1');
    await eventually(async () => expect(await look()).toEqual([200, 'active', 'active']));
    await eventually(async () => expect(resultOf(await (await buy(1))()).billable).toBe(true));
    server.closeAllConnections();
    server.close();
  });

  it('takes its listing off the market when it fails for long, and a test of ours that passes brings both back', async () => {
    const failing = await buy(1);
    works = false;
    expect((await seller.market.endpoint.test(shop.listing)).success).toBe(false);
    await eventually(async () => expect(await look()).toEqual([200, 'active', 'failing']));
    await eventually(async () => expect((await look())[0]).toBe(404), { withinMs: 60_000 });
    expect((await seller.market.listings.get(shop.listing)).status).toBe('suspended');
    await eventually(async () =>
      expect(reasonOf(await callOnce(buyer, shop.listing, { n: 2 }))).toBe('listing_not_found'),
    );
    expect([(await failing()).status, reasonOf(await failing())]).toEqual([409, 'listing_unavailable']);

    // Neither its owner nor a failing test can make it active.
    await seller.market.endpoint.update(shop.listing, { status: 'active' });
    expect((await seller.market.endpoint.test(shop.listing)).success).toBe(false);
    expect(await health()).toEqual(['failing', 0]);
    expect((await seller.market.listings.get(shop.listing)).status).toBe('suspended');

    works = true;
    await eventually(async () => expect(await look()).toEqual([200, 'active', 'active']));
    await eventually(async () => expect(resultOf(await failing()).billable).toBe(true));
    await eventually(() => quote(buyer, shop.listing, { n: 2 }));
  });

  it('is judged by no call that found it paused or busy', async () => {
    const paid = await buy(1);
    await seller.market.endpoint.update(shop.listing, { status: 'paused' });
    await eventually(async () =>
      expect([(await paid()).status, reasonOf(await paid())]).toEqual([503, 'delivery_postponed']),
    );
    await seller.market.endpoint.update(shop.listing, { status: 'active', limits: { requests_per_minute: 1 } });
    await eventually(async () => expect((await paid()).status).toBe(200));
    const next = await buy(2);
    const refused = await next();
    expect([refused.status, reasonOf(refused)]).toEqual([429, 'listing_busy']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);
    expect(calls()).toBe(1);
    expect(await health()).toEqual(['active', 0]);
  });
});
