import type { OutputOf, RequestOf } from '@market/contracts';
import { createReview, getScore, listReviews } from '@market/contracts/reputation';
import { newId } from '@market/kernel';
import { Refusal } from '@market/messaging';
import { eventually } from '@market/testing';
import fc from 'fast-check';
import { claim, DAY_MS, inTurns, newShop, offeringOf, sale, wallet, type Shop } from '../support/market.js';
import { truncateAll, principal, startReputation, type ReputationService } from '../support/reputation-service.js';

const SEED = 20_261_121;

describe('a review', () => {
  let service: ReputationService;
  let shop: Shop;

  beforeAll(async () => {
    service = await startReputation();
  });
  beforeEach(() => {
    shop = newShop();
    service.neighbours.offerings
      .set(shop.listingId, offeringOf(shop))
      .set(`listing-${shop.listingId}`, offeringOf(shop));
    service.neighbours.evidence = () => ({ lastBillableCallAt: new Date().toISOString(), subscriptionStartedAt: null });
  });
  afterAll(() => service.stop());

  const write = (
    reviewerId: string,
    values: Partial<RequestOf<typeof createReview>> = {},
    as: Partial<Parameters<typeof principal>[1]> = {},
  ): Promise<OutputOf<typeof createReview>> =>
    service.ask(
      createReview,
      { listing_ref: shop.listingId, accuracy_rating: 5, reliability_rating: 4, value_rating: 3, ...values },
      { principal: principal(reviewerId, as) },
    );
  const read = (page = 1, limit = 20, listingRef = shop.listingId): Promise<OutputOf<typeof listReviews>> =>
    service.ask(listReviews, { listing_ref: listingRef, page, limit });
  const reasonOf = async (attempt: Promise<unknown>): Promise<string> => {
    const error: unknown = await attempt.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof Refusal)) throw new Error(`was not refused: ${String(error)}`);
    return error.reason;
  };

  it('is kept as it was written, and listed by uuid and by slug', async () => {
    const reviewer = newId();
    const review = await write(reviewer, { title: 'Good 👩', comment: 'As promised.' });
    expect(review).toEqual({
      id: expect.any(String),
      listing_id: shop.listingId,
      accuracy_rating: 5,
      reliability_rating: 4,
      value_rating: 3,
      title: 'Good 👩',
      comment: 'As promised.',
      reviewer_id: reviewer,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    for (const ref of [shop.listingId, `listing-${shop.listingId}`])
      expect(await read(1, 20, ref)).toEqual({ items: [review], total: 1 });
    expect(await write(newId(), {})).toMatchObject({ title: null, comment: null });
  });

  it('is listed newest first, in pages', async () => {
    const written: string[] = [];
    for (let n = 0; n < 7; n += 1) written.unshift((await write(newId())).id);
    const pages = [
      await read(1, 3),
      await read(2, 3),
      await read(3, 3),
      await read(4, 3),
      await read(1_000_000_000, 50),
    ];
    expect(pages.map(({ items }) => items.map(({ id }) => id))).toEqual([
      written.slice(0, 3),
      written.slice(3, 6),
      written.slice(6),
      [],
      [],
    ]);
    expect(pages.every(({ total }) => total === 7)).toBe(true);
  });

  it('is of an active listing alone', async () => {
    expect([
      await reasonOf(write(newId(), { listing_ref: newId() })),
      await reasonOf(read(1, 20, 'no-such-listing')),
    ]).toEqual(['listing_not_found', 'listing_not_found']);
    for (const status of ['draft', 'suspended'] as const) {
      service.neighbours.offerings.set(shop.listingId, offeringOf(shop, { status }));
      expect([await reasonOf(write(newId())), await reasonOf(write(shop.sellerId)), await reasonOf(read())]).toEqual([
        'listing_not_found',
        'listing_not_found',
        'listing_not_found',
      ]);
    }
  });

  it('is by an agent, and not by the seller', async () => {
    expect(await reasonOf(write(newId(), {}, { accountType: 'human' }))).toBe('agent_required');
    expect(await reasonOf(write(shop.sellerId))).toBe('own_listing');
  });

  it('holds no text that cannot be kept', async () => {
    expect(await reasonOf(write(newId(), { comment: 'nul \0' }))).toBe('text_invalid');
  });

  const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
  const MINUTE_MS = 60_000;
  it.each<[string, string | null, string | null, string]>([
    ['nothing', null, null, 'purchase_required'],
    ['a call a moment ago', ago(0), null, 'kept'],
    ['a call just less than 30 days ago', ago(30 * DAY_MS - 5 * MINUTE_MS), null, 'kept'],
    ['a call just more than 30 days ago', ago(30 * DAY_MS + MINUTE_MS), null, 'review_window_closed'],
    ['a subscription just less than 30 days ago', null, ago(30 * DAY_MS - 5 * MINUTE_MS), 'kept'],
    ['a subscription just more than 30 days ago', null, ago(30 * DAY_MS + MINUTE_MS), 'review_window_closed'],
    ['an old subscription and a new call', ago(DAY_MS), ago(300 * DAY_MS), 'kept'],
    ['an old call and a new subscription', ago(300 * DAY_MS), ago(DAY_MS), 'kept'],
    ['an old call and an old subscription', ago(40 * DAY_MS), ago(300 * DAY_MS), 'review_window_closed'],
  ])(
    'by who bought %s is kept or refused as the window says',
    async (_what, lastBillableCallAt, subscriptionStartedAt, outcome) => {
      const asked: object[] = [];
      service.neighbours.evidence = (input) => (asked.push(input), { lastBillableCallAt, subscriptionStartedAt });
      const buyerId = newId();
      expect(
        await write(buyerId).then(
          () => 'kept',
          (error: Refusal) => error.reason,
        ),
      ).toBe(outcome);
      expect(asked).toEqual([{ buyerId, listingId: shop.listingId }]);
      expect((await read()).total).toBe(outcome === 'kept' ? 1 : 0);
    },
  );

  it('is written once, also by 64 at the same time, also when there was no other purchase', async () => {
    const reviewer = newId();
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, () =>
        write(reviewer).then(
          () => 'kept',
          (error: Refusal) => error.reason,
        ),
      ),
    );
    expect(outcomes.sort()).toEqual([...Array<string>(63).fill('already_reviewed'), 'kept']);
    service.neighbours.evidence = () => ({ lastBillableCallAt: null, subscriptionStartedAt: null });
    expect(await reasonOf(write(reviewer))).toBe('already_reviewed');
    expect((await read()).total).toBe(1);
    expect(await service.sql('SELECT reviews FROM listing_totals WHERE listing_id = $1', [shop.listingId])).toEqual([
      { reviews: 1 },
    ]);
  });

  it('is told with the count and the means as of its commit, each count once', async () => {
    const stars = [1, 5, 4, 4, 2, 3, 5, 5, 1, 2];
    await inTurns(stars, (n) => write(newId(), { accuracy_rating: n, reliability_rating: 6 - n, value_rating: 3 }));
    await eventually(() =>
      expect(service.rated.filter(({ listingId }) => listingId === shop.listingId)).toHaveLength(stars.length),
    );
    const emitted = service.rated
      .filter(({ listingId }) => listingId === shop.listingId)
      .sort((a, b) => a.reviewCount - b.reviewCount);
    expect(emitted.map(({ reviewCount }) => reviewCount)).toEqual(stars.map((_, n) => n + 1));
    expect(emitted.at(-1)).toMatchObject({ averageAccuracy: 3.2, averageReliability: 2.8, averageValue: 3 });
  });

  it('moves the score of the seller, and shows in its category', async () => {
    const buyer = newId();
    await service.deliver([sale(shop, buyer)]);
    const before = await service.ask(getScore, { agentId: shop.sellerId });
    await write(buyer, { accuracy_rating: 5, reliability_rating: 5, value_rating: 5 });
    const after = await service.ask(getScore, { agentId: shop.sellerId });
    expect([before.meta.total_events, after.meta.total_events]).toEqual([1, 2]);
    expect(after.components.accuracy).toBeGreaterThan(before.components.accuracy);
    expect(after.components.reputation).toBeGreaterThan(before.components.reputation);
  });

  it(`is refused between accounts linked by a claimer or a wallet, over however many, and between no others (seed ${SEED})`, async () => {
    const accounts = Array.from({ length: 40 }, () => newId());
    const account = fc.nat(accounts.length - 1);
    const relation = fc.oneof(
      fc.tuple(account, fc.constantFrom('h1', 'h2', 'h3', 'h4', 'h5')),
      fc.tuple(account, fc.constantFrom('0xA1', '0xa2', '0xA3', '0xa4', '0xA5', '0xa6')),
    );
    const humans = new Map(['h1', 'h2', 'h3', 'h4', 'h5'].map((name) => [name, newId()]));
    await fc.assert(
      fc.asyncProperty(
        fc.array(relation, { minLength: 10, maxLength: 30 }),
        fc.array(fc.tuple(account, account), { minLength: 25, maxLength: 25 }),
        async (relations, attempts) => {
          await truncateAll(service, 'wallet_facts, claim_facts, accounts, reviews, inbox');
          await service.deliver(
            relations.map(([n, by]) =>
              by.startsWith('h') ? claim(accounts[n]!, humans.get(by)!) : wallet(accounts[n]!, by),
            ),
            3,
          );
          for (const [seller, reviewer] of attempts.filter(([one, other]) => one !== other)) {
            shop = newShop(accounts[seller]);
            service.neighbours.offerings.set(shop.listingId, offeringOf(shop));
            const outcome = await write(accounts[reviewer]!).then(
              () => 'kept',
              (error: Refusal) => error.reason,
            );
            expect([outcome, seller, reviewer]).toEqual([
              connected(relations, seller, reviewer) ? 'related_to_seller' : 'kept',
              seller,
              reviewer,
            ]);
          }
        },
      ),
      { seed: SEED, numRuns: 8, endOnFailure: true },
    );
  });
});

/** Whether two accounts are connected by shared claimers and wallets. */
function connected(relations: [number, string][], from: number, to: number): boolean {
  const reached = new Set([from]);
  for (let size = 0; size < reached.size;) {
    size = reached.size;
    const by = new Set(relations.filter(([n]) => reached.has(n)).map(([, name]) => name));
    for (const [n, name] of relations) if (by.has(name)) reached.add(n);
  }
  return reached.has(to);
}
