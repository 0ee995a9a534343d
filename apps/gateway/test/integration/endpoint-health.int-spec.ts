import type { OutputOf } from '@market/contracts';
import { endpointChanged, getEndpoint, testEndpoint, type endpointStatus } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { as, BODY, reasonOf, refusalOf, resultOf, startGateway, type Answered, type GatewayWorld, type Shop } from '../support/gateway-world.js';
import { answer, held } from '../support/test-seller.js';

const FAILING_AFTER = 3;
const PROBE_INTERVAL_MS = 300;
const broken = answer(500, '{}');
const working = answer(200, '{"ok":true}');

describe('the health of an endpoint', () => {
  let world: GatewayWorld;
  beforeAll(async () => {
    world = await startGateway({ replicas: 2, env: { GATEWAY_FAILING_AFTER: String(FAILING_AFTER), GATEWAY_PROBE_INTERVAL_MS: String(PROBE_INTERVAL_MS) } });
  });
  afterAll(() => world.stop());

  const view = ({ offering }: Shop): Promise<OutputOf<typeof getEndpoint>> => world.edge.request(getEndpoint, { listingId: offering.listingId }, as(offering.sellerId));
  const healthOf = async (shop: Shop): Promise<[string, number]> => {
    const { status, consecutive_failures } = await view(shop);
    return [status, consecutive_failures];
  };
  const test = ({ offering }: Shop): Promise<OutputOf<typeof testEndpoint>> => world.edge.request(testEndpoint, { listingId: offering.listingId }, as(offering.sellerId));
  const told = async ({ offering }: Shop): Promise<string[]> => {
    const rows = await world.db.inspect<{ payload: unknown }>('SELECT payload FROM gateway.outbox WHERE subject = $1 ORDER BY id', [endpointChanged.subject]);
    const events = rows.map(({ payload }) => endpointChanged.payload.parse(payload)).filter(({ listingId }) => listingId === offering.listingId);
    expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1));
    return events.map(({ status }) => status);
  };
  /** A purchase that can be repeated until it is delivered. */
  const purchase = async (shop: Shop, body = `{"id":"${newId()}"}`): Promise<() => Promise<Answered>> => {
    const buyer = newId();
    const relayRequestId = await world.buy(buyer, shop, body);
    return () => world.answer(buyer, shop, body, { relayRequestId });
  };
  /** A shop whose endpoint is failing, with purchases that were paid before it began to. */
  const failing = async (purchases = 1): Promise<{ shop: Shop; bought: (() => Promise<Answered>)[] }> => {
    const shop = await world.open();
    const bought = await Promise.all(Array.from({ length: purchases + 1 }, () => purchase(shop)));
    shop.seller.behave(broken);
    for (let failures = 1; failures <= FAILING_AFTER; failures += 1) await bought[0]!();
    expect(await healthOf(shop)).toEqual(['failing', FAILING_AFTER]);
    await eventually(async () => expect(await reasonOf(world.call(newId(), shop))).toBe('endpoint_unavailable'));
    return { shop, bought: bought.slice(1) };
  };

  it('is active with its first success, and told of once', async () => {
    const shop = await world.open();
    expect(await healthOf(shop)).toEqual(['unverified', 0]);
    const bought = await Promise.all(Array.from({ length: 8 }, () => purchase(shop)));
    await Promise.all(bought.map((deliver) => deliver()));
    expect(await healthOf(shop)).toEqual(['active', 0]);
    await (await purchase(shop))();
    expect(await told(shop)).toEqual(['unverified', 'active']);
  });

  it('is failing after so many failures in a row, over all processes, and sells no more calls', async () => {
    const shop = await world.open();
    const [deliver, later] = [await purchase(shop), await purchase(shop)];
    shop.seller.behave(broken);
    for (const [status, failures] of [['unverified', 1], ['unverified', 2]] as const) {
      await deliver();
      expect(await healthOf(shop)).toEqual([status, failures]);
    }
    shop.seller.behave(working);
    await later();
    expect(await healthOf(shop)).toEqual(['active', 0]);
    shop.seller.behave(broken);
    for (const [status, failures] of [['active', 1], ['active', 2], ['failing', 3]] as const) {
      await deliver();
      expect(await healthOf(shop)).toEqual([status, failures]);
    }
    const refused = await eventually(() => refusalOf(world.call(newId(), shop)));
    expect([refused.reason, refused.details]).toEqual(['endpoint_unavailable', { endpoint_status: 'failing' }]);
    expect(await told(shop)).toEqual(['unverified', 'active', 'failing']);
    shop.seller.behave(working);
    await eventually(() => deliver());
  });

  it('is failing once, however many calls fail at once', async () => {
    const shop = await world.open(undefined, broken);
    const bought = await Promise.all(Array.from({ length: 12 }, () => purchase(shop)));
    // All of them reach the seller before the first has failed.
    const gate = held(broken);
    shop.seller.behave(gate.behaviour);
    const failed = bought.map((deliver) => deliver());
    await eventually(() => expect(shop.seller.requests).toHaveLength(12));
    gate.letGo();
    await Promise.all(failed);
    expect(await healthOf(shop)).toEqual(['failing', 12]);
    expect(await told(shop)).toEqual(['unverified', 'failing']);
  });

  it('lets one paid call try it each interval, and keeps the others waiting with their payments untouched', async () => {
    const { shop, bought } = await failing(12);
    const before = shop.seller.requests.length;
    await eventually(async () => {
      const outcomes = await Promise.allSettled(bought.map((deliver) => deliver()));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });
    expect(shop.seller.requests).toHaveLength(before + 1);
    const refused = await refusalOf(bought[0]!());
    expect([refused.reason, refused.declaration.kind, refused.details]).toEqual(['delivery_postponed', 'unavailable', { endpoint_status: 'failing', retry_after_seconds: 1 }]);
    expect(await healthOf(shop)).toEqual(['failing', FAILING_AFTER + 1]);
    shop.seller.behave(working);
    for (const deliver of bought) await eventually(() => deliver());
  });

  it('is active again with the first paid call it delivers; those that waited follow', async () => {
    const { shop, bought } = await failing(4);
    shop.seller.behave(working);
    const results = await Promise.all(bought.map((deliver) => eventually(() => deliver())));
    expect(results.map((result) => resultOf(result).billable)).toEqual([true, true, true, true]);
    expect(await healthOf(shop)).toEqual(['active', 0]);
    await eventually(() => world.quote(newId(), shop));
    expect(await told(shop)).toEqual(['unverified', 'failing', 'active']);
  });

  it('is active again with a passing test, and not with a failing one', async () => {
    const { shop } = await failing();
    expect((await test(shop)).success).toBe(false);
    expect(await view(shop)).toMatchObject({ status: 'failing', consecutive_failures: FAILING_AFTER, last_test: { ok: false, status_code: 500 } });
    shop.seller.behave(working);
    const { latency_ms } = await test(shop);
    expect(await view(shop)).toMatchObject({ status: 'active', consecutive_failures: 0, last_test: { ok: true, status_code: 200, latency_ms } });
    await eventually(() => world.quote(newId(), shop));
    expect(await told(shop)).toEqual(['unverified', 'failing', 'active']);
  });

  it('is not mended by its owner saying so: only a pause ends with that', async () => {
    const { shop, bought } = await failing();
    for (const status of ['active', 'paused', 'active'] as const) await world.configure(shop, { status });
    expect(await healthOf(shop)).toEqual(['failing', FAILING_AFTER]);
    shop.seller.behave(working);
    await eventually(() => bought[0]!());
    await world.configure(shop, { status: 'paused' });
    await world.configure(shop, { status: 'active' });
    expect(await healthOf(shop)).toEqual(['active', 0]);
  });

  it('is counted anew at another URL, where nothing is known of it, and a late failure of the old one does not count', async () => {
    const { shop, bought } = await failing();
    const gate = held(broken);
    shop.seller.behave(gate.behaviour);
    const before = shop.seller.requests.length;
    const late = eventually(() => bought[0]!());
    await eventually(() => expect(shop.seller.requests).toHaveLength(before + 1));
    await world.configure(shop, { privateEndpointUrl: `${shop.seller.url}/new` });
    gate.letGo();
    expect(resultOf(await late).billable).toBe(false);
    expect(await healthOf(shop)).toEqual(['unverified', 0]);
    shop.seller.behave(working);
    await eventually(() => bought[0]!());
    expect(await healthOf(shop)).toEqual(['active', 0]);
  });

  it('lets a call that costs nothing try it, too', async () => {
    const shop = await world.open({ priceMicros: '0' }, broken);
    for (let failures = 1; failures <= FAILING_AFTER; failures += 1) await world.call(newId(), shop);
    await eventually(async () => expect(await reasonOf(world.call(newId(), shop))).toBe('endpoint_unavailable'));
    shop.seller.behave(working);
    await eventually(() => world.answer(newId(), shop, BODY, {}));
    expect(await healthOf(shop)).toEqual(['active', 0]);
  });

  it('follows its rules through any run of calls, tests, pauses and moves', async () => {
    type Action = 'success' | 'failure' | 'passing test' | 'failing test' | 'pause' | 'resume' | 'move';
    const actions = fc.array(fc.constantFrom<Action>('success', 'failure', 'failure', 'failure', 'passing test', 'failing test', 'pause', 'resume', 'move'), { minLength: 1, maxLength: 14 });
    await fc.assert(
      fc.asyncProperty(actions, async (run) => {
        const shop = await world.open();
        const deliver = await Promise.all(Array.from({ length: run.length }, () => purchase(shop)));
        const model = { paused: false, failures: 0, verified: false };
        const status = (): z.output<typeof endpointStatus> => (model.paused ? 'paused' : model.failures >= FAILING_AFTER ? 'failing' : model.verified ? 'active' : 'unverified');
        let tests = 0;
        for (const [step, action] of run.entries()) {
          if (action === 'success' || action === 'failure') {
            shop.seller.behave(action === 'success' ? working : broken);
            if (model.paused) continue;
            await eventually(() => deliver[step]!());
            if (action === 'success') Object.assign(model, { failures: 0, verified: true });
            else model.failures += 1;
          } else if (action === 'pause' || action === 'resume') {
            await world.configure(shop, { status: action === 'pause' ? 'paused' : 'active' });
            model.paused = action === 'pause';
          } else if (action === 'move') {
            await world.configure(shop, { privateEndpointUrl: `${shop.seller.url}/${step}` });
            Object.assign(model, { failures: 0, verified: false });
          } else if ((tests += 1) <= 10) {
            shop.seller.behave(action === 'passing test' ? working : broken);
            await test(shop);
            if (action === 'passing test') Object.assign(model, { failures: 0, verified: true });
          }
          expect(await healthOf(shop)).toEqual([status(), model.failures]);
        }
        await world.configure(shop, { status: 'active' });
        shop.seller.behave(working);
        await Promise.all(deliver.map((again) => eventually(() => again())));
        expect(await healthOf(shop)).toEqual(['active', 0]);
        await told(shop);
      }),
      { numRuns: 12, endOnFailure: true },
    );
  }, 120_000);
});
