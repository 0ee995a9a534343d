import {
  startMarketplace,
  startPostgresProxy,
  withClient,
  type PostgresProxy,
  type RunningMarketplace,
} from '@market/testing';
import { OF_NO_REQUEST } from '../support/of-no-request.js';
import { callOnce, payFor, withRelayId } from '../support/buyer.js';
import { jsonPost, payingFetch } from '../support/stock-client.js';
import { openShop, type Shop } from '../support/seller.js';
import { paidOffer } from '../support/subscriber.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';

/** Enough requests to distinguish their costs from those of jobs, which run at most once a second. */
const REQUESTS = 8;

/** The charge of a signed payment, which concurrent ones share. */
const SETTLED =
  'payments_ledger: payments.lock-all, authorizations.settled, payments.complete, outbox.insert, journal.write (2)';

/** Counts the costs of requests that the README files and comments state, in the traffic to PostgreSQL. */
inEachMode('what a request asks of PostgreSQL', ({ mode, databaseUrl }) => {
  let proxy: PostgresProxy;
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;

  beforeAll(async () => {
    await withClient(databaseUrl, (client) => client.query('CREATE DATABASE costs'));
    // The delay distinguishes statements that are sent together from those that wait for an answer.
    proxy = await startPostgresProxy(new URL('/costs', databaseUrl).href, { delayMs: 4 });
    marketplace = await startMarketplace({ mode, env: { DATABASE_URL: proxy.url } });
    [seller, buyer] = await Promise.all([registerAgent(marketplace), registerAgent(marketplace)]);
    shop = await openShop(seller);
  }, 240_000);
  afterAll(async () => {
    await shop?.close();
    await marketplace?.stop();
    await proxy?.stop();
  }, 120_000);

  /** The transactions of each request, as `service: statements (round trips)`. */
  async function costsOf(request: (n: number) => Promise<{ status: number }>, status: number): Promise<string[]> {
    // The first request fills caches and prepares statements.
    await request(-1);
    proxy.forget();
    for (let n = 0; n < REQUESTS; n += 1) expect((await request(n)).status).toBe(status);
    const counts = new Map<string, number>();
    for (const { application, statements, roundTrips } of proxy.transactions) {
      const [first = ''] = statements;
      // Locks are taken and given back in memory, without a commit. A busy machine opens further connections meanwhile.
      const isOfConnection = application === 'market locks' || first.startsWith('SELECT set_config(');
      if (OF_NO_REQUEST.includes(first) || isOfConnection) continue;
      const names = statements.map((statement) => statement.trim().split(/\s+/).slice(0, 3).join(' '));
      const shown = `${application.replace('market ', '')}: ${names.join(', ')} (${roundTrips})`;
      counts.set(shown, (counts.get(shown) ?? 0) + 1);
    }
    return [...counts].flatMap(([shown, count]) => Array<string>(Math.floor(count / REQUESTS)).fill(shown));
  }

  it('a paid retry is two look-ups and two commits, and the journal is locked by its last statement alone', async () => {
    const paid = new Map<number, string>();
    for (let n = -1; n < REQUESTS; n += 1) paid.set(n, await payFor(buyer, shop.listing, { paid: n }));
    const costs = await costsOf((n) => callOnce(buyer, shop.listing, { paid: n }, withRelayId(paid.get(n)!)), 200);
    expect(costs).toEqual([
      'payments_ledger: payments.find-by-relay-id (1)',
      'gateway: gateway-requests.find-stored (1)',
      'gateway: gateway-requests.store-deliveries (1)',
      'payments_ledger: payments.lock-all, payments.complete, outbox.insert, journal.write (2)',
    ]);
  });

  it('a quote is one commit', async () => {
    expect(await costsOf((n) => callOnce(buyer, shop.listing, { quoted: n }), 402)).toEqual([
      'payments_ledger: offers.insert (1)',
    ]);
  });

  it('a call that a period includes is one commit more than a paid one', async () => {
    const plan = await openShop(seller, undefined, {
      pricing_model: 'monthly',
      pricing_amount: 5,
      included_calls: 100,
    });
    const { payment_id, requirements } = await paidOffer(buyer, plan.listing);
    await buyer.market.payments.verify({ payment_id, relay_request_id: requirements.relayRequestId });
    const costs = await costsOf((n) => callOnce(buyer, plan.listing, { included: n }), 200);
    await plan.close();
    expect(costs).toEqual([
      'payments_ledger: call-quotas.take (1)',
      'payments_ledger: payments.find-by-relay-id (1)',
      'gateway: gateway-requests.find-stored (1)',
      'gateway: gateway-requests.store-deliveries (1)',
      'payments_ledger: payments.lock-all, payments.complete (2)',
    ]);
  });

  it('a profile and a listing are one statement each', async () => {
    expect(await costsOf(() => buyer.market.send('GET', '/me'), 200)).toEqual(['identity: agents.find-profiles (1)']);
    expect(await costsOf(() => seller.market.send('GET', `/listings/${shop.listing.id}`), 200)).toEqual([
      'catalog: listings.details-by-id (1)',
    ]);
  });

  it('a call that a signature pays, without a key, asks nothing before it is signed', async () => {
    const paying = payingFetch();
    const url = `${marketplace.baseUrl}/api/v1/x402/${shop.listing.slug}`;
    const post = (pay: typeof fetch, n: number): Promise<Response> => pay(url, jsonPost({ n }));
    expect(await costsOf((n) => post(fetch, n), 402)).toEqual([]);
    expect(await costsOf((n) => post(paying, n), 200)).toEqual([
      'payments_ledger: payments.find-keyless (1)',
      'payments_ledger: payers.settled (1)',
      'payments_ledger: payers.lock, authorizations.unsettled, payments.open-keyless (2)',
      'gateway: gateway-requests.find-stored (1)',
      'gateway: gateway-requests.store-deliveries (1)',
      'payments_ledger: authorizations.begin (1)',
      'payments_ledger: sandbox.transfer-authorized (1)',
      SETTLED,
    ]);
  });

  it('a call that a signature pays, with a key, is held and authorized in one commit', async () => {
    const paying = payingFetch();
    const url = `${marketplace.baseUrl}/api/v1/gateway/${shop.listing.id}`;
    const headers = { authorization: buyer.registration.authorization_header };
    const post = (n: number): Promise<Response> => paying(url, jsonPost({ signed: n }, headers));
    expect(await costsOf(post, 200)).toEqual([
      // Without a relay request id: the quote.
      'payments_ledger: offers.insert (1)',
      // The sandbox also takes transfers, so it looks for one twice. An x402 chain does not.
      'payments_ledger: payments.find-by-relay-id (1)',
      'payments_ledger: sandbox.transfers-to (1)',
      'payments_ledger: payers.settled (1)',
      'payments_ledger: payments.store-offers, payments.lock-all, payers.lock, authorizations.unsettled, sandbox.transfers-to, ' +
        'authorizations.hold (3)',
      'gateway: gateway-requests.find-stored (1)',
      'gateway: gateway-requests.store-deliveries (1)',
      'payments_ledger: authorizations.begin (1)',
      'payments_ledger: sandbox.transfer-authorized (1)',
      SETTLED,
    ]);
  });
});
