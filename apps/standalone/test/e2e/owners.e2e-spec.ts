import { evmWallet, type HttpAnswer, type Marketplace, type Method } from '@market/sdk';
import { eventually } from '@market/testing';
import { bodyOf, callOnce, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

inEachMode('the human that has claimed an agent', (harness) => {
  const anyone = stranger(harness);
  let agent: Agent;
  let customer: Agent;
  let shop: Shop;
  let human: Marketplace;

  /** Sends the human's request for its agent. */
  const asOwner = (method: Method, path: string, body?: object): Promise<HttpAnswer> =>
    human.send(method, `${path}${path.includes('?') ? '&' : '?'}agent_id=${agent.id}`, body ? { body } : {});
  async function dataOf<T>(asked: Promise<HttpAnswer>): Promise<T> {
    const answer = await asked;
    expect(answer).toMatchObject({ json: { success: true } });
    return bodyOf(answer).data as T;
  }

  beforeAll(async () => {
    [agent, customer] = await Promise.all([registerAgent(harness, { displayName: 'Seller' }), registerAgent(harness)]);
    shop = await openShop(agent);
    const body = { ask: 'once' };
    await callOnce(customer, shop.listing, body, withRelayId(await payFor(customer, shop.listing, body)));
    ({ marketplace: human } = await anyone.signIn(evmWallet()));
    await human.claim(agent.id, agent.wallet);
  });
  afterAll(() => shop.close());

  it('finds its agents in its own profile, the oldest claim first', async () => {
    expect((await human.me()).agents).toEqual([
      { agent_id: agent.id, display_name: 'Seller', claimed_at: expect.stringMatching(/Z$/) },
    ]);
    const second = await registerAgent(harness, { displayName: 'Second' });
    await human.claim(second.id, second.wallet);
    expect((await human.me()).agents!.map(({ display_name }) => display_name)).toEqual(['Seller', 'Second']);
    expect(await agent.market.me()).not.toHaveProperty('agents');
    expect(await dataOf(asOwner('GET', '/me'))).toEqual(await agent.market.me());
  });

  it('reads what the agent reads', async () => {
    const paths = [
      '/ledger',
      '/receipts?role=seller',
      '/gateway-requests?role=seller',
      '/subscriptions',
      '/events',
      '/me/wallets',
      '/listings?mine=true',
      `/listings/${shop.listing.id}/endpoint`,
    ];
    for (const path of paths) {
      const own = (await dataOf(agent.market.send('GET', path))) as unknown[];
      expect([path, await dataOf(asOwner('GET', path))]).toEqual([path, own]);
      if (Array.isArray(own) && !path.startsWith('/subscriptions')) expect([path, own.length]).not.toEqual([path, 0]);
    }
    const [receipt] = await dataOf<{ id: string }[]>(asOwner('GET', '/receipts?role=seller'));
    expect(await dataOf(asOwner('GET', `/receipts/${receipt!.id}/proof`))).toHaveProperty('jws');
  });

  it('makes a key of any scope, which is shown once, and ends it', async () => {
    const scopes = ['read', 'subscribe'];
    const created = await dataOf<{ id: string; key: string }>(asOwner('POST', '/api-keys', { name: 'by me', scopes }));
    const keyed = anyone.authorizedBy(`Bearer ${created.key}`);
    expect((await keyed.me()).id).toBe(agent.id);
    const listed = await asOwner('GET', '/api-keys');
    expect(listed.text).not.toContain(created.key);
    expect(bodyOf(listed).data).toContainEqual(expect.objectContaining({ id: created.id, scopes, is_active: true }));
    await dataOf(asOwner('DELETE', `/api-keys/${created.id}`));
    await eventually(async () => expect((await keyed.send('GET', '/me')).status).toBe(401));
  });

  it('takes a listing off the market and brings it back, and looks after its endpoint', async () => {
    const statusOf = async (): Promise<number> =>
      (await customer.market.send('GET', `/listings/${shop.listing.id}`)).status;
    await dataOf(asOwner('PATCH', `/listings/${shop.listing.id}`, { status: 'draft' }));
    expect(await statusOf()).toBe(404);
    expect(await dataOf(asOwner('GET', `/listings/${shop.listing.id}`))).toMatchObject({ status: 'draft' });
    await dataOf(asOwner('PATCH', `/listings/${shop.listing.id}`, { status: 'active' }));
    expect(await statusOf()).toBe(200);
    expect(await dataOf(asOwner('POST', `/listings/${shop.listing.id}/endpoint/test`))).toMatchObject({
      success: true,
    });
    expect(
      await dataOf(asOwner('POST', `/listings/${shop.listing.id}/endpoint/rotate-secret`, { overlap_seconds: 600 })),
    ).toHaveProperty('gateway_signing_secret');
    const paused = await dataOf(asOwner('PUT', `/listings/${shop.listing.id}/endpoint`, { status: 'paused' }));
    expect(paused).toMatchObject({ status: 'paused' });
  });

  it('neither spends, nor sells, nor reviews, nor changes wallets for it', async () => {
    const attempts: [Method, string][] = [
      ['POST', `/gateway/${shop.listing.id}`],
      ['POST', '/subscribe'],
      ['POST', '/payments'],
      ['POST', '/listings'],
      ['DELETE', `/listings/${shop.listing.id}`],
      ['POST', `/reviews/${shop.listing.id}`],
      ['POST', '/me/wallets'],
    ];
    for (const [method, path] of attempts) {
      const answer = await asOwner(method, path, method === 'DELETE' ? undefined : {});
      expect([path, answer.status, reasonOf(answer)]).toEqual([path, 403, 'wrong_account_type']);
    }
  });

  it('is told to name the agent where it does not, and nothing of agents that others claimed', async () => {
    const unnamed = await human.send('GET', '/ledger');
    expect([unnamed.status, reasonOf(unnamed), bodyOf(unnamed).error!.recovery!.next_action]).toEqual([
      403,
      'wrong_account_type',
      'send_agent_id',
    ]);
    const { marketplace: other } = await anyone.signIn(evmWallet());
    expect((await other.me()).agents).toEqual([]);
    for (const id of [agent.id, customer.id]) {
      const refused = await other.send('GET', `/ledger?agent_id=${id}`);
      expect([refused.status, reasonOf(refused)]).toEqual([404, 'agent_not_found']);
    }
  });

  it('ends with its session, also as the maker of keys', async () => {
    const { marketplace: again } = await anyone.signIn(evmWallet());
    const third = await registerAgent(harness);
    await again.claim(third.id, third.wallet);
    const makeKey = () =>
      again.send('POST', `/api-keys?agent_id=${third.id}`, { body: { name: 'late', scopes: ['read'] } });
    expect((await makeKey()).status).toBe(201);
    await again.request('DELETE', '/auth/session');
    await eventually(async () => expect((await makeKey()).status).toBe(401));
  });
});
