import { Marketplace, type Listing, type ListingQuery } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { setTimeout as delay } from 'node:timers/promises';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { UNMEASURED } from '../support/listings.js';
import { openShop, reply, type Shop } from '../support/seller.js';

/** Two gateway processes in distributed mode. Intervals of minutes are shortened to moments. */
const SETTINGS = {
  GATEWAY_PROBE_INTERVAL_MS: '500',
  GATEWAY_IDLE_PROBE_INTERVAL_MS: '3600000',
  GATEWAY_QUALITY_INTERVAL_MS: '200',
};
const SLOW_MS = 400;

type Quality = NonNullable<Listing['quality']>;

inEachMode('the measured quality of a listing', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let anyone: Marketplace;
  let seller: Agent;
  let buyers: [Agent, Agent];
  let shop: Shop;
  let behave: () => unknown;

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: SETTINGS, replicas: { gateway: 2 } });
    anyone = new Marketplace({ baseUrl: marketplace.baseUrl });
    [seller, ...buyers] = await Promise.all([
      registerAgent(marketplace),
      registerAgent(marketplace),
      registerAgent(marketplace),
    ]);
  }, 240_000);
  beforeEach(async () => {
    behave = () => ({ ok: true });
    shop = await openShop(seller, () => behave());
  });
  afterEach(() => shop.close());
  afterAll(() => marketplace?.stop(), 120_000);

  const qualityOf = async ({ listing }: Shop): Promise<Quality> => (await anyone.listings.get(listing)).quality!;
  const call = async (buyer: Agent, n: number): Promise<() => Promise<boolean>> => {
    const relayRequestId = await payFor(buyer, shop.listing, { n });
    return async () =>
      resultOf(await callOnce(buyer, shop.listing, { n }, withRelayId(relayRequestId))).billable === true;
  };
  const found = async (query: ListingQuery): Promise<string[]> =>
    (await anyone.listings.search({ ...query, limit: 100 })).data.map(({ id }) => id);

  it('follows a seller that works, fails, recovers and slows down', async () => {
    expect(await qualityOf(shop)).toEqual(UNMEASURED);
    expect(await found({ live: true })).not.toContain(shop.listing.id);
    expect(await found({ min_success: 0 })).not.toContain(shop.listing.id);

    const startedAt = Date.now();
    for (const [n, buyer] of [...buyers, ...buyers].entries()) expect(await (await call(buyer, n))()).toBe(true);
    await eventually(async () =>
      expect((await anyone.agent(seller.id)).quality).toEqual({
        live_listings: 1,
        calls_30d: 4,
        success_rate_30d: 1,
        last_success_at: expect.any(String),
      }),
    );
    const good = await eventually(async () => {
      const quality = await qualityOf(shop);
      expect(quality).toMatchObject({ live: true, success_rate_7d: 1, success_rate_30d: 1, calls_7d: 4, calls_30d: 4 });
      return quality;
    });
    expect(Date.parse(good.last_success_at!)).toBeGreaterThanOrEqual(startedAt);
    expect(good.p95_ms_7d).toBeGreaterThanOrEqual(good.p50_ms_7d!);
    expect(good).toMatchObject({ buyers_30d: 2, buyers_success_rate_30d: 1 });
    expect(await found({ live: true, min_success: 1, max_price_usd: shop.listing.pricing_amount })).toContain(
      shop.listing.id,
    );

    // Failures of only one buyer do not count, even if they are repeated.
    const [one, another] = [await call(buyers[0], 10), await call(buyers[1], 11)];
    behave = () => reply(500, { broken: true });
    for (let times = 0; times < 3; times += 1) expect(await one()).toBe(false);
    await delay(1_000);
    expect(await qualityOf(shop)).toMatchObject({ live: true, success_rate_7d: 1, calls_7d: 4 });
    expect(await another()).toBe(false);
    await eventually(async () => {
      const { success_rate_7d, success_rate_30d, calls_7d } = await qualityOf(shop);
      // Four deliveries, and two failed calls, which count once each. A successful test of the marketplace may also
      // count.
      expect([4 / 6, 5 / 7].map((rate) => Number(rate.toFixed(4)))).toContain(success_rate_7d);
      expect([success_rate_30d, calls_7d]).toEqual([success_rate_7d, 4]);
    });
    expect(await found({ min_success: 0.6 })).toContain(shop.listing.id);
    expect(await found({ min_success: 0.9 })).not.toContain(shop.listing.id);

    // A successful test by the owner does not count as evidence. A failing one makes the endpoint fail, and the
    // marketplace's own test then finds that it works again.
    expect((await seller.market.endpoint.test(shop.listing)).success).toBe(false);
    await eventually(async () => expect((await qualityOf(shop)).live).toBe(false));
    expect(await found({ live: true })).not.toContain(shop.listing.id);
    behave = () => ({ ok: true });
    await eventually(async () => expect((await qualityOf(shop)).live).toBe(true));
    const before = await qualityOf(shop);
    for (let times = 0; times < 3; times += 1)
      expect((await seller.market.endpoint.test(shop.listing)).success).toBe(true);

    await eventually(async () => expect(await one()).toBe(true));
    await eventually(async () => expect(await another()).toBe(true));
    behave = async () => {
      await delay(SLOW_MS);
      return { ok: true };
    };
    // So many that the marketplace's own tests, which are quick and may count, do not move the median.
    for (let n = 20; n < 34; n += 1) expect(await (await call(buyers[n % 2]!, n))()).toBe(true);
    await eventually(async () => {
      const slow = await qualityOf(shop);
      expect(slow).toMatchObject({ live: true, calls_7d: 20, calls_30d: 20 });
      expect(slow.p95_ms_7d).toBeGreaterThanOrEqual(SLOW_MS);
      expect(slow.p50_ms_30d).toBeGreaterThanOrEqual(SLOW_MS * 0.9);
      expect(slow.p50_ms_30d).toBeGreaterThan(good.p50_ms_7d!);
      expect(slow.success_rate_7d).toBeGreaterThan(before.success_rate_7d!);
    });
  });

  it('orders the reliable: the surest of the live ones, then those that work no more', async () => {
    const mark = `fjordwatch${Date.now()}`;
    const shops = await Promise.all(
      [1, 2, 3].map((n) =>
        openShop(seller, () => (n === 3 && !works ? reply(500, {}) : { ok: true }), { name: `${mark} number ${n}` }),
      ),
    );
    let works = true;
    const [rare, often, broken] = shops.map(({ listing }) => listing) as [Listing, Listing, Listing];
    const buy = async (listing: Listing, n: number): Promise<void> => {
      const relayRequestId = await payFor(buyers[n % 2]!, listing, { n });
      expect(resultOf(await callOnce(buyers[n % 2]!, listing, { n }, withRelayId(relayRequestId))).billable).toBe(true);
    };
    await buy(rare, 1);
    for (const n of [1, 2, 3, 4]) await buy(often, n);
    for (const n of [1, 2, 3, 4, 5, 6]) await buy(broken, n);
    await eventually(async () =>
      expect(await found({ q: mark, sort: 'reliable' })).toEqual([broken.id, often.id, rare.id]),
    );
    works = false;
    expect((await seller.market.endpoint.test(broken)).success).toBe(false);
    await eventually(async () =>
      expect(await found({ q: mark, sort: 'reliable' })).toEqual([often.id, rare.id, broken.id]),
    );
    expect(new Set(await found({ q: mark, live: true }))).toEqual(new Set([often.id, rare.id]));
    const { data, pagination } = await anyone.listings.search({ q: mark, live: true, sort: 'reliable', limit: 1 });
    expect([data.map(({ id, quality }) => [id, quality?.live, quality?.calls_7d]), pagination.total]).toEqual([
      [[often.id, true, 4]],
      2,
    ]);
    await Promise.all(shops.map((each) => each.close()));
  });

  it('is nothing that a seller writes, and nothing where no call goes through the gateway', async () => {
    const free = await seller.market.listings.create({ name: 'A free thing', description: 'Is found elsewhere.' });
    expect((await anyone.listings.get(free)).quality).toBeNull();
    const quality = { live: true, success_rate_7d: 1 };
    const answer = await seller.market.send('PATCH', `/listings/${shop.listing.id}`, { body: { quality } });
    expect(answer.status).toBe(400);
    expect((await qualityOf(shop)).live).toBe(false);
  });
});
