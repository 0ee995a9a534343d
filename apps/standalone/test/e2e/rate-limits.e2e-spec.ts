import { sandboxPayer, type HttpAnswer } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { bodyOf, callOnce, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

/**
 * The limits are small enough to reach, and recover more slowly than the test runs. The tests use a trusted proxy's
 * address.
 */
const SETTINGS = {
  RATE_LIMITS:
    'reads=5/300,writes=30/300,calls=60/480:2,retries=60/120:30,calls-in-flight=2,catalog=4/400,challenges=30/600,' +
    'registrations=10/3600,refusals=4/400,health=40/400',
  API_GATEWAY_TRUSTED_PROXIES: '127.0.0.1,::1',
};
const UNKNOWN_KEY = 'am_k_0000000000000000000000000000000000000000000000000';

inEachMode('rate limits', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let shop: Shop;
  let letSellerAnswer: (() => void) | undefined;

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: SETTINGS });
    seller = await registerAgent(marketplace);
    shop = await openShop(seller, async ({ body }) => {
      if ((body as { slow?: boolean }).slow) await new Promise<void>((resolve) => (letSellerAnswer = resolve));
      return { echo: body };
    });
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 120_000);

  const anyone = () => stranger({ mode, baseUrl: marketplace.baseUrl, databaseUrl: marketplace.databaseUrl });
  /** Sends a request without a credential, with the header of the proxy. */
  const from = (
    address: string,
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string> = {},
  ): Promise<HttpAnswer> =>
    anyone().send(method, path, {
      headers: { 'x-forwarded-for': address, ...headers },
      ...(method === 'POST' ? { body: {} } : {}),
    });
  const statusesOf = async (count: number, ask: (n: number) => Promise<HttpAnswer>): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < count; n += 1) statuses.push((await ask(n)).status);
    return statuses;
  };

  function expectLimited(answer: HttpAnswer, rate: string): void {
    const retryAfter = answer.headers.get('retry-after');
    expect(retryAfter).toMatch(/^[1-9]\d*$/);
    expect(answer).toMatchObject({
      status: 429,
      json: {
        success: false,
        error: {
          code: 'RATE_LIMITED',
          message: expect.any(String),
          details: { reason: 'rate_limited', rate, retry_after_seconds: Number(retryAfter) },
          recovery: { next_action: 'retry_after_delay' },
        },
      },
    });
    expect(answer.headers.get('ratelimit')).toMatch(new RegExp(`^"${rate}";r=0;t=\\d+$`));
    expect(answer.headers.get('ratelimit-policy')).toMatch(
      new RegExp(`^"${rate}";q=\\d+;w=\\d+(;market-burst=\\d+)?$`),
    );
  }

  it('hold for an account over all its keys, tell what is left, and name the wait [spec: error.429 RATE_LIMITED]', async () => {
    const agent = await registerAgent(marketplace);
    const other = agent.market.authorizedBy(
      `Bearer ${(await agent.market.apiKeys.create({ name: 'second', scopes: ['read'] })).key}`,
    );
    const first = await agent.market.send('GET', '/me');
    expect([first.status, first.headers.get('ratelimit-policy'), first.headers.get('ratelimit')]).toEqual([
      200,
      '"reads";q=5;w=300',
      '"reads";r=4;t=60',
    ]);
    expect(first.headers.get('retry-after')).toBeNull();
    expect(await statusesOf(4, (n) => (n % 2 ? agent.market : other).send('GET', '/receipts'))).toEqual([
      200, 200, 200, 200,
    ]);
    for (const client of [agent.market, other]) expectLimited(await client.send('GET', '/me'), 'reads');
    const thrown = await agent.market.me().catch((error: unknown) => error);
    expect(thrown).toMatchObject({ status: 429, code: 'RATE_LIMITED', retryAfterSeconds: expect.any(Number) });
    expect((await (await registerAgent(marketplace)).market.send('GET', '/me')).status).toBe(200);
  });

  it('hold for a stranger by address, of IPv6 by its /64, each kind of request apart', async () => {
    expect(await statusesOf(5, () => from('203.0.113.1', 'GET', '/listings'))).toEqual([200, 200, 200, 200, 429]);
    expectLimited(await from('203.0.113.1', 'GET', '/categories'), 'catalog');
    expect((await from('203.0.113.2', 'GET', '/listings')).status).toBe(200);
    expect(await statusesOf(5, (n) => from(`2001:db8:7:1:${n}::${n}`, 'GET', '/listings'))).toEqual([
      200, 200, 200, 200, 429,
    ]);
    expect((await from('2001:db8:7:2::1', 'GET', '/listings')).status).toBe(200);
    expect(await statusesOf(11, () => from('203.0.113.1', 'POST', '/register'))).toEqual([
      ...Array<number>(10).fill(400),
      429,
    ]);
    expectLimited(await from('203.0.113.1', 'POST', '/auth/recover'), 'registrations');
    expect((await from('203.0.113.1', 'POST', '/auth/challenge')).status).toBe(400);
    expect(await statusesOf(41, () => from('203.0.113.1', 'GET', '/health'))).toEqual([
      ...Array<number>(40).fill(200),
      429,
    ]);
    expectLimited(await from('203.0.113.1', 'GET', '/health'), 'health');
    expect((await anyone().send('GET', '/health')).status).toBe(200);
  });

  it('silence an address that keeps sending credentials of nobody', async () => {
    const attempt = (credential?: string) =>
      from('203.0.113.3', 'GET', '/me', credential ? { authorization: `Bearer ${credential}` } : {});
    expect([
      (await attempt()).status,
      (await attempt('odd')).status,
      (await attempt(UNKNOWN_KEY)).status,
      (await attempt(UNKNOWN_KEY)).status,
    ]).toEqual([401, 401, 401, 401]);
    expectLimited(await attempt(UNKNOWN_KEY), 'refusals');
    expect((await from('203.0.113.4', 'GET', '/me')).status).toBe(401);
  });

  it('hold for calls, where a stock client waits as long as it is told', async () => {
    const buyer = await registerAgent(marketplace);
    const call = (n: number) => buyer.market.call(shop.listing, { n }, { pay: sandboxPayer(buyer.market) });
    for (const n of [1, 2]) expect((await call(n)).billable).toBe(true);
    expectLimited(await callOnce(buyer, shop.listing, { n: 3 }), 'calls');
    const startedAt = performance.now();
    const third = await call(3);
    expect([third.billable, performance.now() - startedAt > 900]).toEqual([true, true]);
    expect(shop.deliveries.timesCalled(third.request_id)).toBe(1);
  });

  it('hold for the calls that one account has under way, and end with each', async () => {
    const buyer = await registerAgent(marketplace);
    const relayIds = [
      await payFor(buyer, shop.listing, { slow: true, n: 1 }),
      await payFor(buyer, shop.listing, { n: 2 }),
    ];
    const slow = callOnce(buyer, shop.listing, { slow: true, n: 1 }, withRelayId(relayIds[0]!));
    await eventually(async () => expect(letSellerAnswer).toBeDefined());
    // The repeated call waits for the first one and also counts as in flight. The other call may be there before it once.
    const waiting = eventually(async () => {
      const answer = await callOnce(buyer, shop.listing, { slow: true, n: 1 }, withRelayId(relayIds[0]!));
      expect(answer.status).not.toBe(429);
      return answer;
    });
    const refused = await eventually(async () => {
      const answer = await callOnce(buyer, shop.listing, { n: 2 }, withRelayId(relayIds[1]!));
      expect(reasonOf(answer)).toBe('too_many_in_flight');
      return answer;
    });
    expect(refused).toMatchObject({
      status: 429,
      json: {
        error: {
          code: 'RATE_LIMITED',
          details: { limit: 2, retry_after_seconds: 1 },
          recovery: { next_action: 'retry_after_delay' },
        },
      },
    });
    letSellerAnswer!();
    const answers = await Promise.all([slow, waiting]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const again = await eventually(async () => {
      const answer = await callOnce(buyer, shop.listing, { n: 2 }, withRelayId(relayIds[1]!));
      expect(answer.status).toBe(200);
      return answer;
    });
    expect(bodyOf(again).success).toBe(true);
  });

  if (mode === 'standalone') {
    it('are counted in the process: a restart forgets them', async () => {
      const agent = await registerAgent(marketplace);
      expect(await statusesOf(6, () => agent.market.send('GET', '/me'))).toEqual([200, 200, 200, 200, 200, 429]);
      await marketplace.restart('standalone');
      expect((await agent.market.send('GET', '/me')).status).toBe(200);
    }, 180_000);
  } else {
    it('are counted in Redis: a restart of the edge forgets nothing', async () => {
      const agent = await registerAgent(marketplace);
      expect(await statusesOf(3, () => agent.market.send('GET', '/me'))).toEqual([200, 200, 200]);
      await marketplace.restart('api-gateway');
      // If the edge had lost its counters, all five would pass. If Redis answers late, one or two may pass.
      expect(await statusesOf(5, () => agent.market.send('GET', '/me'))).toContain(429);
    }, 180_000);

    it('go on in the process when Redis is killed, from what was counted before, and nothing waits for it', async () => {
      const [before, after] = [await registerAgent(marketplace), await registerAgent(marketplace)];
      expect(await statusesOf(3, () => before.market.send('GET', '/me'))).toEqual([200, 200, 200]);
      await marketplace.kill('redis');
      const startedAt = performance.now();
      expect(await statusesOf(3, () => before.market.send('GET', '/me'))).toEqual([200, 200, 429]);
      expect(await statusesOf(6, () => after.market.send('GET', '/me'))).toEqual([200, 200, 200, 200, 200, 429]);
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      await marketplace.restart('redis');
      expectLimited(await before.market.send('GET', '/me'), 'reads');
      const fresh = await registerAgent(marketplace);
      expect(await statusesOf(6, () => fresh.market.send('GET', '/me'))).toEqual([200, 200, 200, 200, 200, 429]);
    }, 180_000);
  }
});
