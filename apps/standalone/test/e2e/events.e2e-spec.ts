import { evmWallet, Marketplace, MarketplaceError, type AccountEvent, type CreatedListing } from '@market/sdk';
import { eventually, startMarketplace, withClient, type RunningMarketplace } from '@market/testing';
import { bodyOf, callOnce, payFor, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { inEachMode, registerAgent, type Agent } from '../support/harness.js';
import { openShop, reply, type Shop } from '../support/seller.js';
import { freeFeed, listFeed } from '../support/subscriber.js';

const SETTINGS = {
  GATEWAY_PROBE_INTERVAL_MS: '500',
  REPUTATION_PRUNE_INTERVAL_MS: '100',
  CATALOG_SWEEP_INTERVAL_MS: '100',
};

/** Follows the events of one agent from the first one in the background. */
class Follower {
  readonly seen: AccountEvent[] = [];
  private readonly stopped = new AbortController();
  private readonly following: Promise<void>;

  constructor(agent: Agent, after?: string) {
    this.following = (async () => {
      for await (const event of agent.market.events({ after, signal: this.stopped.signal })) this.seen.push(event);
    })();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.following;
  }
}

inEachMode('what concerns an account', ({ mode }) => {
  let marketplace: RunningMarketplace;
  let seller: Agent;
  let buyer: Agent;
  let shop: Shop;
  let works: boolean;

  beforeAll(async () => {
    marketplace = await startMarketplace({ mode, env: SETTINGS, replicas: { reputation: 2 } });
  }, 240_000);
  beforeEach(async () => {
    works = true;
    [seller, buyer] = await Promise.all([registerAgent(marketplace), registerAgent(marketplace)]);
    shop = await openShop(seller, () => (works ? { ok: true } : reply(503, { busy: true })));
  });
  afterEach(() => shop.close());
  afterAll(() => marketplace?.stop(), 120_000);

  const page = async (agent: Agent, query = ''): Promise<{ data: AccountEvent[]; next?: string }> => {
    const { status, json } = await agent.market.send('GET', `/events${query}`);
    expect(status).toBe(200);
    const { data, pagination } = json as { data: AccountEvent[]; pagination: { next_cursor?: string } };
    return { data, next: pagination.next_cursor };
  };
  const typesOf = async (agent: Agent): Promise<string[]> =>
    (await page(agent, '?limit=100')).data.map(({ type }) => type);
  const deliver = async (n: number, by = buyer): Promise<string> => {
    const relayRequestId = await payFor(by, shop.listing, { n });
    return resultOf(await callOnce(by, shop.listing, { n }, withRelayId(relayRequestId))).request_id;
  };
  const stream = (agent: Agent, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> =>
    fetch(`${marketplace.baseUrl}/api/v1/events`, {
      headers: { authorization: agent.registration.authorization_header, accept: 'text/event-stream', ...headers },
      signal,
    });

  it('is told in its order, to those whom it concerns, on a page and in a stream', async () => {
    const follower = new Follower(seller);
    const requestId = await deliver(1);
    await eventually(async () => expect((await typesOf(seller)).toSorted()).toEqual(['endpoint_active', 'sale']));
    await buyer.market.reviews.create(shop.listing, { accuracy_rating: 5, reliability_rating: 4, value_rating: 3 });
    await eventually(async () => expect(await typesOf(seller)).toContain('review'));
    works = false;
    const failedId = await deliver(2);
    await eventually(async () => expect(await typesOf(seller)).toContain('delivery_failed'));
    expect((await seller.market.endpoint.test(shop.listing)).success).toBe(false);
    await eventually(async () => expect(await typesOf(seller)).toContain('endpoint_failing'));
    works = true;
    await eventually(async () => expect((await typesOf(seller)).at(-1)).toBe('endpoint_active'));
    const feed: CreatedListing = await listFeed(seller, freeFeed);
    const subscription = await buyer.market.subscribe(feed);
    await eventually(async () => expect((await typesOf(seller)).at(-1)).toBe('subscription_started'));
    await buyer.market.subscriptions.cancel(subscription);
    await eventually(async () => expect((await typesOf(seller)).at(-1)).toBe('subscription_ended'));
    await seller.market.listings.remove(feed);
    await eventually(async () => expect((await typesOf(seller)).at(-1)).toBe('listing_suspended'));

    const { data } = await page(seller, '?limit=100');
    expect(data.map(({ id }) => id)).toEqual(data.map((_, index) => String(index + 1)));
    expect(data.slice(2).map(({ type }) => type)).toEqual([
      'review',
      'delivery_failed',
      'endpoint_failing',
      'endpoint_active',
      'subscription_started',
      'subscription_ended',
      'listing_suspended',
    ]);
    expect(data.find(({ type }) => type === 'sale')!.data).toEqual({
      request_id: requestId,
      listing_id: shop.listing.id,
      buyer_id: buyer.id,
      charged_amount: { amount_cents: 25, currency: 'USD' },
      fee_amount_cents: 1.25,
    });
    expect(data[2]!.data).toMatchObject({ listing_id: shop.listing.id, reviewer_id: buyer.id, value_rating: 3 });
    expect(data[3]!.data).toMatchObject({ role: 'seller', request_id: failedId, seller_status_code: 503, attempt: 1 });
    expect(data[7]!.data).toEqual({
      role: 'seller',
      buyer_id: buyer.id,
      listing_id: feed.id,
      status: 'cancelled',
    });
    expect(data[8]!.data).toEqual({ listing_id: feed.id, suspended_by: 'owner' });
    await eventually(() => expect(follower.seen).toEqual(data));
    await follower.stop();

    expect((await page(buyer)).data.map(({ type, data: { role, subscription_id: its } }) => [type, role, its])).toEqual(
      [
        ['delivery_failed', 'buyer', undefined],
        ['subscription_started', 'buyer', subscription.id],
        ['subscription_ended', 'buyer', subscription.id],
      ],
    );
    const first = await page(seller, '?limit=4');
    expect([first.data, first.next]).toEqual([data.slice(0, 4), '4']);
    const second = await page(seller, `?limit=5&cursor=${first.next}`);
    expect([second.data, second.next]).toEqual([data.slice(4), undefined]);
  }, 120_000);

  it('is told of a refund, and no other account of it', async () => {
    // The money above the price is due as a refund.
    const relayRequestId = await payFor(buyer, shop.listing, { n: 9 }, 'overpaid');
    expect(resultOf(await callOnce(buyer, shop.listing, { n: 9 }, withRelayId(relayRequestId))).billable).toBe(true);
    await eventually(async () => expect(await typesOf(buyer)).toEqual(['refund']));
    const [refund] = (await page(buyer)).data;
    expect(refund!.data).toMatchObject({
      listing_id: shop.listing.id,
      reason: 'overpaid',
      amount: { currency: 'USD' },
    });
    expect(await typesOf(seller)).not.toContain('refund');
  });

  it('loses nothing where its owner is killed between the sale and its telling, and repeats nothing to who goes on', async () => {
    const owners = mode === 'standalone' ? (['standalone'] as const) : (['reputation', 'reputation#2'] as const);
    const follower = new Follower(seller);
    const sales: string[] = [await deliver(1)];
    await eventually(() => expect(follower.seen.some(({ type }) => type === 'sale')).toBe(true));
    if (mode === 'distributed') await Promise.all(owners.map((owner) => marketplace.kill(owner)));
    for (const n of [2, 3, 4]) sales.push(await deliver(n));
    if (mode === 'standalone') await marketplace.kill('standalone');
    await Promise.all(owners.map((owner) => marketplace.restart(owner)));
    sales.push(await deliver(5));
    const soldIn = (events: AccountEvent[]): unknown[] =>
      events.filter(({ type }) => type === 'sale').map(({ data }) => data.request_id);
    await eventually(() => expect(soldIn(follower.seen).toSorted()).toEqual(sales.toSorted()), { withinMs: 30_000 });
    await follower.stop();
    expect((await page(seller, '?limit=100')).data).toEqual(follower.seen);
    const later = new Follower(seller, follower.seen[1]!.id);
    await eventually(() => expect(later.seen).toEqual(follower.seen.slice(2)));
    await later.stop();
  }, 180_000);

  it('is read past no event that is committed late', async () => {
    await deliver(1);
    await eventually(async () => expect((await typesOf(seller)).toSorted()).toEqual(['endpoint_active', 'sale']));
    // A transaction that is not committed holds the account's next number, so later events wait.
    await withClient(marketplace.databaseUrl, async (client) => {
      await client.query('BEGIN');
      await client.query('UPDATE reputation.account_event_heads SET last_id = last_id + 1 WHERE account_id = $1', [
        seller.id,
      ]);
      await client.query(
        `INSERT INTO reputation.account_events (account_id, id, type, at, data)
         SELECT account_id, last_id, 'late', now(), '{}' FROM reputation.account_event_heads WHERE account_id = $1`,
        [seller.id],
      );
      await deliver(2);
      expect(await typesOf(seller)).toHaveLength(2);
      await client.query('COMMIT');
    });
    await eventually(async () => expect((await typesOf(seller)).slice(2)).toEqual(['late', 'sale']));
    // Old events are deleted, and numbering continues.
    await withClient(marketplace.databaseUrl, (client) =>
      client.query(
        "UPDATE reputation.account_events SET recorded_at = now() - interval '31 days' WHERE account_id = $1",
        [seller.id],
      ),
    );
    await eventually(async () => expect(await typesOf(seller)).toEqual([]));
    await deliver(3);
    await eventually(async () =>
      expect((await page(seller)).data.map(({ id, type }) => [id, type])).toEqual([['5', 'sale']]),
    );
  });

  it('streams as server-sent events say, with a word when there is nothing to tell, and ends with the key', async () => {
    await deliver(1);
    await eventually(async () => expect(await typesOf(seller)).toHaveLength(2));
    const [sold] = (await page(seller)).data;
    const answer = await stream(seller);
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream',
      'no-store',
    ]);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) text += (await reader.read()).value!;
    };
    await readUntil('\nid: 2\n');
    expect(text.startsWith(`retry: 1000\n\nid: 1\nevent: ${sold!.type}\ndata: ${JSON.stringify(sold)}\n\n`)).toBe(true);
    await readUntil('\n:\n');
    const resumed = await stream(seller, { 'last-event-id': '1' });
    const [chunk] = [await resumed.body!.pipeThrough(new TextDecoderStream()).getReader().read()];
    expect(`${chunk.value}`).not.toContain('id: 1\n');

    const [key] = await seller.market.apiKeys.list();
    const other = await seller.market.apiKeys.create({ name: 'another', scopes: ['read', 'write'] });
    await seller.market.authorizedBy(`Bearer ${other.key}`).apiKeys.revoke(key!);
    for (;;) if ((await reader.read()).done) break;
    expect((await stream(seller)).status).toBe(401);
  }, 120_000);

  it('is told to the human that has claimed the agent, while its session lasts', async () => {
    const { marketplace: human, session } = await new Marketplace({ baseUrl: marketplace.baseUrl }).signIn(evmWallet());
    await human.claim(seller.id, seller.wallet);
    await deliver(1);
    await eventually(async () => expect((await typesOf(seller)).toSorted()).toEqual(['endpoint_active', 'sale']));
    const seen: AccountEvent[] = [];
    const followed = (async () => {
      for await (const event of human.events({ agentId: seller.id })) seen.push(event);
    })();
    await eventually(async () => expect(seen).toEqual((await page(seller)).data));
    const inBrowser = await fetch(`${marketplace.baseUrl}/api/v1/events?agent_id=${seller.id}`, {
      headers: { accept: 'text/event-stream', cookie: `am_session=${session.session_token}` },
    });
    expect(inBrowser.status).toBe(200);
    const others = await human.send('GET', `/events?agent_id=${buyer.id}`);
    expect([others.status, reasonOf(others)]).toEqual([404, 'agent_not_found']);
    await Promise.all([expect(followed).rejects.toMatchObject({ status: 401 }), human.signOut()]);
    expect(await inBrowser.text()).toContain('event: sale');
  });

  it('opens five streams for an account and no sixth, and refuses what is no id', async () => {
    const stop = new AbortController();
    const open = await Promise.all(Array.from({ length: 5 }, () => stream(buyer, {}, stop.signal)));
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const refused = await stream(buyer);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { details: { reason: 'too_many_streams', limit: 5 } } });
    const others = await stream(seller, {}, stop.signal);
    expect(others.status).toBe(200);
    stop.abort();
    await eventually(async () => {
      const again = new AbortController();
      expect((await stream(buyer, {}, again.signal)).status).toBe(200);
      again.abort();
    });
    const odd = await stream(buyer, { 'last-event-id': 'x' });
    expect([
      odd.status,
      ((await odd.json()) as { error: { details: { fields: unknown[] } } }).error.details.fields,
    ]).toEqual([400, [{ field: 'Last-Event-ID', message: 'must be the id of an event' }]]);
    const malformed = await buyer.market.send('GET', '/events?cursor=-1');
    expect([malformed.status, reasonOf(malformed), bodyOf(malformed).success]).toEqual([400, 'request_invalid', false]);
    await expect(buyer.market.authorizedBy('Bearer am_k_no').events().next()).rejects.toBeInstanceOf(MarketplaceError);
  });
});
