import type { HttpAnswer } from '@market/sdk';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { callOnce, payFor, resultOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop } from '../support/seller.js';

inEachMode('a marketplace that has as many active calls as it can carry', ({ mode }) => {
  let market: RunningMarketplace;
  let [seller, buyer]: Agent[] = [];

  beforeAll(async () => {
    market = await startMarketplace({ mode, env: { GATEWAY_ACTIVE_CALLS_MAX: '1' } });
    [seller, buyer] = [await registerAgent(market), await registerAgent(market)];
  }, 240_000);
  afterAll(() => market.stop());

  const delivered = async (call: () => Promise<HttpAnswer>): Promise<HttpAnswer> => {
    let answer: HttpAnswer;
    await eventually(async () => expect((answer = await call())).toMatchObject({ status: 200 }), { withinMs: 20_000 });
    return answer!;
  };

  it('refuses one more with 503, which is delivered and charged once when it comes again', async () => {
    const shop = await openShop(seller!);
    const bodies = Array.from({ length: 20 }, (_, n) => ({ n }));
    const calls: (() => Promise<HttpAnswer>)[] = [];
    for (const body of bodies) {
      const relayId = await payFor(buyer!, shop.listing, body);
      calls.push(() => callOnce(buyer!, shop.listing, body, withRelayId(relayId)));
    }
    const first = await Promise.all(calls.map((call) => call()));
    const refused = first.filter(({ status }) => status === 503);
    expect(first.filter(({ status }) => status !== 503)).not.toHaveLength(0);
    expect(refused).not.toHaveLength(0);
    for (const answer of refused) {
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(answer).toMatchObject({
        json: {
          success: false,
          error: {
            code: 'SERVICE_UNAVAILABLE',
            details: { reason: 'overloaded', retry_after_seconds: 1 },
            recovery: { next_action: 'retry_after_delay', keep: expect.arrayContaining(['X-Market-Relay-Request-Id']) },
          },
        },
      });
    }
    for (const call of calls) expect(resultOf(await delivered(call))).toMatchObject({ billable: true });
    expect(shop.deliveries.requestIds).toHaveLength(bodies.length);
    await expectBooksInOrder(market, [shop]);
    await shop.close();
  });

  it('does not count those that wait for their seller', async () => {
    let answer: (body: object) => void = () => undefined;
    const slow = await openShop(seller!, () => new Promise((resolve) => (answer = resolve)));
    const quick = await openShop(seller!);
    const [slowId, quickId] = [await payFor(buyer!, slow.listing, {}), await payFor(buyer!, quick.listing, {})];
    const waiting = callOnce(buyer!, slow.listing, {}, withRelayId(slowId));
    await eventually(async () => expect(slow.requests).toHaveLength(1), { withinMs: 60_000 });
    expect(await callOnce(buyer!, quick.listing, {}, withRelayId(quickId))).toMatchObject({ status: 200 });
    answer({ late: true });
    expect(await waiting).toMatchObject({ status: 200 });
    await Promise.all([slow.close(), quick.close()]);
  });
});
