import type { OutputOf } from '@market/contracts';
import { endpointChanged, getEndpoint, testEndpoint } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { eventually } from '@market/testing';
import * as fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import {
  as,
  reasonOf,
  refusalOf,
  resultOf,
  startGateway,
  type Answered,
  type GatewayHarness,
  type Shop,
} from '../support/gateway-harness.js';
import { answer, held, startSeller } from '../support/test-seller.js';

const FAILING_AFTER = 3;
const PROBE_INTERVAL_MS = 500;
const broken = answer(500, '{}');
const working = answer(200, '{"ok":true}');

describe('the health of an endpoint', () => {
  let harness: GatewayHarness;
  /** A harness in which the marketplace's own tests run at a short interval. */
  let quick: GatewayHarness;
  beforeAll(async () => {
    const env = { GATEWAY_FAILING_AFTER: String(FAILING_AFTER) };
    harness = await startGateway({ replicas: 2, env });
    quick = await startGateway({ replicas: 2, env: { ...env, GATEWAY_PROBE_INTERVAL_MS: String(PROBE_INTERVAL_MS) } });
  });
  afterAll(() => Promise.all([harness.stop(), quick.stop()]));

  const view = ({ offering }: Shop, at = harness): Promise<OutputOf<typeof getEndpoint>> =>
    at.edge.request(getEndpoint, { listing_id: offering.listingId }, as(offering.sellerId));
  const healthOf = async (shop: Shop, at = harness): Promise<[string, number]> => {
    const { status, consecutive_failures } = await view(shop, at);
    return [status, consecutive_failures];
  };
  const test = ({ offering }: Shop, at = harness): Promise<OutputOf<typeof testEndpoint>> =>
    at.edge.request(testEndpoint, { listing_id: offering.listingId }, as(offering.sellerId));
  const statuses = async ({ offering }: Shop, at = harness): Promise<string[]> => {
    const rows = await at.db.inspect<{ payload: unknown }>(
      'SELECT payload FROM gateway.outbox WHERE subject = $1 ORDER BY id',
      [endpointChanged.subject],
    );
    const events = rows
      .map(({ payload }) => endpointChanged.payload.parse(payload))
      .filter(({ listingId }) => listingId === offering.listingId);
    expect(events.map(({ version }) => version)).toEqual(events.map((_, index) => index + 1));
    return events.map(({ status }) => status);
  };
  /** Returns a function that repeats a purchase until it is delivered. */
  const purchase = async (
    shop: Shop,
    buyer = newId(),
    body = `{"id":"${newId()}"}`,
    at = harness,
  ): Promise<() => Promise<Answered>> => {
    const relayRequestId = await at.buy(buyer, shop, body);
    return () => at.answer(buyer, shop, body, { relayRequestId });
  };
  const tests = ({ seller }: Shop): number =>
    seller.requests.filter(({ headers }) => headers['x-market-event'] === 'endpoint.test').length;
  const calls = ({ seller }: Shop): number => seller.requests.length - tests({ seller } as Shop);
  /** A shop whose endpoint is failing because of calls of several buyers, with purchases that were paid before. */
  const failing = async (purchases = 1, at = harness): Promise<{ shop: Shop; bought: (() => Promise<Answered>)[] }> => {
    const shop = await at.open();
    const bought = await Promise.all(
      Array.from({ length: purchases + FAILING_AFTER }, () => purchase(shop, newId(), undefined, at)),
    );
    shop.seller.behave(broken);
    await Promise.all(bought.slice(purchases).map((deliver) => deliver()));
    expect((await healthOf(shop, at))[0]).toBe('failing');
    await eventually(async () => expect(await reasonOf(at.call(newId(), shop))).toBe('endpoint_unavailable'));
    return { shop, bought: bought.slice(0, purchases) };
  };

  it('is active with its first success, and told of once', async () => {
    const shop = await harness.open();
    expect(await healthOf(shop)).toEqual(['unverified', 0]);
    const bought = await Promise.all(Array.from({ length: 8 }, () => purchase(shop)));
    await Promise.all(bought.map((deliver) => deliver()));
    expect(await healthOf(shop)).toEqual(['active', 0]);
    await (
      await purchase(shop)
    )();
    expect(await statuses(shop)).toEqual(['unverified', 'active']);
  });

  it('is failing after so many calls of two buyers in a row, over all processes, and sells no more calls', async () => {
    const shop = await harness.open();
    const [one, later, ...others] = await Promise.all(Array.from({ length: 4 }, () => purchase(shop)));
    shop.seller.behave(broken);
    for (const deliver of [one!, one!, others[0]!, others[0]!, one!]) await deliver();
    expect(await healthOf(shop)).toEqual(['unverified', 2]);
    shop.seller.behave(working);
    await later!();
    expect(await healthOf(shop)).toEqual(['active', 0]);
    shop.seller.behave(broken);
    for (const [index, expected] of [
      ['active', 1],
      ['active', 2],
      ['failing', 3],
    ].entries()) {
      await [one!, ...others][index]!();
      expect(await healthOf(shop)).toEqual(expected);
    }
    const refused = await eventually(() => refusalOf(harness.call(newId(), shop)));
    expect([refused.reason, refused.details]).toEqual(['endpoint_unavailable', { endpoint_status: 'failing' }]);
    expect((await statuses(shop)).slice(0, 3)).toEqual(['unverified', 'active', 'failing']);
  });

  it('is failing once, however many calls fail at once', async () => {
    const shop = await harness.open(undefined, broken);
    const bought = await Promise.all(Array.from({ length: 12 }, () => purchase(shop)));
    // All calls reach the seller before the first one fails.
    const gate = held(broken);
    shop.seller.behave(gate.behaviour);
    const failed = bought.map((deliver) => deliver());
    await eventually(() => expect(shop.seller.requests).toHaveLength(12));
    gate.release();
    await Promise.all(failed);
    expect(await healthOf(shop)).toEqual(['failing', 12]);
    expect((await statuses(shop)).slice(0, 2)).toEqual(['unverified', 'failing']);
  });

  it('is taken down by no single buyer: repeats count once, and its calls bring only one test of ours over all processes', async () => {
    const shop = await harness.open();
    const [buyer, body] = [newId(), '{"break":true}'];
    shop.seller.behave((request, response) =>
      request.rawBody.includes('break') ? broken(request, response) : working(request, response),
    );
    const deliver = await purchase(shop, buyer, body);
    for (let repeat = 1; repeat <= 3 * FAILING_AFTER; repeat += 1) await deliver();
    expect([await healthOf(shop), tests(shop)]).toEqual([['unverified', 1], 0]);
    for (let more = 2; more <= FAILING_AFTER; more += 1) await (await purchase(shop, buyer, `{"break":${more}}`))();
    await eventually(async () => expect(await healthOf(shop)).toEqual(['active', 0]));
    expect([tests(shop), await statuses(shop)]).toEqual([1, ['unverified', 'active']]);
    await harness.quote(newId(), shop);
  });

  it('is failing as soon as a test of ours finds it dead, after one call that did not reach it', async () => {
    const shop = await quick.open();
    const deliver = await purchase(shop, newId(), undefined, quick);
    const { port } = new URL(shop.seller.url);
    await shop.seller.stop();
    await deliver();
    await eventually(async () => expect((await healthOf(shop, quick))[0]).toBe('failing'));
    expect(await reasonOf(deliver())).toBe('delivery_postponed');
    await eventually(async () => expect(await reasonOf(quick.call(newId(), shop))).toBe('endpoint_unavailable'));
    shop.seller = await startSeller(working, Number(port));
    await eventually(async () => expect(await healthOf(shop, quick)).toEqual(['active', 0]));
    expect(resultOf(await eventually(() => deliver())).billable).toBe(true);
    expect(await statuses(shop, quick)).toEqual(['unverified', 'failing', 'active']);
    await shop.seller.stop();
  });

  it.each([
    ['never reached', broken, 'failing', false],
    ['there, with nothing to say to a test', answer(404, 'no'), 'unverified', false],
    ['working', working, 'active', true],
  ] as const)('is told soon after it was set to be %s, without any call', async (_name, behaviour, expected, ok) => {
    const shop = await quick.open(undefined, behaviour);
    await eventually(async () =>
      expect(await view(shop, quick)).toMatchObject({ status: expected, last_test: { ok } }),
    );
    await quick.configure(shop, { status: 'paused', private_endpoint_url: `${shop.seller.url}/moved` });
    const before = tests(shop);
    await delay(4 * PROBE_INTERVAL_MS);
    expect([tests(shop), await healthOf(shop, quick)]).toEqual([before, ['paused', 0]]);
  });

  it('gets a test of ours each interval while it fails, and no call; what is paid waits, and follows when it answers', async () => {
    const { shop, bought } = await failing(4, quick);
    const before = calls(shop);
    const since = Date.now();
    await eventually(() => expect(tests(shop)).toBeGreaterThanOrEqual(3));
    expect(Date.now() - since).toBeGreaterThan(2 * PROBE_INTERVAL_MS);
    const refused = await Promise.all(bought.map((deliver) => refusalOf(deliver())));
    expect(refused.map(({ reason, declaration, details }) => [reason, declaration.kind, details])).toEqual(
      bought.map(() => ['delivery_postponed', 'unavailable', { endpoint_status: 'failing', retry_after_seconds: 1 }]),
    );
    expect(calls(shop)).toBe(before);
    // A buyer could not use this answer, but it shows that the seller works.
    shop.seller.behave(answer(422, 'what?'));
    await eventually(async () => expect(await healthOf(shop, quick)).toEqual(['active', 0]));
    shop.seller.behave(working);
    const results = await Promise.all(bought.map((deliver) => eventually(() => deliver())));
    expect(results.map((result) => resultOf(result).billable)).toEqual(bought.map(() => true));
    await eventually(() => quick.quote(newId(), shop));
    expect(await statuses(shop, quick)).toEqual(['unverified', 'failing', 'active']);
  });

  it("is active again with a passing test of its owner's, and failing with another", async () => {
    const { shop } = await failing();
    expect((await test(shop)).success).toBe(false);
    expect(await view(shop)).toMatchObject({
      status: 'failing',
      consecutive_failures: FAILING_AFTER,
      last_test: { ok: false, status_code: 500 },
    });
    shop.seller.behave(working);
    await test(shop);
    expect(await view(shop)).toMatchObject({
      status: 'active',
      consecutive_failures: 0,
      last_test: { ok: true, status_code: 200 },
    });
    shop.seller.behave(broken);
    await test(shop);
    expect(await healthOf(shop)).toEqual(['failing', 0]);
    expect(await statuses(shop)).toEqual(['unverified', 'failing', 'active', 'failing']);
  });

  it('is not mended by its owner saying so: only a pause ends with that', async () => {
    const { shop } = await failing(1, quick);
    for (const status of ['active', 'paused', 'active'] as const) await quick.configure(shop, { status });
    expect((await healthOf(shop, quick))[0]).toBe('failing');
    shop.seller.behave(working);
    await eventually(async () => expect(await healthOf(shop, quick)).toEqual(['active', 0]));
    await quick.configure(shop, { status: 'paused' });
    await quick.configure(shop, { status: 'active' });
    expect(await healthOf(shop, quick)).toEqual(['active', 0]);
  });

  it('is counted anew at another URL, where nothing is known of it; late failures and tests of the old one do not count', async () => {
    const shop = await harness.open();
    const bought = await Promise.all(Array.from({ length: FAILING_AFTER }, () => purchase(shop)));
    const gate = held(broken);
    shop.seller.behave(gate.behaviour);
    const late = [...bought.map((deliver) => deliver()), test(shop)];
    await eventually(() => expect(calls(shop) + tests(shop)).toBeGreaterThan(FAILING_AFTER));
    shop.seller.behave(working);
    await harness.configure(shop, { private_endpoint_url: `${shop.seller.url}/new` });
    gate.release();
    await Promise.all(late);
    expect((await view(shop)).consecutive_failures).toBe(0);
    expect(await statuses(shop)).not.toContain('failing');
  });

  it('follows its rules through any run of calls, tests, pauses and moves', async () => {
    type Action = 'success' | 'failure' | 'passing test' | 'failing test' | 'pause' | 'resume' | 'move';
    const actions = fc.array(
      fc.constantFrom<Action>(
        'success',
        'failure',
        'failure',
        'failure',
        'passing test',
        'failing test',
        'pause',
        'resume',
        'move',
      ),
      { minLength: 1, maxLength: 14 },
    );
    await fc.assert(
      fc.asyncProperty(actions, async (run) => {
        const shop = await harness.open();
        const deliver = await Promise.all(Array.from({ length: run.length }, () => purchase(shop, newId(), undefined)));
        const model = { paused: false, failures: 0, health: 'unverified' };
        let tests = 0;
        for (const [step, action] of run.entries()) {
          if (action === 'success' || action === 'failure') {
            shop.seller.behave(action === 'success' ? working : broken);
            if (model.paused || model.health === 'failing')
              expect(await reasonOf(deliver[step]!())).toBe('delivery_postponed');
            else await deliver[step]!();
            if (model.paused || model.health === 'failing') continue;
            model.failures = action === 'success' ? 0 : model.failures + 1;
            if (action === 'success') model.health = 'active';
            if (model.failures === FAILING_AFTER) model.health = 'failing';
          } else if (action === 'pause' || action === 'resume') {
            await harness.configure(shop, { status: action === 'pause' ? 'paused' : 'active' });
            model.paused = action === 'pause';
          } else if (action === 'move') {
            await harness.configure(shop, { private_endpoint_url: `${shop.seller.url}/${step}` });
            Object.assign(model, { failures: 0, health: 'unverified' });
          } else if ((tests += 1) <= 10) {
            shop.seller.behave(action === 'passing test' ? working : broken);
            await test(shop);
            Object.assign(model, action === 'passing test' ? { failures: 0, health: 'active' } : { health: 'failing' });
          }
          expect(await healthOf(shop)).toEqual([model.paused ? 'paused' : model.health, model.failures]);
        }
        await statuses(shop);
      }),
      { numRuns: 12, endOnFailure: true },
    );
  }, 120_000);
});
