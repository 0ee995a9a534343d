import { evmWallet, MarketplaceError, sandboxPayer, type AgentScore, type CreateReview } from '@market/sdk';
import { eventually, withClient } from '@market/testing';
import { admin } from '../support/admin.js';
import { bodyOf, callOnce, payFor, reasonOf, resultOf, withRelayId } from '../support/buyer.js';
import { listServer, openShop, reply, rogueServer, type Shop } from '../support/seller.js';
import { jsonPost, payingFetch } from '../support/stock-client.js';
import { freeFeed, listFeed, paidOffer, verifyOnce } from '../support/subscriber.js';
import { inEachMode, registerAgent, stranger, type Agent } from '../support/harness.js';

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const UNKNOWN_ID = '01995bad-5c00-7000-8000-00000000dead';
const GOOD: CreateReview = { accuracy_rating: 5, reliability_rating: 4, value_rating: 3 };

inEachMode('reviews', (harness) => {
  const anyone = stranger(harness);
  let seller: Agent;
  let shop: Shop;

  beforeAll(async () => {
    seller = await registerAgent(harness, { displayName: 'Seller' });
    shop = await openShop(seller);
  });
  afterAll(() => shop.close());

  const buy = (buyer: Agent, listing: { id: string } = shop.listing) =>
    buyer.market.call(listing, { from: buyer.id }, { pay: sandboxPayer(buyer.market) });
  const newBuyer = async (listing?: { id: string }): Promise<Agent> => {
    const buyer = await registerAgent(harness, { displayName: 'Buyer' });
    await buy(buyer, listing);
    return buyer;
  };
  const attempt = (agent: Agent, body: object = GOOD, ref: string = shop.listing.id) =>
    agent.market.send('POST', `/reviews/${ref}`, { body });
  const refusal = async (agent: Agent, body?: object, ref?: string): Promise<[number, string, string | undefined]> => {
    const answer = await attempt(agent, body, ref);
    return [answer.status, bodyOf(answer).error!.code, reasonOf(answer)];
  };

  it(
    'are written by who bought, with what the contract says, and listed at once ' +
      '[spec: review.id, review.listing-id, review.accuracy-rating, review.reliability-rating, review.value-rating, ' +
      'review.title, review.comment, review.reviewer, review.created-at, POST /reviews/{listingId}]',
    async () => {
      const buyer = await newBuyer();
      const answer = await attempt(buyer, { ...GOOD, title: 'Well 👩', comment: 'It said what it was asked.' });
      expect([answer.status, bodyOf(answer)]).toEqual([
        201,
        {
          success: true,
          data: {
            id: expect.stringMatching(UUID),
            listing_id: shop.listing.id,
            accuracy_rating: 5,
            reliability_rating: 4,
            value_rating: 3,
            title: 'Well 👩',
            comment: 'It said what it was asked.',
            reviewer: { id: buyer.id, display_name: 'Buyer', account_type: 'agent' },
            created_at: expect.stringMatching(TIMESTAMP),
          },
        },
      ]);
      expect((await anyone.reviews.list(shop.listing)).data[0]).toEqual(bodyOf(answer).data);
      expect(await (await newBuyer()).market.reviews.create(shop.listing, GOOD)).toMatchObject({
        title: null,
        comment: null,
      });
    },
  );

  it('take three whole ratings of 1 to 5, a title of 200, a comment of 5000 characters, no more [spec: limit.review-ratings]', async () => {
    const buyer = await newBuyer();
    for (const body of [
      { ...GOOD, reliability_rating: 6 },
      { ...GOOD, value_rating: 4.5 },
      { ...GOOD, comment: 'nul \u0000' },
    ])
      expect([body, (await refusal(buyer, body)).slice(0, 2)]).toEqual([body, [400, 'BAD_REQUEST']]);
    expect(
      await buyer.market.reviews.create(shop.listing, {
        accuracy_rating: 1,
        reliability_rating: 5,
        value_rating: 1,
        title: '👩'.repeat(200),
        comment: 'x'.repeat(5_000),
      }),
    ).toMatchObject({ accuracy_rating: 1, reliability_rating: 5 });
  });

  it('come once an agent and listing, also when sent many times at once [spec: limit.review-window, error.409 CONFLICT]', async () => {
    const buyer = await newBuyer();
    const answers = await Promise.all(Array.from({ length: 12 }, () => attempt(buyer)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(11).fill(409)]);
    expect(await refusal(buyer)).toEqual([409, 'CONFLICT', 'already_reviewed']);
    expect(await refusal(buyer, GOOD, shop.listing.slug)).toEqual([409, 'CONFLICT', 'already_reviewed']);
    expect(
      (await anyone.reviews.list(shop.listing, { limit: 50 })).data.filter(({ reviewer }) => reviewer.id === buyer.id),
    ).toHaveLength(1);
  });

  it('are refused to the seller, to who bought nothing, and to who has no key', async () => {
    const visitor = await registerAgent(harness);
    expect(await refusal(seller)).toEqual([403, 'FORBIDDEN', 'own_listing']);
    expect(await refusal(visitor)).toEqual([403, 'FORBIDDEN', 'purchase_required']);
    expect((await anyone.send('POST', `/reviews/${shop.listing.id}`, { body: GOOD })).status).toBe(401);
    const reader = await visitor.market.apiKeys.create({ name: 'reads', scopes: ['read'] });
    expect(
      (await anyone.authorizedBy(`Bearer ${reader.key}`).send('POST', `/reviews/${shop.listing.id}`, { body: GOOD }))
        .status,
    ).toBe(403);
    const { marketplace: human } = await anyone.signIn(evmWallet());
    const answer = await human.send('POST', `/reviews/${shop.listing.id}`, { body: GOOD });
    expect([answer.status, reasonOf(answer)]).toEqual([403, 'wrong_account_type']);
  });

  it('are refused to who paid for nothing that was delivered', async () => {
    const broken = await rogueServer((_request, response) => void response.writeHead(500).end('{}'));
    const listing = await listServer(seller, broken.url);
    const buyer = await registerAgent(harness);
    const relayRequestId = await payFor(buyer, listing, { n: 1 });
    expect(resultOf(await callOnce(buyer, listing, { n: 1 }, withRelayId(relayRequestId))).billable).toBe(false);
    expect(await refusal(buyer, GOOD, listing.id)).toEqual([403, 'FORBIDDEN', 'purchase_required']);
    const free = await openShop(seller, undefined, { pricing_amount: 0 });
    await callOnce(buyer, free.listing, { n: 1 });
    expect(await refusal(buyer, GOOD, free.listing.id)).toEqual([403, 'FORBIDDEN', 'free_calls_not_reviewed']);
    await Promise.all([broken.close(), free.close()]);
  });

  it('are refused to an agent that shares its human with the seller', async () => {
    const [mine, alsoMine] = [await registerAgent(harness), await registerAgent(harness)];
    const other = await openShop(mine);
    await buy(alsoMine, other.listing);
    const isWorth = (holds: (score: number) => boolean): Promise<void> =>
      eventually(async () => expect(holds((await anyone.score(mine.id)).market_score)).toBe(true), {
        withinMs: 60_000,
      });
    await isWorth((score) => score > 0);
    const { marketplace: human } = await anyone.signIn(evmWallet());
    await human.claim(mine.id, mine.wallet);
    await human.claim(alsoMine.id, alsoMine.wallet);
    await isWorth((score) => score === 0);
    expect(await refusal(alsoMine, GOOD, other.listing.id)).toEqual([403, 'FORBIDDEN', 'related_to_seller']);
    await other.close();
  }, 120_000);

  it('are written by subscribers, of free and of paid listings', async () => {
    const subscriber = await registerAgent(harness);
    const free = await listFeed(seller, freeFeed);
    await subscriber.market.subscribe(free);
    expect((await attempt(subscriber, GOOD, free.id)).status).toBe(201);
    const paid = await listFeed(seller);
    expect(await refusal(subscriber, GOOD, paid.id)).toEqual([403, 'FORBIDDEN', 'purchase_required']);
    const offer = await paidOffer(subscriber, paid);
    expect((await verifyOnce(subscriber, offer)).status).toBe(200);
    expect((await attempt(subscriber, GOOD, paid.id)).status).toBe(201);
  });

  it('are written within 30 days of the start of the subscription and the latest billable call [spec: limit.review-window]', async () => {
    const age = (
      table: string,
      column: string,
      who: string,
      agent: Agent,
      listing: { id: string },
      days: number,
    ): Promise<unknown> =>
      withClient(harness.databaseUrl, (client) =>
        client.query(
          `UPDATE payments_ledger.${table} SET ${column} = now() - $3 * interval '1 day' WHERE ${who} = $1 AND listing_id = $2`,
          [agent.id, listing.id, days],
        ),
      );
    const [subscriber, buyer] = [await registerAgent(harness), await newBuyer()];
    const feed = await listFeed(seller, freeFeed);
    await subscriber.market.subscribe(feed);
    await age('subscriptions', 'created_at', 'consumer_id', subscriber, feed, 30.01);
    await age('payments', 'completed_at', 'buyer_id', buyer, shop.listing, 30.01);
    expect(await refusal(subscriber, GOOD, feed.id)).toEqual([403, 'FORBIDDEN', 'review_window_closed']);
    expect(await refusal(buyer)).toEqual([403, 'FORBIDDEN', 'review_window_closed']);
    await age('subscriptions', 'created_at', 'consumer_id', subscriber, feed, 29.99);
    expect((await attempt(subscriber, GOOD, feed.id)).status).toBe(201);
    await buy(buyer);
    expect((await attempt(buyer)).status).toBe(201);
  });

  it(
    'are listed newest first, in pages of 20 and at most 50 ' +
      '[spec: GET /reviews/{listingId}, GET /receipts and GET /reviews/{listingId} limit, limit.page]',
    async () => {
      const feed = await listFeed(seller, freeFeed);
      const readers = await Promise.all(
        Array.from({ length: 23 }, () => registerAgent(harness, { displayName: 'Reader' })),
      );
      await Promise.all(readers.map(({ market }) => market.subscribe(feed)));
      for (const { market } of readers) await market.reviews.create(feed, GOOD);
      const first = await anyone.reviews.list(feed);
      expect(first.pagination).toEqual({ page: 1, limit: 20, total: 23, totalPages: 2 });
      expect(first.data.map(({ reviewer }) => reviewer.id)).toEqual(
        readers
          .map(({ id }) => id)
          .reverse()
          .slice(0, 20),
      );
      const second = await anyone.reviews.list(feed.slug, { page: 2 });
      expect(second.data.map(({ reviewer }) => reviewer)).toEqual(
        readers
          .slice(0, 3)
          .reverse()
          .map(({ id }) => ({ id, display_name: 'Reader', account_type: 'agent' })),
      );
      expect((await anyone.reviews.list(feed, { page: 3 })).data).toEqual([]);
      expect((await anyone.reviews.list(feed, { limit: 50 })).data).toHaveLength(23);
    },
  );
});

