import type { RequestOf } from '@market/contracts';
import { getListing, listCategories, listingsOf, listingView, searchListings } from '@market/contracts/catalog';
import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import fc from 'fast-check';
import { catalogDatabase } from '../../src/database.js';
import type { FoundListings } from '../../src/search/listing-search.js';
import { BOUNDS, PostgresListingSearch, type SearchBounds } from '../../src/search/postgres-listing-search.js';
import { startCatalog, type CatalogService } from '../support/catalog-service.js';
import { naiveSearch, WORDS } from '../support/search-model.js';
import { listingOf, seedListings, type SeededListing } from '../support/seed-listings.js';

type Search = RequestOf<typeof searchListings>;

const LISTINGS = 1_300;

describe('search', () => {
  let service: CatalogService;
  let all: SeededListing[];
  let categoryIds: string[];

  const search = (values: Partial<Search>) => service.search({ page: 1, limit: 20, ...values });
  const some = <T>(...items: T[]) => fc.constantFrom(...items);
  const word = fc.constantFrom(...WORDS);

  /** Creates another search over the same listings, with other bounds for its strategies. */
  async function searchWith(bounds: Partial<SearchBounds>) {
    const database = await Database.open(catalogDatabase, { url: service.databaseUrl, poolSize: 2 });
    const jobs = new Jobs();
    const postgres = new PostgresListingSearch(database, jobs, {
      ...BOUNDS,
      counted: 50,
      sample: all.length,
      followed: all.length * 100,
      ...bounds,
    });
    postgres.onModuleInit();
    await jobs.prepare();
    const close = async (): Promise<void> => {
      await jobs.stop();
      await postgres.onModuleDestroy();
      await database.close();
    };
    return { search: postgres, close };
  }

  beforeAll(async () => {
    service = await startCatalog();
    categoryIds = (await service.ask(listCategories, {})).categories.map(({ id }) => id);
    // The skewed choice makes some words common and some rare. A small range of times, prices and counts produces ties.
    const skewed = fc.nat({ max: WORDS.length ** 2 - 1 }).map((square) => WORDS[Math.floor(Math.sqrt(square))]!);
    const text = (min: number, max: number) =>
      fc.array(skewed, { minLength: min, maxLength: max }).map((words) => words.join(' '));
    const listing = fc.record({
      name: text(1, 3),
      tags: fc.array(skewed, { maxLength: 2 }),
      description: text(2, 6),
      docs: fc.option(text(1, 4)),
      categoryId: fc.option(some(...categoryIds.slice(0, 4))),
      pricing: some(
        ['free', 0n],
        ['monthly', 1_000_000n],
        ['monthly', 5_000_000n],
        ['yearly', 5_000_000n],
        ['usage_tiered', 1n],
        ['per_call', 2_000_000n],
      ) as fc.Arbitrary<['free' | 'monthly' | 'yearly' | 'usage_tiered' | 'per_call', bigint]>,
      deliveryType: some('api', 'webhook', 'file') as fc.Arbitrary<SeededListing['deliveryType']>,
      status: some('active', 'active', 'active', 'active', 'draft', 'suspended') as fc.Arbitrary<
        SeededListing['status']
      >,
      createdAt: fc.nat({ max: 300 }).map((minutes) => new Date(Date.UTC(2026, 0, 1) + minutes * 60_000)),
      completedCalls: fc.nat({ max: 20 }),
      live: fc.boolean(),
      reliability: fc.nat({ max: 20 }),
    });
    all = fc
      .sample(listing, { numRuns: LISTINGS, seed: 20_261_121 })
      .map(({ pricing: [pricingModel, priceMicros], ...values }) =>
        listingOf({
          ...values,
          pricingModel,
          priceMicros,
          // Only per_call listings have measured reliability.
          ...(pricingModel !== 'per_call' && { reliability: 0 }),
        }),
      );
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
        live: fc.boolean(),
        sort: some('newest', 'popular', 'reliable', 'price_low', 'price_high') as fc.Arbitrary<Search['sort']>,
        page: fc.oneof(
          { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }) },
          { weight: 1, arbitrary: fc.integer({ min: 40, max: 2_000_000_000 }) },
        ),
        limit: fc.integer({ min: 1, max: 100 }),
      },
      { requiredKeys: ['page', 'limit'] },
    );
    await fc.assert(
      fc.asyncProperty(anySearch, async ({ categoryId, ...values }) => {
        const asked: Search = { ...values, ...(categoryId !== undefined && { categoryId: categoryIds[categoryId]! }) };
        const expected = naiveSearch(all, asked);
        const found = await service.search(asked);
        expect({ ids: found.items.map(({ id }) => id), total: found.total }).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  }, 120_000);

  describe('where more listings match than are counted', () => {
    const wanted = ({ q, sort = 'newest', limit, page, ...filters }: Search) => ({
      ...filters,
      text: q,
      sort,
      offset: (page - 1) * limit,
      limit,
    });
    const idsIn = ({ itemsJson }: FoundListings) => listingsOf({ itemsJson }).map(({ id }) => id);
    const asked = some<Partial<Search>>(
      ...['fjord', 'quilt or onyx', '-fjord', 'tundra', 'fjord maple'].map((q) => ({ q })),
      { live: true },
      { live: true, q: '-fjord' },
      { pricingModel: 'monthly' },
      { pricingModel: 'per_call', deliveryType: 'api' },
      { minPriceMicros: '1', maxPriceMicros: '2000000' },
      { minPriceMicros: '3000000', q: '-fjord' },
    );
    const cases = fc.record({
      asked,
      sort: some('newest', 'popular', 'reliable', 'price_low', 'price_high') as fc.Arbitrary<
        NonNullable<Search['sort']>
      >,
      limit: fc.integer({ min: 1, max: 60 }),
      page: fc.integer({ min: 1, max: 12 }),
    });

    it.each<[road: string, bounds: Partial<SearchBounds>]>([
      ['following an order', { sorted: 0 }],
      ['sorting all', { followed: 0, landmarks: 1 }],
      ['following an order for as long as it pays', { followed: 600 }],
    ])('finds every page of them by %s, and says that their total is an estimate', async (_road, bounds) => {
      const { search: postgres, close } = await searchWith(bounds);
      await fc.assert(
        fc.asyncProperty(cases, async ({ asked: what, ...page }) => {
          const search = { ...what, ...page };
          const expected = naiveSearch(all, search);
          const found = await postgres.find(wanted(search));
          expect(idsIn(found)).toEqual(expected.ids);
          if (expected.total <= 50) expect(found).toMatchObject({ total: expected.total, totalIsEstimate: false });
          // The sample contains all listings, so the estimate is exact except after a full last page.
          else
            expect([found.totalIsEstimate, found.total - expected.total]).toEqual([
              true,
              expected.ids.length === page.limit && page.page * page.limit === expected.total ? 1 : 0,
            ]);
        }),
        { numRuns: 150 },
      );
      await close();
    });

    it.each(['newest', 'popular', 'reliable', 'price_low'] as const)(
      'shows each of them once to who reads page after page, by %s',
      async (sort) => {
        const { search: postgres, close } = await searchWith({ followed: 60, sorted: 60, landmarks: 300 });
        const seen: string[] = [];
        for (let page = 1; ; page += 1) {
          const ids = idsIn(await postgres.find(wanted({ q: 'fjord or quilt', sort, limit: 30, page })));
          if (ids.length === 0) break;
          seen.push(...ids);
        }
        expect(seen).toEqual(naiveSearch(all, { q: 'fjord or quilt', sort, page: 1, limit: all.length }).ids);
        await close();
      },
    );

    it.each(['newest', 'popular', 'reliable', 'price_low'] as const)(
      'begins a page far down near its place, by %s',
      async (sort) => {
        const everything = naiveSearch(all, { q: 'fjord or quilt', sort, page: 1, limit: all.length }).ids;
        for (const page of [4, 7, 10, 13]) {
          const { search: postgres, close } = await searchWith({ followed: 60, sorted: 60, landmarks: 300 });
          const ids = idsIn(await postgres.find(wanted({ q: 'fjord or quilt', sort, limit: 20, page })));
          const start = everything.indexOf(ids[0]!);
          expect(ids).toEqual(everything.slice(start, start + 20));
          // The tolerance is more than five standard deviations of the estimated position.
          expect(Math.abs(start - (page - 1) * 20)).toBeLessThan(everything.length / 3);
          await close();
        }
      },
    );

    describe('at the end of an order', () => {
      let last: SeededListing[];
      const pagesOf = async (sort: NonNullable<Search['sort']>): Promise<string[][]> => {
        const { search: postgres, close } = await searchWith({ followed: 0, sorted: 0, landmarks: 300 });
        const pages: string[][] = [];
        do pages.push(idsIn(await postgres.find(wanted({ q: 'walrus', sort, limit: 8, page: pages.length + 1 }))));
        while (pages.at(-1)!.length > 0);
        await close();
        return pages.slice(0, -1);
      };
      const inOrder = (sort: Search['sort']) => naiveSearch(last, { sort, page: 1, limit: last.length }).ids;

      // Their ids are the greatest ones, so that they are the first of all without a reliability.
      beforeAll(async () => {
        last = Array.from({ length: 200 }, (_, index) =>
          listingOf({
            name: 'walrus',
            createdAt: new Date(Date.UTC(2020, 0, 1 + index)),
            ...(index % 40 === 0 && { pricingModel: 'per_call', live: true, reliability: index / 10 + 1 }),
          }),
        );
        await seedListings(service, last);
      });
      afterAll(() => service.sql('DELETE FROM listings WHERE id = ANY($1)', [last.map(({ id }) => id)]));

      it.each(['newest', 'reliable', 'price_high'] as const)('shows each of them once, by %s', async (sort) => {
        expect((await pagesOf(sort)).flat()).toEqual(inOrder(sort));
      });

      it('begins with sampled ones and shows all that follow, by popular', async () => {
        const pages = await pagesOf('popular');
        const [first, ...rest] = pages.map((page) => page.map((id) => inOrder('popular').indexOf(id)));
        expect(first).toHaveLength(8);
        expect(first).toEqual([...new Set(first)].sort((a, b) => a - b));
        expect(rest.flat()).toEqual(last.map((_, place) => place).slice(first!.at(-1)! + 1));
      });
    });
  });

  it('shows every active listing exactly once across its pages', async () => {
    const active = all.filter(({ status }) => status === 'active').map(({ id }) => id);
    for (const sort of ['newest', 'popular', 'reliable', 'price_low', 'price_high'] as const) {
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

  it('shows of a listing what its detail shows, also when it has changed', async () => {
    const whole = listingOf({
      name: 'Xylophone "tuned" \\ ☂',
      tags: ['a', 'b c'],
      categoryId: categoryIds[1],
      pricingModel: 'monthly',
      priceMicros: 1_230_000n,
    });
    const bare = listingOf({ name: 'Xylophone' });
    await seedListings(service, [whole, bare]);
    const shown = async () => (await search({ q: 'xylophone' })).items;
    const detail = async ({ id }: SeededListing) => listingView.parse(await service.ask(getListing, { ref: id }));
    expect(new Set(await shown())).toEqual(new Set([await detail(whole), await detail(bare)]));
    await service.sql(
      `UPDATE listings
       SET description = 'Out of\ntune', price_micros = 1, logo_url = 'https://x.example/"', category_id = NULL
       WHERE id = $1`,
      [whole.id],
    );
    expect(await shown()).toContainEqual(await detail(whole));
    await service.sql(`UPDATE listings SET status = 'draft' WHERE id = $1`, [whole.id]);
    expect(await shown()).toEqual([await detail(bare)]);
    await service.sql('DELETE FROM listings WHERE id = ANY($1)', [[whole.id, bare.id]]);
    expect(await shown()).toEqual([]);
  });

  it('meets inflected words by their stem, and misspelt ones by their resemblance', async () => {
    const [translator, weather] = [
      listingOf({ name: 'Translation of contracts' }),
      listingOf({ name: 'Weather station' }),
    ];
    await seedListings(service, [translator, weather]);
    const idsFor = async (q: string) => (await search({ q })).items.map(({ id }) => id);
    expect(await idsFor('translations')).toEqual([translator.id]);
    expect(await idsFor('tranlsation')).toEqual([translator.id]);
    expect(await idsFor('wether')).toEqual([weather.id]);
    expect(await idsFor('wether station')).toEqual([weather.id]);
    expect(await idsFor('the')).toEqual([]);
    await service.sql('DELETE FROM listings WHERE id = ANY($1)', [[translator.id, weather.id]]);
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
    const pieces = fc.constantFrom(
      '-',
      '"',
      ' ',
      ' or ',
      'fjord',
      '!',
      '(',
      ')',
      '&',
      '|',
      ':*',
      '<->',
      "'",
      '\\',
      '\u{1e900}',
      '\u0e01',
      '\n',
      '日',
    );
    const anyText = fc
      .array(pieces, { minLength: 1, maxLength: 200 })
      .map((parts) => [...parts.join('')].slice(0, 200).join(''));
    await fc.assert(
      fc.asyncProperty(anyText, async (q) => {
        await search({ q });
      }),
      { numRuns: 500 },
    );
  }, 60_000);

  it('finds for a misspelt word what the most similar words of the listings find, as pg_trgm compares them', async () => {
    const misspelling = fc
      .tuple(word, fc.nat({ max: 20 }), fc.constantFrom('drop', 'swap', 'double', 'change'))
      .map(([right, at, how]) => {
        const letters = [...right];
        const index = at % (letters.length - 1);
        if (how === 'drop') letters.splice(index, 1);
        else if (how === 'swap') letters.splice(index, 2, letters[index + 1]!, letters[index]!);
        else letters.splice(index, how === 'change' ? 1 : 0, how === 'change' ? 'w' : letters[index]!);
        return letters.join('');
      });
    await fc.assert(
      fc.asyncProperty(
        misspelling,
        fc.option(word),
        some('newest', 'price_low') as fc.Arbitrary<Search['sort']>,
        async (misspelt, beside, sort) => {
          const asked: Search = { q: beside === null ? misspelt : `${misspelt} ${beside}`, sort, page: 1, limit: 100 };
          const closest = await service.sql<{ word: string }>(
            `WITH asked AS (SELECT trim(plainto_tsquery('pg_catalog.english', $1)::text, chr(39)) AS word),
             words AS (SELECT DISTINCT lexeme AS word FROM listings, unnest(search) WHERE status = 'active'),
             candidates AS (SELECT words.word, similarity(words.word, asked.word) AS similarity FROM words, asked
               WHERE words.word ~ '[[:alpha:]]{3}' AND asked.word ~ '[[:alpha:]]{3}' AND asked.word NOT IN (SELECT word FROM words))
           SELECT word FROM asked WHERE word IN (SELECT word FROM words)
           UNION SELECT word FROM candidates WHERE similarity >= 0.3 AND similarity = (SELECT max(similarity) FROM candidates)`,
            [misspelt],
          );
          // The closest words are stems, which are prefixes of these words.
          const meant = closest.map(({ word: stem }) => WORDS.find((known) => known.startsWith(stem))!);
          const expected =
            meant.length === 0
              ? { ids: [], total: 0 }
              : naiveSearch(all, {
                  ...asked,
                  q: meant.map((right) => (beside === null ? right : `${right} ${beside}`)).join(' or '),
                });
          const found = await service.search(asked);
          expect({ ids: found.items.map(({ id }) => id), total: found.total }).toEqual(expected);
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);

  it('finds an empty page beyond the end', async () => {
    const { total } = await search({});
    expect(await search({ page: Number.MAX_SAFE_INTEGER, limit: 100 })).toEqual({ items: [], total });
  });

  describe('while listings change', () => {
    const q = 'krypton';
    const found = async (more: Partial<Search> = {}) => {
      const { items, total } = await search({ q, limit: 100, ...more });
      return { ids: items.map(({ id }) => id), total };
    };
    const krypton = (values: Partial<SeededListing> = {}) => listingOf({ name: 'Krypton', ...values });
    afterEach(() => service.sql(`UPDATE listings SET name = 'Argon' WHERE name ILIKE '%krypton%'`));

    it('finds and counts at once what was created, and no more what was withdrawn, drafted, renamed or removed', async () => {
      const created = [1, 2, 3, 4, 5].map((minute) =>
        krypton({ createdAt: new Date(Date.UTC(2026, 1, 1, 0, minute)) }),
      );
      for (const [index, listing] of created.entries()) {
        await seedListings(service, [listing]);
        expect((await found()).total).toBe(index + 1);
      }
      const [, drafted, suspended, renamed, removed] = created;
      const changes: [string, SeededListing][] = [
        [`UPDATE listings SET status = 'draft' WHERE id = $1`, drafted!],
        [`UPDATE listings SET status = 'suspended', suspended_by = 'owner' WHERE id = $1`, suspended!],
        [`UPDATE listings SET name = 'Xenon' WHERE id = $1`, renamed!],
        ['DELETE FROM listings WHERE id = $1', removed!],
      ];
      const left = new Set(created.map(({ id }) => id));
      for (const [change, { id }] of changes) {
        await service.sql(change, [id]);
        left.delete(id);
        expect(await found()).toEqual({ ids: [...left].reverse(), total: left.size });
      }
      await service.sql(`UPDATE listings SET status = 'active' WHERE id = $1`, [drafted!.id]);
      expect((await found()).ids).toEqual([drafted!.id, created[0]!.id]);
    });

    it('sorts by the newest price and the newest count', async () => {
      const [a, b] = [
        krypton({ pricingModel: 'monthly', priceMicros: 5n, completedCalls: 1 }),
        krypton({ pricingModel: 'monthly', priceMicros: 7n, completedCalls: 2 }),
      ];
      await seedListings(service, [a, b]);
      expect([(await found({ sort: 'price_low' })).ids, (await found({ sort: 'popular' })).ids]).toEqual([
        [a.id, b.id],
        [b.id, a.id],
      ]);
      await service.sql('UPDATE listings SET price_micros = 9 WHERE id = $1', [a.id]);
      await service.sql('UPDATE listing_popularity SET completed_calls = 3 WHERE listing_id = $1', [a.id]);
      expect([(await found({ sort: 'price_low' })).ids, (await found({ sort: 'popular' })).ids]).toEqual([
        [b.id, a.id],
        [a.id, b.id],
      ]);
      expect([(await found({ minPriceMicros: '9' })).ids, (await found({ maxPriceMicros: '8' })).ids]).toEqual([
        [a.id],
        [b.id],
      ]);
    });

    it('misses no transaction that began before others and ended after them', async () => {
      const slow = krypton();
      const [seller] = await service.sql<{ id: string }>('SELECT id FROM providers LIMIT 1');
      const late = await service.transaction();
      await late.sql(
        `INSERT INTO listings (id, version, provider_id, slug, name, tags, description,
           pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type, auth_method,
           formats, example_outputs, status, published_at, created_at, updated_at)
         VALUES ($1, 1, $2, 'slow', 'Krypton', '{}', 'Slow to be committed',
           'free', 0, 'USD', 'USDC', 'api', 'none',
           '{json}', '[]', 'active', now(), now(), now())`,
        [slow.id, seller!.id],
      );
      for (const expected of [1, 2, 3]) {
        await seedListings(service, [krypton()]);
        expect((await found()).total).toBe(expected);
      }
      await late.commit();
      expect((await found()).total).toBe(4);
      expect((await found()).ids).toContain(slow.id);
    });

    it('counts every active listing once, however many sum them up', async () => {
      const expected = (await search({})).total + 20;
      const { search: postgres, close } = await searchWith({});
      await Promise.all(
        Array.from({ length: 20 }, async (_, turn) =>
          turn % 2 === 0 ? seedListings(service, [krypton(), krypton()]) : postgres.sumUp(),
        ),
      );
      await postgres.sumUp();
      expect((await search({})).total).toBe(expected);
      expect(await service.sql('SELECT change::int FROM active_listings')).toEqual([{ change: expected }]);
      await close();
    });
  });
});
