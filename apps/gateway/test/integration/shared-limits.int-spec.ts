import { testEndpoint } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { describeNeeding, eventually, startRedisServer, type RedisServer } from '@market/testing';
import { as, BODY, startGateway, type GatewayHarness, type Shop } from '../support/gateway-harness.js';
import { held } from '../support/test-seller.js';

/** Three processes of the gateway, which share only their servers. */
describeNeeding('redis-server')('limits of an endpoint, over all processes', () => {
  let redis: RedisServer;
  let harness: GatewayHarness;
  beforeAll(async () => {
    redis = await startRedisServer();
    harness = await startGateway({ replicas: 3, env: { REDIS_URL: redis.url } });
  });
  afterAll(async () => {
    await harness.stop();
    await redis.stop();
  });

  const delivered = async (shop: Shop, copies: number, settled = (): void => undefined): Promise<number> => {
    const bought = await Promise.all(
      Array.from({ length: copies }, async () => {
        const buyer = newId();
        return { buyer, relayRequestId: await harness.buy(buyer, shop) };
      }),
    );
    const outcomes = await Promise.allSettled(
      bought.map(({ buyer, relayRequestId }) => harness.answer(buyer, shop, BODY, { relayRequestId }).finally(settled)),
    );
    return outcomes.filter(({ status }) => status === 'fulfilled').length;
  };

  it('let through as many calls a minute as the seller takes, to the call', async () => {
    const shop = await harness.open();
    await harness.configure(shop, { limits: { requests_per_minute: 6 } });
    expect(await delivered(shop, 24)).toBe(6);
    expect(shop.seller.requests).toHaveLength(6);
  });

  /**
   * Sends calls of one listing with `max_concurrency` 2 over all three processes, while its seller holds them.
   * @returns how many reached the seller.
   */
  const heldAtOnce = async (): Promise<number> => {
    const gate = held();
    const shop = await harness.open(undefined, gate.behaviour);
    await harness.configure(shop, { limits: { max_concurrency: 2 } });
    let settled = 0;
    const calls = delivered(shop, 12, () => void (settled += 1));
    // All others are refused while the seller holds those.
    await eventually(() => expect([settled + shop.seller.requests.length, settled > 0]).toEqual([12, true]), {
      withinMs: 30_000,
    });
    gate.release();
    expect(await calls).toBe(shop.seller.requests.length);
    return calls;
  };

  it('let through as many calls at once as the seller takes', async () => {
    expect(await heldAtOnce()).toBe(2);
  });

  it('let through ten tests a minute', async () => {
    const { offering, seller } = await harness.open();
    const tests = Array.from({ length: 20 }, () =>
      harness.edge.request(testEndpoint, { listing_id: offering.listingId }, as(offering.sellerId)),
    );
    const outcomes = await Promise.allSettled(tests);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(seller.requests).toHaveLength(10);
  });

  it('are kept by each process for itself while Redis is gone, and no call waits or fails for it', async () => {
    const [limited, unlimited] = [await harness.open(), await harness.open()];
    await harness.configure(limited, { limits: { requests_per_minute: 2 } });
    await redis.kill();
    const startedAt = performance.now();
    const through = await delivered(limited, 24);
    expect(through).toBeGreaterThanOrEqual(2);
    expect(through).toBeLessThanOrEqual(3 * 2);
    expect(await delivered(unlimited, 8)).toBe(8);
    expect(await heldAtOnce()).toBe(3 * 2);
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await redis.restart();
  });
});
