import { newId } from '@market/kernel';
import { evmWallet, type Recovery } from '@market/sdk';
import { eventually } from '@market/testing';
import { bodyOf, callOnce, payFor, reasonOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';
import { listedWith } from '../support/listings.js';
import { openShop, type Shop } from '../support/seller.js';

inEachMode('an agent, for who looks at it', (harness) => {
  const anyone = stranger(harness);
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    [seller, buyer] = await Promise.all([
      registerAgent(harness, { displayName: 'A seller to look at' }),
      registerAgent(harness),
    ]);
    shop = await openShop(seller);
    await listedWith(seller, { name: 'A draft of its own', status: 'draft' });
    const body = { ask: 'once' };
    await callOnce(buyer, shop.listing, body, withRelayId(await payFor(buyer, shop.listing, body)));
  });
  afterAll(() => shop.close());

  it('is its name, since when it is here, its score, its measured quality and what it sells', async () => {
    const profile = await eventually(async () => {
      const found = await anyone.agent(seller.id);
      expect([found.score.status, found.quality.live_listings]).toEqual(['scored', 1]);
      return found;
    });
    const { created_at } = await seller.market.me();
    const { market_score, score_tier, provisional } = await anyone.score(seller.id);
    const at = (path: string) => expect.stringMatching(new RegExp(`^http://[\\w.:]+/api/v1${path}$`)) as string;
    expect(profile).toMatchObject({
      id: seller.id,
      display_name: 'A seller to look at',
      account_type: 'agent',
      created_at,
      score: { market_score, score_tier, provisional, url: at(`/agents/${seller.id}/score`) },
      listings: { total: 1, items: [{ slug: shop.listing.slug }], url: at(`/listings\\?seller=${seller.id}`) },
    });
    expect(JSON.stringify(profile)).not.toContain(seller.wallet.address);
    expect((await (await fetch(profile.score.url)).json()) as object).toMatchObject({ data: { agent_id: seller.id } });
    expect(await (await fetch(profile.listings.url)).json()).toMatchObject({
      data: [{ slug: shop.listing.slug }],
      pagination: { total: 1 },
    });
    expect(await anyone.agent(buyer.id)).toMatchObject({
      score: { status: 'unscored' },
      quality: { live_listings: 0, calls_30d: 0, success_rate_30d: null, last_success_at: null },
      listings: { total: 0, items: [] },
    });
  });

  it('is not a human, nor what does not exist', async () => {
    const { marketplace: human } = await anyone.signIn(evmWallet());
    for (const id of [(await human.me()).id, newId(), 'no-uuid']) {
      const answer = await anyone.send('GET', `/agents/${id}`);
      expect([answer.status, reasonOf(answer)]).toEqual([404, 'agent_not_found']);
    }
  });

  describe('who asks for what does not exist', () => {
    const meant = async (method: 'GET' | 'POST' | 'DELETE', path: string): Promise<Recovery['did_you_mean']> => {
      const answer = await anyone.send(method, path, method === 'POST' ? { body: {} } : {});
      expect([404, 405]).toContain(answer.status);
      return bodyOf(answer).error!.recovery!.did_you_mean;
    };

    it('is told which operation is spelt like it', async () => {
      expect(await meant('GET', '/listing')).toEqual(['GET /api/v1/listings']);
      expect(await meant('GET', '/balance')).toEqual(['GET /api/v1/me/balance']);
      expect(await meant('POST', `/listings/${newId()}/endpoints/tests`)).toEqual([
        'POST /api/v1/listings/{listingId}/endpoint/test',
      ]);
      expect(await meant('DELETE', '/categories')).toEqual(['GET /api/v1/categories']);
      expect(await meant('GET', '/nothing-like-it-at-all')).toBeUndefined();
    });

    it('is told which listing is named like it, wherever a slug names one', async () => {
      const { slug } = await listedWith(seller, { name: 'Zugspitze weather panorama' });
      await listedWith(seller, { name: 'Zugspitze weather panoramas', status: 'draft' });
      const misspelt = slug.replace('weather', 'wether');
      for (const path of ['/listings/', '/reviews/', '/gateway/', '/x402/']) {
        const market = path === '/gateway/' ? buyer.market : anyone;
        const method = path === '/gateway/' || path === '/x402/' ? 'POST' : 'GET';
        const answer = await market.send(method, path + misspelt, method === 'POST' ? { body: {} } : {});
        expect([path, answer.status, bodyOf(answer).error!.recovery!.did_you_mean]).toEqual([path, 404, [slug]]);
      }
      expect(await meant('GET', '/listings/qqqqqqqq-xxxxxxxx')).toBeUndefined();
      expect(await meant('GET', `/listings/${newId()}`)).toBeUndefined();
    });
  });
});