inEachMode('the score of an agent', (harness) => {
  const anyone = stranger(harness);

  it('is refused for who is no agent [spec: GET /agents/{agentId}/score]', async () => {
    const { session } = await anyone.signIn(evmWallet());
    for (const id of [UNKNOWN_ID, 'nobody', session.account.id]) {
      const error: unknown = await anyone.score(id).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MarketplaceError);
      expect(error).toMatchObject({ status: 404, code: 'NOT_FOUND', details: { reason: 'agent_not_found' } });
    }
  });

  it('is unscored from the moment it registered', async () => {
    const { id } = await registerAgent(harness);
    expect(await anyone.score(id)).toMatchObject({
      agent_id: id,
      status: 'unscored',
      market_score: 0,
      score_tier: 'unrated',
      provisional: { reason: 'no_transactions', transactions: 0, required: 10 },
      categories: [],
      meta: { total_events: 0, total_transactions: 0, scored_at: null },
    });
  });

  it(
    'is scored by what was measured and what buyers say of it ' +
      '[spec: score.agent-id, score.status, score.market-score, score.score-tier, score.provisional, ' +
      'score.components, score.categories, score.capability, score.meta, limit.score-scale, ' +
      'GET /agents/{agentId}/score]',
    async () => {
      const [category] = await anyone.categories();
      const seller = await registerAgent(harness);
      let works = true;
      const shop = await openShop(seller, () => (works ? { fine: true } : reply(500, {})), {
        category_id: category!.id,
      });
      const buyer = await registerAgent(harness);
      const buy = (n: number, retries = 0) =>
        buyer.market.call(shop.listing, { n }, { pay: sandboxPayer(buyer.market), retries });
      for (let n = 0; n < 3; n += 1) await buy(n);
      works = false;
      expect((await buy(3)).billable).toBe(false);

      const scoreWhere = (holds: (score: AgentScore) => boolean): Promise<AgentScore> =>
        eventually(
          async () => {
            const score = await anyone.score(seller.id);
            expect(holds(score)).toBe(true);
            return score;
          },
          { withinMs: 60_000 },
        );
      const before = await scoreWhere(({ meta }) => meta.total_events === 4);
      const share = expect.any(Number) as number;
      expect(before).toEqual({
        agent_id: seller.id,
        status: 'scored',
        market_score: share,
        score_tier: 'bronze',
        provisional: { reason: 'few_transactions', transactions: 3, required: 10 },
        components: { reliability: 750, accuracy: 750, volume: share, longevity: share, reputation: 750 },
        categories: [
          {
            category_id: category!.id,
            category: { name: category!.name, slug: category!.slug },
            score: share,
            transaction_count: 3,
            avg_review_rating: null,
            success_rate: 0.75,
          },
        ],
        capability: { avg_pow_solve_ms: share, best_pow_solve_ms: share },
        meta: {
          total_events: 4,
          total_transactions: 3,
          last_active_at: expect.stringMatching(TIMESTAMP),
          freshness: 'fresh',
          scored_at: expect.stringMatching(TIMESTAMP),
        },
      });
      for (const value of [before.market_score, ...Object.values(before.components), before.categories[0]!.score]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1000);
      }
      expect(before.market_score).toBeCloseTo((750 * 750 * before.components.volume) / 1e6, 0);
      expect(before.market_score).toBeGreaterThan(50);
      expect(before.capability.best_pow_solve_ms!).toBeLessThanOrEqual(before.capability.avg_pow_solve_ms!);

      await buyer.market.reviews.create(shop.listing, { accuracy_rating: 5, reliability_rating: 3, value_rating: 4 });
      const after = await scoreWhere(({ meta }) => meta.total_events === 5);
      expect(after.categories[0]!.avg_review_rating).toBe(4);
      expect(after.components).toMatchObject({ accuracy: 1000, reputation: 750 });
      expect(after.provisional).toEqual(before.provisional);
      await shop.close();
    },
    120_000,
  );

  it('is nothing special for buying of oneself through others', async () => {
    const [seller, other] = await Promise.all([registerAgent(harness), registerAgent(harness)]);
    const { marketplace: human } = await anyone.signIn(evmWallet());
    await human.claim(seller.id, seller.wallet);
    await human.claim(other.id, other.wallet);
    const shop = await openShop(seller);
    for (let n = 0; n < 12; n += 1) await other.market.call(shop.listing, { n }, { pay: sandboxPayer(other.market) });
    await eventually(
      async () =>
        expect(await anyone.score(seller.id)).toMatchObject({
          status: 'scored',
          market_score: 0,
          provisional: { reason: 'few_independent_buyers', transactions: 12 },
        }),
      { withinMs: 60_000 },
    );
    await shop.close();
  }, 120_000);

  it('is not bought with play money, by sixty wallets that nobody knows', async () => {
    const seller = await registerAgent(harness, { displayName: 'Washes' });
    const shop = await openShop(seller);
    const url = `${harness.baseUrl}/api/v1/x402/${shop.listing.slug}`;
    const buy = async (n: number): Promise<number> => (await payingFetch()(url, jsonPost({ n }))).status;
    for (let n = 0; n < 60; n += 10)
      expect(await Promise.all(Array.from({ length: 10 }, (_, at) => buy(n + at)))).toEqual(Array(10).fill(200));
    const score = await eventually(
      async () => {
        const found = await anyone.score(seller.id);
        expect(found.meta.total_transactions).toBe(60);
        return found;
      },
      { withinMs: 30_000 },
    );
    expect(score.market_score).toBeLessThan(500);
    expect(['bronze', 'silver']).toContain(score.score_tier);
    await shop.close();
  });

  it('is what its facts say, as operators can check', async () => {
    const { code, output } = await admin(
      { DATABASE_URL: harness.databaseUrl, MIGRATE_ON_START: 'false' },
      'scores',
      'verify',
    );
    expect([code, output]).toEqual([0, expect.stringMatching(/^\d+ accounts are as the facts say/)]);
  }, 240_000);
});
