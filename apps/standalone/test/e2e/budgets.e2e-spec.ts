import type { AccountEvent, HttpAnswer, Offer } from '@market/sdk';
import { reply } from '@market/sdk/seller';
import { eventually, startMarketplace, type RunningMarketplace } from '@market/testing';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { expectBooksInOrder } from '../support/books.js';
import { bodyOf, callOnce, payFor, quote, reasonOf, withRelayId } from '../support/buyer.js';
import { signIn } from '../support/fuzz/fixtures.js';
import { inEachMode, registerAgent, type Agent, type Harness } from '../support/harness.js';
import { commandsBelow, runAsWritten } from '../support/paying-page.js';
import { openShop, type Shop } from '../support/seller.js';
import { listFeed, subscribeOnce } from '../support/subscriber.js';

interface Spending {
  day: { spent_usd: number; left_usd: number | null; resets_at: string };
  month: { spent_usd: number; left_usd: number | null };
}
interface Budgeted {
  id: string;
  budget: object | null;
  spending: Spending;
}

const NONE = { per_call_usd: null, per_day_usd: null, per_month_usd: null, listings: null, frozen: false };

/** Returns the agent with another key, and the key. */
async function keyed(agent: Agent, budget?: object): Promise<Agent & { keyId: string }> {
  const scopes = ['read', 'write', 'subscribe'];
  const answer = await agent.market.send('POST', '/api-keys', { body: { name: 'spender', scopes, budget } });
  expect(answer.status).toBe(201);
  const { id, key } = bodyOf(answer).data as { id: string; key: string };
  return { ...agent, keyId: id, market: agent.market.authorizedBy(`Bearer ${key}`) };
}

const budgeted = async (agent: Agent, path: string): Promise<Budgeted> => agent.market.request('GET', path);

/** Signs an offer with a new wallet, like stock x402 clients. */
async function signatureFor({ x402 }: Offer): Promise<Record<string, string>> {
  const scheme = new ExactEvmScheme(privateKeyToAccount(generatePrivateKey()));
  const [accepted] = x402!.accepts;
  const { payload } = await scheme.createPaymentPayload(2, accepted as never);
  const signed = { x402Version: 2, accepted, payload, resource: { url: 'https://market.example/' } };
  return { 'payment-signature': Buffer.from(JSON.stringify(signed)).toString('base64') };
}

const exceeded = ({ status, json }: HttpAnswer) => ({
  status,
  ...(json as { error?: { code: string; details?: object; recovery?: { next_action?: string } } }).error,
});

