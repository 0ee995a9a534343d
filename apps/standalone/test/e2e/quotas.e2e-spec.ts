import type { CreatedListing } from '@market/sdk';
import { job, reply, used } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, payFor, quote, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';
import { paidOffer, refusal, subscribeOnce } from '../support/subscriber.js';

const UNITS = { unit: 'token', units: 1_000, per_call: 400 };

inEachMode('calls that a price includes', (harness) => {
  let seller: Agent;
  let shops: Shop[];
  let plan: Shop;
  let tried: Shop;
  let paid: Shop;
  let metered: Shop;

  beforeAll(async () => {
    seller = await registerAgent(harness);
    const failing = ({ body }: { body: unknown }) => ((body as { fail?: true }).fail ? reply(500, {}) : { echo: body });
    shops = await Promise.all([
      openShop(seller, failing, { pricing_model: 'monthly', pricing_amount: 9.99, included_calls: 3 }),
      openShop(seller, failing, { free_calls: 2 }),
      openShop(await registerAgent(harness)),
      openShop(
        seller,
        ({ body }) => {
          const { units } = body as { units?: number };
          return units === undefined ? { echo: body } : used(units, { echo: body });
        },
        { pricing_model: 'usage_tiered', pricing_amount: 9.99, included_units: UNITS },
      ),
    ]);
    [plan, tried, paid, metered] = shops as [Shop, Shop, Shop, Shop];
  });
  afterAll(async () => {
    // What did not say its units was delivered for nothing.
    await expectBooksInOrder(
      harness,
      shops.filter((shop) => shop !== metered),
    );
    await Promise.all(shops.map((shop) => shop.close()));
  });

  const buyer = (): Promise<Agent> => registerAgent(harness);
  const start = async (agent: Agent, listing: CreatedListing): Promise<void> => {
    const offer = await paidOffer(agent, listing);
    await agent.market.payments.verify({
      payment_id: offer.payment_id,
      relay_request_id: offer.requirements.relayRequestId,
    });
  };
  const callsOf = async (agent: Agent) => (await agent.market.subscriptions.list()).data[0]!.calls;

  it('of a plan: are shown with the listing, and asked for with a period where there is none', async () => {
    const agent = await buyer();
    expect(await agent.market.listings.get(plan.listing.id)).toMatchObject({
      pricing_model: 'monthly',
      included_calls: 3,
      free_calls: null,
      gateway_url: expect.stringContaining(plan.listing.id),
    });
    const asked = await callOnce(agent, plan.listing, { n: 1 });
    expect([asked.status, bodyOf(asked).error]).toMatchObject([
      402,
      {
        code: 'PAYMENT_REQUIRED',
        details: {
          reason: 'subscription_required',
          listing_id: plan.listing.id,
          price_usd: 9.99,
          included_calls: 3,
          included: { period: null, trial: null },
        },
        recovery: { next_action: 'subscribe' },
      },
    ]);
    expect(bodyOf(await subscribeOnce(agent, { listing_id: plan.listing.id })).data).toMatchObject({
      included_calls: 3,
    });
    const keyless = await fetch(`${harness.baseUrl}/api/v1/x402/${plan.listing.id}`, { method: 'POST', body: '{}' });
    expect([keyless.status, await keyless.json()]).toMatchObject([
      400,
      { error: { details: { reason: 'listing_not_per_call' } } },
    ]);
  });

  it('of a plan: are answered as paid calls are, counted, given back, and go on with a new period', async () => {
    const agent = await buyer();
    await start(agent, plan.listing);
    const failed = await callOnce(agent, plan.listing, { fail: true });
    expect([failed.status, resultOf(failed)]).toMatchObject([200, { billable: false }]);
    expect(await callsOf(agent)).toMatchObject({ calls: 3, used: 0, left: 3 });

    const answers = await Promise.all(Array.from({ length: 9 }, (_, n) => callOnce(agent, plan.listing, { n })));
    const answered = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect([answered.length, refused.length]).toEqual([3, 6]);
    for (const answer of answered)
      expect(resultOf(answer)).toMatchObject({ billable: true, charged_amount: { amount_cents: 0 } });
    const subscription = (await agent.market.subscriptions.list()).data[0]!;
    const period = { calls: 3, used: 3, left: 0, ends_at: subscription.current_period_end };
    expect(subscription.calls).toEqual(period);
    // As long as one of the three could still be given back, no other period is asked for.
    for (const answer of refused)
      expect([
        [402, 'quota_used_up'],
        [429, 'quota_in_use'],
      ]).toContainEqual([answer.status, reasonOf(answer)]);
    const last = await callOnce(agent, plan.listing, { n: 10 });
    expect(bodyOf(last).error).toMatchObject({
      details: { reason: 'quota_used_up', included: { period } },
      recovery: { next_action: 'subscribe' },
    });

    await start(agent, plan.listing);
    expect((await callOnce(agent, plan.listing, { n: 10 })).status).toBe(200);
    expect(
      (await agent.market.subscriptions.list({ status: 'all' })).data.map(({ status, calls }) => [status, calls!.left]),
    ).toEqual([
      ['active', 2],
      ['expired', 0],
    ]);
    expect(reasonOf(await subscribeOnce(agent, { listing_id: plan.listing.id }))).toBe('already_subscribed');
    // Included calls are in no books; the two periods are.
    expect((await agent.market.receipts.list()).data).toHaveLength(2);
  });

  it('of a trial: are given to whoever has bought something here, and the price of a call follows', async () => {
    const agent = await buyer();
    expect((await quote(agent, tried.listing, { n: 0 })).included).toEqual({
      period: null,
      units: null,
      trial: { calls: 2, used: 0, left: 2, ends_at: null, open: false, minimum_spent: 0.25 },
    });
    const bought = await callOnce(
      agent,
      paid.listing,
      { n: 0 },
      withRelayId(await payFor(agent, paid.listing, { n: 0 })),
    );
    expect(bought.status).toBe(200);
    const failed = await callOnce(agent, tried.listing, { fail: true });
    expect(resultOf(failed)).toMatchObject({ billable: false, charged_amount: { amount_cents: 0 } });
    for (let n = 0; n < 2; n += 1) {
      const headers = { 'Idempotency-Key': `trial-${n}` };
      const answer = await callOnce(agent, tried.listing, { n }, headers);
      expect([answer.status, resultOf(answer)]).toMatchObject([
        200,
        { billable: true, charged_amount: { amount_cents: 0 } },
      ]);
      const again = await callOnce(agent, tried.listing, { n }, headers);
      expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([answer.text, 'true']);
    }
    const offer = await quote(agent, tried.listing, { n: 2 });
    expect(offer).toMatchObject({
      fees: { gross_amount: 0.25 },
      included: { trial: { calls: 2, used: 2, left: 0, open: true } },
    });
    await agent.market.sandbox.pay(offer.relay_request_id);
    expect((await callOnce(agent, tried.listing, { n: 2 }, withRelayId(offer.relay_request_id))).status).toBe(200);
  });

  it('of units: count what the seller says, no more than the most of a call, and go on with a new period', async () => {
    const agent = await buyer();
    expect(await agent.market.listings.get(metered.listing.id)).toMatchObject({ included_units: UNITS });
    const details = { listing_id: metered.listing.id, price_usd: 9.99, included_calls: null, included_units: UNITS };
    const asked = await callOnce(agent, metered.listing, { units: 1 });
    expect([asked.status, bodyOf(asked).error]).toMatchObject([
      402,
      { details: { ...details, reason: 'subscription_required', included: { period: null, units: null } } },
    ]);
    expect(bodyOf(await subscribeOnce(agent, { listing_id: metered.listing.id })).data).toMatchObject({
      included_calls: null,
      included_units: UNITS,
    });
    await start(agent, metered.listing);
    const unitsOf = async () => (await agent.market.subscriptions.list()).data[0]!.units;
    const headers = { 'Idempotency-Key': 'units' };
    const first = await callOnce(agent, metered.listing, { units: 30 }, headers);
    expect(resultOf(first)).toMatchObject({
      billable: true,
      charged_amount: { amount_cents: 0 },
      usage: { unit: 'token', units: 30 },
    });
    expect((await callOnce(agent, metered.listing, { units: 30 }, headers)).text).toBe(first.text);
    expect(resultOf(await callOnce(agent, metered.listing, { n: 'says nothing' }))).toMatchObject({
      billable: false,
      error: { reason: 'units_missing' },
    });
    await callOnce(agent, metered.listing, { units: 0 });
    const quota = { unit: 'token', units: 1_000, used: 30, left: 970 };
    expect(await unitsOf()).toMatchObject(quota);
    // Each has the most of a call while it is under way, and 400 of what it says.
    const answers = await Promise.all(
      [401, 402, 403].map((units) => callOnce(agent, metered.listing, { units }, { 'Idempotency-Key': `${units}` })),
    );
    expect(answers.map((answer) => [answer.status, resultOf(answer).usage])).toEqual(
      [401, 402, 403].map((units) => [200, { unit: 'token', units }]),
    );
    const usedUp = { unit: 'token', units: 1_000, used: 1_230, left: 0 };
    expect(await unitsOf()).toMatchObject(usedUp);
    const refused = await callOnce(agent, metered.listing, { units: 5 });
    expect([refused.status, bodyOf(refused).error]).toMatchObject([
      402,
      {
        details: { ...details, reason: 'quota_used_up', included: { period: null, units: usedUp } },
        recovery: { next_action: 'subscribe' },
      },
    ]);
    await start(agent, metered.listing);
    expect((await callOnce(agent, metered.listing, { units: 5 })).status).toBe(200);
    expect(await unitsOf()).toMatchObject({ used: 5, left: 995 });
    expect((await agent.market.receipts.list()).data).toHaveLength(2);
  });

  it('of units: are counted of a job when it is delivered, and given back when it fails', async () => {
    const agent = await buyer();
    const fields = {
      pricing_model: 'usage_tiered',
      pricing_amount: 9.99,
      included_units: UNITS,
      delivery_type: 'webhook',
    } as const;
    const working = await openShop(
      seller,
      ({ body }) =>
        job(() => {
          if ((body as { fail?: true }).fail) throw new Error('this job fails');
          return used(30, { done: true });
        }),
      fields,
    );
    await start(agent, working.listing);
    const unitsOf = async () => (await agent.market.subscriptions.list()).data[0]!.units;
    for (const body of [{ fail: true }, { fail: false }]) {
      const headers = { 'Idempotency-Key': `job-${body.fail}` };
      expect((await callOnce(agent, working.listing, body, headers)).status).toBe(202);
      await eventually(async () => {
        const answer = await callOnce(agent, working.listing, body, headers);
        expect(answer.status).toBe(200);
        expect(resultOf(answer)).toMatchObject({ billable: !body.fail, charged_amount: { amount_cents: 0 } });
      });
      await eventually(async () => expect(await unitsOf()).toMatchObject({ used: body.fail ? 0 : 30 }));
    }
    await working.close();
  });

  it('are refused where they do not fit the price, and leave with it', async () => {
    const listed = {
      name: 'Plan of a test',
      description: 'Fits no price, for the tests of included calls.',
      private_endpoint_url: 'https://plan.example/call',
    };
    const refused = (listing: object): Promise<string | undefined> =>
      refusal(seller.market.listings.create({ ...listed, ...listing })).then(([, reason]) => reason);
    expect(
      await Promise.all([
        refused({ pricing_model: 'per_call', pricing_amount: 0.25, included_calls: 3 }),
        refused({ pricing_model: 'per_call', pricing_amount: 0, free_calls: 3 }),
        refused({ pricing_model: 'monthly', pricing_amount: 0, included_calls: 3 }),
        refused({ pricing_model: 'monthly', pricing_amount: 5, free_calls: 3 }),
        refused({ pricing_model: 'monthly', pricing_amount: 5, included_calls: 3, private_endpoint_url: undefined }),
        refused({ pricing_model: 'monthly', pricing_amount: 5 }),
        refused({ pricing_model: 'monthly', pricing_amount: 5, included_units: UNITS }),
        refused({ pricing_model: 'usage_tiered', pricing_amount: 0, included_units: UNITS }),
        refused({
          pricing_model: 'usage_tiered',
          pricing_amount: 5,
          included_units: UNITS,
          private_endpoint_url: undefined,
        }),
      ]),
    ).toEqual([
      'pricing_invalid',
      'pricing_invalid',
      'pricing_invalid',
      'pricing_invalid',
      'private_endpoint_required',
      'private_endpoint_unexpected',
      'pricing_invalid',
      'pricing_invalid',
      'private_endpoint_required',
    ]);
    const shop = await openShop(seller, undefined, { free_calls: 2 });
    const changed = await seller.market.listings.update(shop.listing.id, { pricing_model: 'free' });
    expect(changed).toMatchObject({ pricing_amount: 0, free_calls: null, included_calls: null });
    await shop.close();
  });
});
