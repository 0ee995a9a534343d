import { listingChanged, listingWorkSolved } from '@market/contracts/catalog';
import { getScore } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { Refusal, type EventRecord } from '@market/messaging';
import fc from 'fast-check';
import {
  claim,
  DAY_MS,
  daysAgo,
  failure,
  fees,
  inTurns,
  marketScore,
  newShop,
  offeringOf,
  overdueRefund,
  paidRefund,
  refundDue,
  registration,
  review,
  sale,
  solved,
  subscription,
  wallet,
  type Shop,
} from '../support/market.js';
import { eventOf, truncateAll, startReputation, type ReputationService } from '../support/reputation-service.js';

const SEED = 20_261_121;
const CATEGORY = { id: newId(), name: 'Data', slug: 'data' };

const inCategory = (shop: Shop, version: number, category: typeof CATEGORY | null = CATEGORY): EventRecord =>
  eventOf(listingChanged, { ...offeringOf(shop), category, version, changedAt: new Date().toISOString() });
const newAgents = (size: number): string[] => Array.from({ length: size }, () => newId());

describe('the score', () => {
  let service: ReputationService;

  beforeAll(async () => {
    service = await startReputation();
  });
  afterAll(() => service.stop());

  const scoreOf = (agentId: string) => service.ask(getScore, { agentId });

  describe('of an agent', () => {
    it('that nobody knows is refused, and so is that of a human', async () => {
      const human = newId();
      service.neighbours.accounts.set(human, 'human');
      await service.deliver([claim(newId(), human)]);
      for (const agentId of [newId(), human])
        await expect(scoreOf(agentId)).rejects.toMatchObject({ reason: 'agent_not_found' } satisfies Partial<Refusal>);
    });

    it('whose registration has not arrived is unscored', async () => {
      const agentId = newId();
      service.neighbours.accounts.set(agentId, 'agent');
      expect(await scoreOf(agentId)).toEqual({
        agent_id: agentId,
        status: 'unscored',
        market_score: 0,
        score_tier: 'unrated',
        provisional: { reason: 'no_transactions', transactions: 0, required: 10 },
        components: { reliability: 0, accuracy: 0, volume: 0, longevity: 0, reputation: 0 },
        categories: [],
        capability: { avg_pow_solve_ms: null, best_pow_solve_ms: null },
        meta: { total_events: 0, total_transactions: 0, last_active_at: null, freshness: 'stale', scored_at: null },
      });
    });

    it('that only registered and bought is unscored, and fresh', async () => {
      const agentId = newId();
      await service.deliver([
        registration(agentId, daysAgo(40)),
        solved(agentId, 250, daysAgo(40)),
        sale(newShop(), agentId, { at: daysAgo(1) }),
      ]);
      expect(await scoreOf(agentId)).toMatchObject({
        status: 'unscored',
        score_tier: 'unrated',
        capability: { avg_pow_solve_ms: 250, best_pow_solve_ms: 250 },
        meta: { total_events: 0, freshness: 'fresh', scored_at: null },
      });
    });

    it('that delivered one call is between 50 and 250, provisionally until ten sales to known buyers and fees that came', async () => {
      const shop = newShop();
      const buyer = newId();
      await service.deliver([inCategory(shop, 1), registration(shop.sellerId), sale(shop, buyer)]);
      const first = await marketScore(service, shop.sellerId);
      expect(first >= 50 && first < 250).toBe(true);
      await service.deliver([failure(shop, buyer), subscription(shop, newId())]);
      const score = await scoreOf(shop.sellerId);
      expect(score).toMatchObject({
        agent_id: shop.sellerId,
        status: 'scored',
        score_tier: 'bronze',
        provisional: { reason: 'few_transactions', transactions: 2, required: 10 },
        components: { reliability: 500, accuracy: 750, reputation: 750 },
        categories: [
          {
            category_id: CATEGORY.id,
            category: { name: 'Data', slug: 'data' },
            score: score.market_score,
            transaction_count: 2,
            avg_review_rating: null,
            success_rate: 0.5,
          },
        ],
        meta: {
          total_events: 3,
          total_transactions: 2,
          freshness: 'fresh',
          scored_at: expect.stringMatching(/^\d{4}-.*Z$/),
        },
      });
      await service.deliver(Array.from({ length: 8 }, () => sale(shop, buyer)));
      expect((await scoreOf(shop.sellerId)).provisional).toEqual({
        reason: 'few_independent_buyers',
        transactions: 10,
        required: 10,
        buyers: 0.4,
        required_buyers: 3,
      });
      const [established, elsewhere] = [newShop(), newShop()];
      await service.deliver(
        newAgents(10).flatMap((other) => [sale(established, other), sale(elsewhere, other, { micros: 10n ** 9n })]),
      );
      const counted = { transactions: 10, required: 10 };
      expect((await scoreOf(established.sellerId)).provisional).toEqual({ reason: 'no_fees_received', ...counted });
      await service.deliver([fees(established, 1n)]);
      expect(await scoreOf(established.sellerId)).toMatchObject({ status: 'scored', provisional: null });
    });

    it('that owes refunds for too long has less volume for each, until it is paid', async () => {
      const [shop, other] = [newShop(), newShop()];
      const refunds = newAgents(3);
      await service.deliver(
        [shop, other].flatMap((at) => newAgents(12).map((buyer) => sale(at, buyer, { micros: 100_000n }))),
      );
      // Each of the twelve buyers bought only here, for what makes half a buyer: together they are as 6 / 7.
      const volumeWith = (owed: number): number => Math.round((10_000 * 0.2 * 6) / 7 / (6 / 7 + 0.4 + owed)) / 10;
      const expectOwed = async (owed: number): Promise<void> =>
        expect((await scoreOf(shop.sellerId)).components.volume).toBe(volumeWith(owed));
      await expectOwed(0);
      // Events are repeated and out of order: the last refund is paid before the event that it is overdue arrives.
      await service.deliver([overdueRefund(shop, refunds[0]!), overdueRefund(shop, refunds[0]!)]);
      await expectOwed(1);
      await service.deliver([overdueRefund(shop, refunds[1]!), paidRefund(shop, refunds[2]!)]);
      await service.deliver([overdueRefund(shop, refunds[2]!)]);
      await expectOwed(2);
      expect((await scoreOf(other.sellerId)).components.volume).toBe(volumeWith(0));
      await service.deliver([paidRefund(shop, refunds[0]!), paidRefund(shop, refunds[1]!)]);
      await expectOwed(0);
    });

    it('has the volume of the fees that came: with the sale, later, or never; each counts once', async () => {
      const $ = 1_000_000n;
      const [withSale, later, never, refunded, elsewhere] = [newShop(), newShop(), newShop(), newShop(), newShop()];
      const buyers = newAgents(20);
      const [micros, fee] = [800n * $, 40n * $];
      const facts = buyers.flatMap((buyer) => [
        sale(withSale, buyer, { micros, received: fee }),
        sale(later, buyer, { micros }),
        sale(never, buyer, { micros }),
        refundDue(refunded, buyer, micros),
        subscription(elsewhere, buyer, { micros: 100_000n * $ }),
      ]);
      await service.deliver(facts);
      const of = async ({ sellerId }: Shop) => {
        const { score_tier, components } = await scoreOf(sellerId);
        return [score_tier, Math.round(components.volume)];
      };
      // Beside the 196 of twenty buyers: 800 × √794 / (√794 + √1,400) of the $800, less for what they spent here.
      expect(await of(withSale)).toEqual(['silver', 540]);
      expect([await of(later), await of(never)]).toEqual(Array(2).fill(['bronze', 196]));
      expect(await scoreOf(refunded.sellerId).catch((error: Refusal) => error.reason)).toBe('agent_not_found');
      const [half, rest] = [fees(later, 400n * $), fees(later, 400n * $)];
      await service.deliver([half, half]);
      await service.sql('DELETE FROM inbox');
      await service.deliver([half, ...facts]);
      expect((await of(later))[1]).toBe(474);
      await service.deliver([rest]);
      expect(await of(later)).toEqual(await of(withSale));
      expect(await service.sql('SELECT sum(received_micros)::text AS sum FROM fee_facts')).toEqual([
        { sum: (1_600n * $ + 1n).toString() },
      ]);
      expect(await service.command('scores verify')).toMatch(/are as the facts say$/);
    });

    it('that was silent for long is inactive', async () => {
      const shop = newShop();
      await service.deliver([sale(shop, newId(), { at: daysAgo(120) })]);
      expect(await scoreOf(shop.sellerId)).toMatchObject({ status: 'inactive', meta: { freshness: 'stale' } });
    });
  });

  describe('of sellers whose buyers', () => {
    it('share a wallet or a claimer is as of one buyer, and nothing where the seller is one of them; also when known later', async () => {
      const [shop, one] = [newShop(), newShop()];
      const [buyers, human] = [newAgents(12), newId()];
      const purchases = (from: Shop): EventRecord[] => buyers.map((buyer) => sale(from, buyer, { micros: 10_000n }));
      const links = buyers.map((buyer, n) => (n % 2 ? claim(buyer, human) : wallet(buyer, '0xAbCd')));
      await service.deliver([...purchases(shop), ...links, wallet(human, '0xaBcD', 'evm')]);
      await service.deliver([sale(one, newId(), { micros: 120_000n })]);
      expect((await scoreOf(shop.sellerId)).components.volume).toBe((await scoreOf(one.sellerId)).components.volume);
      await service.deliver([claim(shop.sellerId, human)]);
      expect(await scoreOf(shop.sellerId)).toMatchObject({
        status: 'scored',
        market_score: 0,
        components: { volume: 0 },
      });
    });

    it('trade among themselves what they own together is as if they had not', async () => {
      const [shop, human, [buyer, sibling, stranger]] = [newShop(), newId(), newAgents(3) as [string, string, string]];
      const others = newShop(sibling);
      await service.deliver([
        sale(shop, buyer, { micros: 100_000n }),
        ...Array.from({ length: 9 }, () => sale(others, buyer, { micros: 100_000n })),
      ]);
      const before = await scoreOf(shop.sellerId);
      await service.deliver([claim(buyer, human), claim(sibling, human)]);
      const after = await scoreOf(shop.sellerId);
      expect(after.components.volume).toBeLessThan(before.components.volume);
      const alone = newShop();
      await service.deliver([sale(alone, stranger, { micros: 100_000n })]);
      expect(after.components.volume).toBe((await scoreOf(alone.sellerId)).components.volume);
    });

    it(`are a ring of 50 that trade 10,000 times with five stars is at most 25, outranked by twenty buyers (seed ${SEED})`, async () => {
      const ring = Array.from({ length: 50 }, () => newShop());
      const honest = newShop();
      const pick = fc.sample(fc.tuple(fc.nat(49), fc.integer({ min: 1, max: 49 })), { seed: SEED, numRuns: 10_000 });
      await service.deliver(pick.map(([n, step]) => sale(ring[n]!, ring[(n + step) % 50]!.sellerId)));
      await inTurns(
        ring.flatMap((shop, n) => [1, 2, 3].map((step) => ({ shop, reviewer: ring[(n + step) % 50]!.sellerId }))),
        ({ shop, reviewer }) => review(service, shop, reviewer, 5),
      );
      await service.deliver(newAgents(20).map((buyer) => sale(honest, buyer)));
      const best = Math.max(...(await Promise.all(ring.map(({ sellerId }) => marketScore(service, sellerId)))));
      expect(best).toBeLessThanOrEqual(25);
      expect(await marketScore(service, honest.sellerId)).toBeGreaterThan(best + 50);
    }, 120_000);
  });

  it('counts a listing where its latest version says it is, in whatever order the versions come', async () => {
    const shop = newShop();
    const elsewhere = { id: newId(), name: 'Elsewhere', slug: 'elsewhere' };
    await service.deliver([inCategory(shop, 3, elsewhere)]);
    await service.deliver([inCategory(shop, 1, null), sale(shop, newId()), inCategory(shop, 2)]);
    expect((await scoreOf(shop.sellerId)).categories.map(({ category_id }) => category_id)).toEqual([elsewhere.id]);
  });

  it('shows how fast proofs of work were solved without what is no measure of it, and does not change with it', async () => {
    const shop = newShop();
    await service.deliver([sale(shop, newId())]);
    const before = await scoreOf(shop.sellerId);
    const usual = Array.from({ length: 40 }, (_, n) =>
      eventOf(listingWorkSolved, {
        accountId: shop.sellerId,
        difficulty: 4,
        solveMs: 400 + 5 * n,
        solvedAt: daysAgo(2).toISOString(),
      }),
    );
    await service.deliver([...usual, solved(shop.sellerId, 0), solved(shop.sellerId, 599_000)]);
    const after = await scoreOf(shop.sellerId);
    expect(after.capability.best_pow_solve_ms).toBe(400);
    expect(after.capability.avg_pow_solve_ms).toBeCloseTo(498, -1);
    await service.deliver(Array.from({ length: 10_000 }, (_, n) => solved(shop.sellerId, n % 7)));
    const farmed = await scoreOf(shop.sellerId);
    expect([farmed.market_score, farmed.components, after.market_score]).toEqual([
      before.market_score,
      before.components,
      before.market_score,
    ]);
  }, 120_000);

  it(`is the same however often and in whatever order and batches the facts come (seed ${SEED})`, async () => {
    const accounts = newAgents(14);
    const shops = accounts.slice(0, 6).map((sellerId) => newShop(sellerId));
    const account = fc.constantFrom(...accounts);
    const at = fc.integer({ min: 0, max: 200 * DAY_MS }).map((ms) => new Date(Date.now() - ms));
    const trade = fc
      .record({
        shop: fc.constantFrom(...shops),
        buyer: account,
        at,
        micros: fc.bigInt(0n, 200_000_000n),
        kind: fc.constantFrom('sale', 'sale', 'sale', 'failure', 'subscription'),
      })
      .filter(({ shop, buyer }) => shop.sellerId !== buyer)
      .map(({ shop, buyer, kind, ...terms }) =>
        kind === 'sale'
          ? sale(shop, buyer, terms)
          : kind === 'failure'
            ? failure(shop, buyer, terms.at)
            : subscription(shop, buyer, terms),
      );
    const other = fc.oneof(
      fc.tuple(account, fc.constantFrom(newId(), newId())).map(([agent, human]) => claim(agent, human)),
      fc
        .tuple(account, fc.constantFrom('0xAb00', '0xaB00', '0xcd00'))
        .map(([holder, address]) => wallet(holder, address)),
      fc.tuple(account, at).map(([agent, when]) => registration(agent, when)),
      fc.tuple(account, fc.nat(600_000), at).map(([agent, ms, when]) => solved(agent, ms, when)),
    );
    const facts = fc
      .tuple(
        fc.array(trade, { minLength: 30, maxLength: 200 }),
        fc.uniqueArray(other, {
          maxLength: 12,
          selector: (event) => `${event.subject} ${JSON.stringify(event.payload).slice(0, 60)}`,
        }),
      )
      .map(([trades, others]) => [...trades, ...others]);
    const told = facts.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray([...all, ...all], { minLength: all.length }),
        fc.integer({ min: 1, max: 40 }),
      ),
    );

    const served = () =>
      Promise.all(shops.map((shop) => scoreOf(shop.sellerId).catch((error: Refusal) => error.reason)));
    let scored = 0;
    await fc.assert(
      fc.asyncProperty(told, async ([all, shuffled, batch]) => {
        await truncateAll(service);
        await service.deliver([...all, ...shops.map((shop) => inCategory(shop, 2))]);
        const once = await served();
        await truncateAll(service);
        await service.deliver(shops.map((shop) => inCategory(shop, 2)));
        await service.deliver(shuffled, batch);
        await service.sql('DELETE FROM inbox');
        await Promise.all([
          service.deliver([...all].reverse()),
          service.deliver([...shops.map((shop) => inCategory(shop, 1, null)), ...all], batch),
        ]);
        expect(await served()).toEqual(once);
        expect(await service.command('scores verify')).toMatch(/are as the facts say$/);
        await service.command('scores recompute');
        expect(await served()).toEqual(once);
        scored += once.filter((score) => typeof score === 'object' && score.market_score > 0).length;
      }),
      { seed: SEED, numRuns: 5, endOnFailure: true },
    );
    expect(scored).toBeGreaterThan(0);
    expect(await service.sql('SELECT * FROM dead_letters')).toEqual([]);
  }, 120_000);

  describe('is computed from sums that are held against the facts', () => {
    let shop: Shop;

    beforeEach(async () => {
      await truncateAll(service);
      const buyers = newAgents(20);
      shop = newShop();
      await service.deliver([
        registration(shop.sellerId),
        ...buyers.flatMap((buyer) => [sale(shop, buyer), sale(newShop(), buyer)]),
      ]);
      await service.deliver([
        claim(buyers[0]!, newId()),
        wallet(buyers[1]!, '0x01'),
        wallet(buyers[2]!, '0x01'),
        wallet(newId(), '0x02'),
      ]);
      await review(service, shop, buyers[0]!, 4);
    });

    it.each([
      ['a wrong sum of trades', 'UPDATE trades SET delivered = delivered + 1 WHERE seller_id = $1'],
      [
        'a trade that never was',
        'INSERT INTO trades SELECT seller_id, gen_random_uuid(), listing_id, 1, 0, 0, 1 FROM trades WHERE seller_id = $1 LIMIT 1',
      ],
      ['a missing trade', 'DELETE FROM trades WHERE seller_id = $1'],
      ['a wrong sum of a listing', 'UPDATE listing_totals SET accuracy_sum = accuracy_sum + 1 WHERE seller_id = $1'],
      ['a wrong account', 'UPDATE accounts SET earned_micros = 0 WHERE account_id = $1'],
      ['a wrong sum of fees', 'UPDATE accounts SET fees_micros = fees_micros + 1 WHERE account_id = $1'],
      [
        'a wrong party',
        'UPDATE accounts SET party_id = (SELECT buyer_id FROM trades WHERE seller_id = $1 LIMIT 1) WHERE account_id = $1',
      ],
    ])(
      'and %s is found and mended',
      async (_what, tamper) => {
        const before = await scoreOf(shop.sellerId);
        await service.sql(tamper, [shop.sellerId]);
        await expect(service.command('scores verify')).rejects.toThrow(
          /^\d+ differences between what is stored and what the facts say:\n/,
        );
        expect(await service.command('scores recompute')).toMatch(/^\d+ accounts were computed from the facts$/);
        expect(await scoreOf(shop.sellerId)).toEqual(before);
        expect(await service.command('scores verify')).toMatch(/are as the facts say$/);
      },
      30_000,
    );

    it('while facts keep coming, and none is lost', async () => {
      const facts = Array.from({ length: 600 }, (_, n) => sale(shop, newId(), { at: daysAgo(n % 50) }));
      const [, verified, recomputed] = await Promise.all([
        service.deliver(facts, 20),
        service.command('scores verify'),
        service.command('scores recompute'),
      ]);
      expect([verified, recomputed]).toEqual([
        expect.stringContaining('as the facts say'),
        expect.stringContaining('from the facts'),
      ]);
      expect((await scoreOf(shop.sellerId)).meta.total_transactions).toBe(620);
      expect(await service.command('scores verify')).toMatch(/are as the facts say$/);
    }, 120_000);
  });
});
