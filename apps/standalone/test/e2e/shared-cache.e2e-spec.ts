import { describeNeeding, startNginx, type Nginx } from '@market/testing';
import { countOf } from '@market/test-servers/threats';
import { expectBooksInOrder } from '../support/books.js';
import { fetchAs, payFor, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, type Shop } from '../support/seller.js';

const ANSWERS = countOf('cached');

/** An nginx that keeps whatever it may, also of POST, and asks for it by method, address and body alone. */
const startCache = (edgeUrl: string): Promise<Nginx> =>
  startNginx(
    (listen) => `proxy_cache_path cache keys_zone=shared:8m;
    server {
      listen ${listen};
      location / {
        proxy_pass ${edgeUrl};
        proxy_cache shared;
        proxy_cache_methods GET HEAD POST;
        proxy_cache_key $request_method$request_uri$request_body;
        proxy_cache_valid any 10m;
        add_header X-Cache $upstream_cache_status always;
      }
    }`,
  );

inEachMode('behind a cache that everybody shares', (harness) => {
  describeNeeding('nginx')('with nginx', () => {
    let cache: Nginx;
    let [buyer, other]: Agent[] = [];
    let shop: Shop;

    beforeAll(async () => {
      cache = await startCache(harness.baseUrl);
      const [seller] = ([, buyer, other] = await Promise.all([1, 2, 3].map(() => registerAgent(harness))));
      shop = await openShop(seller!);
    });
    afterAll(async () => {
      await expectBooksInOrder(harness, [shop]);
      await shop.close();
      await cache.stop();
    });

    const ask = async (agent: Agent, path: string, body?: object, headers?: Record<string, string>) => {
      const answer = await fetchAs(agent, cache.url, body ? 'POST' : 'GET', path, headers, body);
      return { status: answer.status, cached: answer.headers.get('x-cache'), text: await answer.text() };
    };

    it(`${ANSWERS} paid answers are given to those who bought them alone`, async () => {
      for (let n = 0; n < ANSWERS; n += 1) {
        const body = { n, bought: 'by one' };
        const path = `/gateway/${shop.listing.id}`;
        const relay = withRelayId(await payFor(buyer!, shop.listing, body));
        const bought = await ask(buyer!, path, body, relay);
        expect(bought).toMatchObject({
          status: 200,
          cached: 'MISS',
          text: expect.stringContaining('by one') as string,
        });
        expect(await ask(other!, path, body)).toMatchObject({ status: 402, cached: 'MISS' });
        expect(await ask(other!, path, body, relay)).toMatchObject({ status: 404, cached: 'MISS' });
        // Its own buyer may read it again.
        expect(await ask(buyer!, path, body, relay)).toEqual(bought);
      }
    });

    it('nothing else that a key shows is kept, while it keeps what is public', async () => {
      for (const path of [
        '/me',
        '/gateway-requests',
        '/receipts',
        '/ledger',
        '/refunds',
        '/events',
        '/subscriptions',
      ]) {
        const own = await ask(buyer!, path);
        expect([path, own.status, own.cached]).toEqual([path, 200, 'MISS']);
        const others = await ask(other!, path);
        expect([path, others.status, others.cached]).toEqual([path, 200, 'MISS']);
        if (path === '/me') expect(others.text).not.toBe(own.text);
      }
      const keys = async () => (await fetch(`${cache.url}/.well-known/jwks.json`)).headers.get('x-cache');
      expect([await keys(), await keys()]).toEqual(['MISS', 'HIT']);
    });
  });
});