inEachMode('a budget', (harness) => {
  let seller: Agent;
  let shop: Shop;
  let failing = false;
  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Seller' });
    shop = await openShop(seller, ({ body }) => (failing ? reply(422, { sorry: true }) : { echo: body }));
  });
  afterAll(async () => {
    await expectBooksInOrder(harness as Harness, [shop]);
    await shop.close();
  });

  it('lets a key spend what it may and tells what is left, and then says when it is new', async () => {
    const agent = await registerAgent(harness);
    const buyer = await keyed(agent, { per_call_usd: 0.25, per_day_usd: 0.5 });
    for (const ask of ['one', 'two'])
      expect(
        (await callOnce(buyer, shop.listing, { ask }, withRelayId(await payFor(buyer, shop.listing, { ask })))).status,
      ).toBe(200);
    const { budget, spending } = await budgeted(buyer, `/api-keys/${buyer.keyId}`);
    expect(budget).toEqual({ ...NONE, per_call_usd: 0.25, per_day_usd: 0.5 });
    expect(spending).toMatchObject({ day: { spent_usd: 0.5, left_usd: 0 }, month: { spent_usd: 0.5, left_usd: null } });
    const refused = exceeded(await callOnce(buyer, shop.listing, { ask: 'three' }));
    expect(refused).toMatchObject({
      status: 403,
      code: 'FORBIDDEN',
      details: {
        reason: 'budget_exceeded',
        budget: 'key',
        limit: 'per_day',
        limit_usd: 0.5,
        spent_usd: 0.5,
        price_usd: 0.25,
        resets_at: spending.day.resets_at,
      },
      recovery: { next_action: 'change_budget' },
    });
    // A stored answer is repeated, and other keys of the agent can still buy.
    expect((await quote(agent, shop.listing, { ask: 'three' })).relay_request_id).toMatch(/^0x/);
  });

  it('counts what was spent on its day before it was set, of a key and of a whole agent', async () => {
    const agent = await registerAgent(harness);
    const buyer = await keyed(agent);
    const buy = async (by: Agent, ask: string): Promise<number> =>
      (await callOnce(by, shop.listing, { ask }, withRelayId(await payFor(by, shop.listing, { ask })))).status;
    expect([await buy(buyer, 'one'), await buy(buyer, 'two'), await buy(agent, 'three')]).toEqual([200, 200, 200]);
    const budget = { per_day_usd: 0.8 };
    const ofKey = await agent.market.request<Budgeted>('PATCH', `/api-keys/${buyer.keyId}`, { body: { budget } });
    expect(ofKey.spending).toMatchObject({ day: { spent_usd: 0.5 }, month: { spent_usd: 0.5 } });
    const ofAgent = await agent.market.request<Budgeted>('PATCH', '/me/budget', { body: { budget } });
    expect(ofAgent.spending).toMatchObject({ day: { spent_usd: 0.75, left_usd: 0.05 }, month: { spent_usd: 0.75 } });
    await eventually(async () => {
      expect(exceeded(await callOnce(buyer, shop.listing, { ask: 'four' }))).toMatchObject({
        status: 403,
        details: { budget: 'agent', limit: 'per_day', spent_usd: 0.75 },
      });
    });
    await agent.market.request('PATCH', '/me/budget', { body: { budget: { per_day_usd: 1 } } });
    await eventually(async () => expect((await callOnce(buyer, shop.listing, { ask: 'four' })).status).toBe(402));
    expect(await buy(buyer, 'four')).toBe(200);
    expect((await budgeted(buyer, `/api-keys/${buyer.keyId}`)).spending.day.spent_usd).toBe(0.75);
    expect(exceeded(await callOnce(agent, shop.listing, { ask: 'five' }))).toMatchObject({
      details: { budget: 'agent', limit: 'per_day', spent_usd: 1 },
    });
  });

  it('tells its agent when four fifths and when all of it are spent', async () => {
    const agent = await registerAgent(harness);
    const near = await keyed(agent, { per_day_usd: 0.3 });
    const exhausted = await keyed(agent, { per_month_usd: 0.25 });
    for (const [ask, buyer] of [near, exhausted].entries())
      expect(
        (await callOnce(buyer, shop.listing, { ask }, withRelayId(await payFor(buyer, shop.listing, { ask })))).status,
      ).toBe(200);
    await eventually(async () => {
      const events: AccountEvent[] = await agent.market.request('GET', '/events');
      expect(events.map(({ type, data }) => [type, data]).toSorted()).toEqual([
        [
          'budget_exhausted',
          {
            ...{ budget: 'key', budget_id: exhausted.keyId, period: 'month', spent_usd: 0.25, limit_usd: 0.25 },
            resets_at: expect.stringMatching(/-01T00:00:00/),
          },
        ],
        [
          'budget_near_limit',
          {
            ...{ budget: 'key', budget_id: near.keyId, period: 'day', spent_usd: 0.25, limit_usd: 0.3 },
            resets_at: expect.stringMatching(/T00:00:00/),
          },
        ],
      ]);
    });
  });

  it('holds for what is paid in the sandbox, by signature and for a subscription', async () => {
    const agent = await registerAgent(harness);
    const buyer = await keyed(agent, { per_call_usd: 0.2 });
    const body = { ask: 'dear' };
    const offer = await quote(agent, shop.listing, body);
    const paid = await buyer.market.send('POST', `/sandbox/payments/${offer.relay_request_id}/pay`, { body: {} });
    const signed = await callOnce(buyer, shop.listing, body, {
      ...withRelayId(offer.relay_request_id),
      ...(await signatureFor(offer)),
    });
    const subscribed = await subscribeOnce(buyer, { listing_id: (await listFeed(seller)).id });
    for (const answer of [paid, signed, subscribed])
      expect(exceeded(answer)).toMatchObject({
        status: 403,
        details: { reason: 'budget_exceeded', limit: 'per_call' },
      });
    expect(shop.requests.filter((request) => (request.body as { ask?: string }).ask === 'dear')).toEqual([]);
    const small = await keyed(agent, { per_day_usd: 0.25 });
    expect(
      (
        await callOnce(small, shop.listing, body, {
          ...withRelayId(offer.relay_request_id),
          ...(await signatureFor(offer)),
        })
      ).status,
    ).toBe(200);
    expect((await budgeted(small, `/api-keys/${small.keyId}`)).spending.day.spent_usd).toBe(0.25);
  });

  it('is given back for a signed call that was not billable', async () => {
    const buyer = await keyed(await registerAgent(harness), { per_day_usd: 0.25 });
    const body = { ask: 'refused' };
    const offer = await quote(buyer, shop.listing, body);
    failing = true;
    const answer = await callOnce(buyer, shop.listing, body, {
      ...withRelayId(offer.relay_request_id),
      ...(await signatureFor(offer)),
    });
    failing = false;
    expect(bodyOf(answer).data).toMatchObject({ billable: false });
    expect((await budgeted(buyer, `/api-keys/${buyer.keyId}`)).spending.day.spent_usd).toBe(0);
    expect((await callOnce(buyer, shop.listing, body, withRelayId(offer.relay_request_id))).status).toBe(200);
    expect((await budgeted(buyer, `/api-keys/${buyer.keyId}`)).spending.day.spent_usd).toBe(0.25);
  });

  it('is not for its own key to change, and is changed by another within a second', async () => {
    const agent = await registerAgent(harness);
    const buyer = await keyed(agent, { per_call_usd: 0.1 });
    for (const [method, path, body] of [
      ['PATCH', `/api-keys/${buyer.keyId}`, { budget: null }],
      ['PATCH', '/me/budget', { budget: null }],
      ['POST', '/api-keys', { name: 'free', scopes: ['subscribe'] }],
    ] as const) {
      const answer = await buyer.market.send(method, path, { body });
      expect([path, answer.status, reasonOf(answer)]).toEqual([path, 403, 'key_has_budget']);
    }
    expect((await callOnce(buyer, shop.listing, { ask: 1 })).status).toBe(403);
    const changed = await agent.market.request<Budgeted>('PATCH', `/api-keys/${buyer.keyId}`, {
      body: { budget: { per_call_usd: 0.25, listings: [shop.listing.id] } },
    });
    expect(changed).toMatchObject({
      budget: { ...NONE, per_call_usd: 0.25, listings: [shop.listing.id] },
      spending: { day: { spent_usd: 0 } },
    });
    await eventually(async () => expect((await callOnce(buyer, shop.listing, { ask: 1 })).status).toBe(402));
    await agent.market.request('PATCH', `/api-keys/${buyer.keyId}`, { body: { budget: null } });
    expect(await budgeted(agent, `/api-keys/${buyer.keyId}`)).toMatchObject({
      budget: null,
      spending: { day: { left_usd: null } },
    });
  });

  it('freezes all keys of an agent at once, at its owner’s word and nobody else’s', async () => {
    const agent = await registerAgent(harness);
    const other = await keyed(agent);
    const human = await signIn(harness);
    const asHuman = agent.market.authorizedBy(`Bearer ${human.token}`);
    await asHuman.claim(agent.id, agent.wallet);
    const freeze = (frozen: boolean) =>
      asHuman.request<Budgeted>('PATCH', `/me/budget?agent_id=${agent.id}`, { body: { budget: { frozen } } });
    expect(await freeze(true)).toMatchObject({
      budget: { ...NONE, frozen: true },
      spending: { day: { left_usd: null } },
    });
    for (const buyer of [agent, other])
      await eventually(async () =>
        expect(exceeded(await callOnce(buyer, shop.listing, { ask: 'frozen' }))).toMatchObject({
          status: 403,
          details: { budget: 'agent', limit: 'frozen', resets_at: null },
        }),
      );
    const thawed = await agent.market.send('PATCH', '/me/budget', { body: { budget: null } });
    expect([thawed.status, reasonOf(thawed)]).toEqual([403, 'budget_is_the_owners']);
    await freeze(false);
    await eventually(async () => expect((await callOnce(other, shop.listing, { ask: 'frozen' })).status).toBe(402));
    expect(await budgeted(agent, '/me/budget')).toMatchObject({ budget: NONE });
  });

  it('is made as docs/buying.md says', async () => {
    const agent = await registerAgent(harness);
    const [commands] = commandsBelow('Budgets', 'buying');
    const said = await runAsWritten(
      commands!,
      agent,
      { slug: 'none' },
      { API: agent.market.baseUrl, KEY: agent.registration.api_key },
    );
    expect(JSON.parse(said)).toMatchObject({ data: { budget: { ...NONE, per_call_usd: 0.5, per_day_usd: 5 } } });
  });

  it.each<[string, unknown]>([
    ['a negative amount', { per_day_usd: -1 }],
    ['more decimals than money has', { per_day_usd: 0.0000001 }],
    ['text', { per_call_usd: '1' }],
    ['a listing that is no id', { listings: ['weather'] }],
    ['too many listings', { listings: Array.from({ length: 51 }, () => '019a9f45-b8e1-7d93-a6f0-91c4e2b7d333') }],
    ['an unknown limit', { per_year_usd: 1 }],
    ['no object', 5],
  ])('refuses %s', async (_what, budget) => {
    const agent = await registerAgent(harness);
    const answer = await agent.market.send('PATCH', '/me/budget', { body: { budget } });
    expect([answer.status, reasonOf(answer)]).toEqual([400, 'request_invalid']);
    expect(JSON.stringify(bodyOf(answer).error!.details)).toContain('budget');
  });
});

