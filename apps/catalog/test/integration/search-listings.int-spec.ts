import type { RequestOf } from '@market/contracts';
import { listCategories, searchListings } from '@market/contracts/catalog';
import fc from 'fast-check';
import { startCatalog, type CatalogService } from '../support/catalog-service.js';
import { refusalOf } from '../support/listings.js';
import { naiveSearch, WORDS } from '../support/search-model.js';
import { listingOf, seedListings, type SeededListing } from '../support/seed-listings.js';

type Search = RequestOf<typeof searchListings>;

/** More than twice what search gathers whole, so that both of its plans are met. */
const LISTINGS = 1_300;

describe('search', () => {
  let service: CatalogService;
  let all: SeededListing[];
  let categoryIds: string[];

  const search = (values: Partial<Search>) => service.ask(searchListings, { page: 1, limit: 20, ...values });
  const some = <T>(...items: T[]) => fc.constantFrom(...items);
  const word = fc.constantFrom(...WORDS);

  beforeAll(async () => {
    service = await startCatalog();
    categoryIds = (await service.ask(listCategories, {})).categories.map(({ id }) => id);
    // A skewed choice makes some words common and some rare; few instants, prices and counts make ties.
    const skewed = fc.nat({ max: WORDS.length ** 2 - 1 }).map((square) => WORDS[Math.floor(Math.sqrt(square))]!);
    const text = (min: number, max: number) => fc.array(skewed, { minLength: min, maxLength: max }).map((words) => words.join(' '));
    const listing = fc.record({
      name: text(1, 3),
      tags: fc.array(skewed, { maxLength: 2 }),
      description: text(2, 6),
      docs: fc.option(text(1, 4)),
      categoryId: fc.option(some(...categoryIds.slice(0, 4))),
      pricing: some(['free', 0n], ['monthly', 1_000_000n], ['monthly', 5_000_000n], ['yearly', 5_000_000n], ['usage_tiered', 1n]) as fc.Arbitrary<['free' | 'monthly' | 'yearly' | 'usage_tiered', bigint]>,
      deliveryType: some('api', 'webhook', 'file') as fc.Arbitrary<SeededListing['deliveryType']>,
      status: some('active', 'active', 'active', 'active', 'draft', 'suspended') as fc.Arbitrary<SeededListing['status']>,
      createdAt: fc.nat({ max: 300 }).map((minutes) => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000)),
      completedCalls: fc.nat({ max: 20 }),
    });
    all = fc
      .sample(listing, { numRuns: LISTINGS, seed: 20_261_121 })
      .map(({ pricing: [pricingModel, priceMicros], ...values }) => listingOf({ ...values, pricingModel, priceMicros }));
    await seedListings(service, all);
    await service.sql('ANALYZE');
  });
  afterAll(() => service.stop());

  it('finds exactly what a naive reading of the rules finds, in the same order, with the exact total', async () => {
    const q = fc.oneof(
      word,
      fc.tuple(word, word).map(([a, b]) => `${a} ${b}`),
      fc.tuple(word, word).map(([a, b]) => `"${a} ${b}"`),
      fc.tuple(word, word).map(([a, b]) => `${a} or ${b}`),
      fc.tuple(word, word).map(([a, b]) => `${a} -${b}`),
      word.map((only) => `-${only}`),
    );
    const price = some('0', '1', '1000000', '4999999', '5000000');
    const anySearch = fc.record(
      {
        q,
        categoryId: fc.constantFrom(...[0, 1, 5].map((index) => index)),
        pricingModel: some('free', 'monthly', 'yearly', 'per_call') as fc.Arbitrary<Search['pricingModel']>,
        deliveryType: some('api', 'webhook', 'batch') as fc.Arbitrary<Search['deliveryType']>,
        minPriceMicros: price,
        maxPriceMicros: price,
        sort: some('newest', 'popular', 'price_low', 'price_high') as fc.Arbitrary<Search['sort']>,
        page: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) }, { weight: 1, arbitrary: fc.integer({ min: 40, max: 2_000_000_000 }) }),
        limit: fc.integer({ min: 1, max: 100 }),
      },
      { requiredKeys: ['page', 'limit'] },
    );
    await fc.assert(
      fc.asyncProperty(anySearch, async ({ categoryId, ...values }) => {
        const asked: Search = { ...values, ...(categoryId !== undefined && { categoryId: categoryIds[categoryId]! }) };
        const expected = naiveSearch(all, asked);
        const found = await service.ask(searchListings, asked);
        expect({ ids: found.items.map(({ id }) => id), total: found.total }).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  }, 120_000);

  it('shows every active listing exactly once across its pages', async () => {
    const active = all.filter(({ status }) => status === 'active').map(({ id }) => id);
    for (const sort of ['newest', 'popular', 'price_low', 'price_high'] as const) {
      const seen: string[] = [];
      for (let page = 1; seen.length < active.length; page += 1) {
        const { items, total } = await search({ sort, page, limit: 100 });
        expect(total).toBe(active.length);
        expect(items.length).toBe(Math.min(100, active.length - seen.length));
        seen.push(...items.map(({ id }) => id));
      }
      expect(new Set(seen)).toEqual(new Set(active));
    }
  });

  it('meets inflected words by their stem, and a misspelt name by its resemblance', async () => {
    const [translator, weather] = [listingOf({ name: 'Translation of contracts' }), listingOf({ name: 'Weather station' })];
    await seedListings(service, [translator, weather]);
    const idsFor = async (q: string) => (await search({ q })).items.map(({ id }) => id);
    expect(await idsFor('translations')).toEqual([translator.id]);
    expect(await idsFor('tranlsation')).toEqual([translator.id]);
    expect(await idsFor('wether')).toEqual([weather.id]);
    expect(await idsFor('wether station')).toEqual([weather.id]);
    expect(await idsFor('the')).toEqual([]);
  });

  it.each([
    ['quotes and comments', `'; DROP TABLE listings; --`],
    ['a union', `x' UNION SELECT id::text FROM listing_challenges --`],
    ['query operators', `fjord & | ! <-> :* ( ) 'a' <2> \\`],
    ['unbalanced quotes', `"fjord ''" - -- "or" or or`],
    ['pattern characters', '% _ \\% .* [a-z]+ $1 $$ ${1}'],
    ['right-to-left and zero-width marks', '\u202efjord\u200b'],
    ['nothing but blanks', ' \t\n '],
    ['nothing but punctuation', '!!! ??? ...'],
    ['200 words', 'a '.repeat(100)],
    ['200 emoji', '🦊'.repeat(200)],
    ['200 minuses', '-'.repeat(200)],
  ])('takes %s for text', async (_what, q) => {
    const { items, total } = await search({ q });
    expect(total).toBeGreaterThanOrEqual(items.length);
    expect((await search({})).total).toBeGreaterThan(800);
  });

  it('takes whatever punctuation for text', async () => {
    const pieces = fc.constantFrom('-', '"', ' ', ' or ', 'fjord', '!', '(', ')', '&', '|', ':*', '<->', "'", '\\', '\u{1e900}', '\u0e01', '\n', '日');
    const anyText = fc.array(pieces, { minLength: 1, maxLength: 200 }).map((parts) => [...parts.join('')].slice(0, 200).join(''));
    await fc.assert(
      fc.asyncProperty(anyText, async (q) => {
        await search({ q });
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  it.each([
    ['NUL', 'fjord\0quilt'],
    ['half a surrogate pair', 'fjord \ud800'],
    ['201 characters', 'q'.repeat(201)],
    ['100 KB of words', 'fjord quilt '.repeat(8_500)],
  ])('refuses %s for text', async (_what, q) => {
    expect(await refusalOf(search({ q }))).toMatchObject({ reason: 'text_invalid', details: { field: 'q' } });
  });

  it('asks nothing of the database for a page beyond a large result', async () => {
    const { total } = await search({});
    expect(await search({ page: Number.MAX_SAFE_INTEGER, limit: 100 })).toEqual({ items: [], total });
  });

  it('counts what was just created, as long as the result is small enough to be gathered', async () => {
    for (const expected of [1, 2, 3]) {
      await seedListings(service, [listingOf({ name: 'Krypton' })]);
      expect((await search({ q: 'krypton' })).total).toBe(expected);
    }
  });
});