inEachMode('a budget under pressure', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let shop: Shop;
  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, replicas: { gateway: 2, 'payments-ledger': 2 } });
    shop = await openShop(await registerAgent(marketplace, { displayName: 'Seller' }));
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
  }, 120_000);

  it('is not exceeded by a cent by 64 calls at once, over all gateways, and is used up', async () => {
    const agent = await registerAgent(marketplace);
    await agent.market.request('PATCH', '/me/budget', { body: { budget: { per_month_usd: 5 } } });
    const buyers = await Promise.all([keyed(agent, { per_day_usd: 2.4 }), keyed(agent, { per_day_usd: 3 })]);
    const bodies = Array.from({ length: 64 }, (_, n) => ({ n }));
    // Quotes do not count as spending, so 64 offers can be open together.
    const offers = await Promise.all(bodies.map((body, n) => quote(buyers[n % 2]!, shop.listing, body)));
    const bought = await Promise.all(
      offers.map(async (offer, n) => {
        const [buyer, body] = [buyers[n % 2]!, bodies[n]!];
        const headers = withRelayId(offer.relay_request_id);
        const paid =
          n % 4 < 2
            ? await buyer.market.send('POST', `/sandbox/payments/${offer.relay_request_id}/pay`, { body: {} })
            : undefined;
        const answer =
          paid && paid.status !== 200
            ? paid
            : await callOnce(
                buyer,
                shop.listing,
                body,
                paid ? headers : { ...headers, ...(await signatureFor(offer)) },
              );
        if (answer.status === 200) return true;
        expect(exceeded(answer)).toMatchObject({ status: 403, details: { reason: 'budget_exceeded' } });
        return false;
      }),
    );
    // One key may buy 9 calls of $0.25, and both together 20; the agent's limit leaves 11 to the other key.
    const spent = await Promise.all(
      buyers.map(async (buyer) => (await budgeted(buyer, `/api-keys/${buyer.keyId}`)).spending.day.spent_usd),
    );
    const all = (await budgeted(agent, '/me/budget')).spending!;
    expect(all.month).toMatchObject({ spent_usd: 5, left_usd: 0 });
    expect(spent[0]! + spent[1]!).toBe(5);
    expect([spent[0]! <= 2.25, spent[1]! <= 3]).toEqual([true, true]);
    expect(bought.filter(Boolean)).toHaveLength(20);
    expect(shop.deliveries.requestIds).toHaveLength(20);
    await expectBooksInOrder(marketplace, [shop]);
  }, 240_000);
});
