import type { RequestOf } from '@market/contracts';
import { getListing, listCategories, listingView, searchListings } from '@market/contracts/catalog';
import fc from 'fast-check';
import { startCatalog, type CatalogService } from '../support/catalog-service.js';
import { refusalOf } from '../support/listings.js';
import { naiveSearch, WORDS } from '../support/search-model.js';
import { listingOf, seedListings, type SeededListing } from '../support/seed-listings.js';

type Search = RequestOf<typeof searchListings>;

/** More than the index sorts apart, and more than it reads at a time. */
const LISTINGS = 1_300;

describe('search', () => {
  let service: CatalogService;
  let all: SeededListing[];
  let categoryIds: string[];

  const search = (values: Partial<Search>) => service.search({ page: 1, limit: 20, ...values });
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
        const found = await service.search(asked);
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

  it('shows of a listing what its detail shows, also when it has changed', async () => {
    const whole = listingOf({ name: 'Xylophone "tuned" \\ ☂', tags: ['a', 'b c'], categoryId: categoryIds[1], pricingModel: 'monthly', priceMicros: 1_230_000n });
    const bare = listingOf({ name: 'Xylophone' });
    await seedListings(service, [whole, bare]);
    const shown = async () => (await search({ q: 'xylophone' })).items;
    const detail = async ({ id }: SeededListing) => listingView.parse(await service.ask(getListing, { ref: id }));
    expect(new Set(await shown())).toEqual(new Set([await detail(whole), await detail(bare)]));
    await service.sql(`UPDATE listings SET description = 'Out of\ntune', price_micros = 1, logo_url = 'https://x.example/"', category_id = NULL WHERE id = $1`, [whole.id]);
    expect(await shown()).toContainEqual(await detail(whole));
    await service.sql(`UPDATE listings SET status = 'draft' WHERE id = $1`, [whole.id]);
    expect(await shown()).toEqual([await detail(bare)]);
    // As processes of the version before read it.
    expect(await service.sql('SELECT json FROM shown_listings WHERE listing_id = ANY($1)', [[whole.id, bare.id]])).toEqual([{ json: JSON.stringify(await detail(bare)) }]);
    await service.sql('DELETE FROM listings WHERE id = ANY($1)', [[whole.id, bare.id]]);
    expect(await shown()).toEqual([]);
  });

  it('meets inflected words by their stem, and misspelt ones by their resemblance', async () => {
    const [translator, weather] = [listingOf({ name: 'Translation of contracts' }), listingOf({ name: 'Weather station' })];
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

  it('finds for a misspelt word what the most similar words of the listings find, as pg_trgm compares them', async () => {
    const misspelling = fc.tuple(word, fc.nat({ max: 20 }), fc.constantFrom('drop', 'swap', 'double', 'change')).map(([right, at, how]) => {
      const letters = [...right];
      const index = at % (letters.length - 1);
      if (how === 'drop') letters.splice(index, 1);
      else if (how === 'swap') letters.splice(index, 2, letters[index + 1]!, letters[index]!);
      else letters.splice(index, how === 'change' ? 1 : 0, how === 'change' ? 'w' : letters[index]!);
      return letters.join('');
    });
    await fc.assert(
      fc.asyncProperty(misspelling, fc.option(word), some('newest', 'price_low') as fc.Arbitrary<Search['sort']>, async (misspelt, beside, sort) => {
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
        // The closest are stems, which are shorter than their words here.
        const meant = closest.map(({ word: stem }) => WORDS.find((known) => known.startsWith(stem))!);
        const expected = meant.length === 0 ? { ids: [], total: 0 } : naiveSearch(all, { ...asked, q: meant.map((right) => (beside === null ? right : `${right} ${beside}`)).join(' or ') });
        const found = await service.search(asked);
        expect({ ids: found.items.map(({ id }) => id), total: found.total }).toEqual(expected);
      }),
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
      const shelf = [1, 2, 3, 4, 5].map((minute) => krypton({ createdAt: new Date(Date.UTC(2026, 1, 1, 0, minute)) }));
      for (const [index, listing] of shelf.entries()) {
        await seedListings(service, [listing]);
        expect((await found()).total).toBe(index + 1);
      }
      const [, drafted, suspended, renamed, removed] = shelf;
      const changes: [string, SeededListing][] = [
        [`UPDATE listings SET status = 'draft' WHERE id = $1`, drafted!],
        [`UPDATE listings SET status = 'suspended', suspended_by = 'owner' WHERE id = $1`, suspended!],
        [`UPDATE listings SET name = 'Xenon' WHERE id = $1`, renamed!],
        ['DELETE FROM listings WHERE id = $1', removed!],
      ];
      const left = new Set(shelf.map(({ id }) => id));
      for (const [change, { id }] of changes) {
        await service.sql(change, [id]);
        left.delete(id);
        expect(await found()).toEqual({ ids: [...left].reverse(), total: left.size });
      }
      await service.sql(`UPDATE listings SET status = 'active' WHERE id = $1`, [drafted!.id]);
      expect((await found()).ids).toEqual([drafted!.id, shelf[0]!.id]);
    });

    it('sorts by the newest price and the newest count', async () => {
      const [a, b] = [krypton({ pricingModel: 'monthly', priceMicros: 5n, completedCalls: 1 }), krypton({ pricingModel: 'monthly', priceMicros: 7n, completedCalls: 2 })];
      await seedListings(service, [a, b]);
      expect([(await found({ sort: 'price_low' })).ids, (await found({ sort: 'popular' })).ids]).toEqual([[a.id, b.id], [b.id, a.id]]);
      await service.sql('UPDATE listings SET price_micros = 9 WHERE id = $1', [a.id]);
      await service.sql('UPDATE listing_popularity SET completed_calls = 3 WHERE listing_id = $1', [a.id]);
      expect([(await found({ sort: 'price_low' })).ids, (await found({ sort: 'popular' })).ids]).toEqual([[b.id, a.id], [a.id, b.id]]);
      expect([(await found({ minPriceMicros: '9' })).ids, (await found({ maxPriceMicros: '8' })).ids]).toEqual([[a.id], [b.id]]);
    });

    it('misses no transaction that began before others and ended after them', async () => {
      const slow = krypton();
      const [seller] = await service.sql<{ id: string }>('SELECT id FROM providers LIMIT 1');
      const late = await service.transaction();
      await late.sql(
        `INSERT INTO listings (id, version, provider_id, slug, name, tags, description, pricing_model, price_micros, pricing_currency, preferred_currency, delivery_type, auth_method, formats, example_outputs,
           status, published_at, created_at, updated_at)
         VALUES ($1, 1, $2, 'slow', 'Krypton', '{}', 'Slow to be committed', 'free', 0, 'USD', 'USDC', 'api', 'none', '{json}', '[]', 'active', now(), now(), now())`,
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

    it('follows thousands of changes at once, and goes on after it has built itself anew', async () => {
      const shelf = Array.from({ length: 3_000 }, () => krypton());
      await seedListings(service, shelf);
      expect((await found()).total).toBe(3_000);
      for (let turn = 1; turn <= 5; turn += 1) {
        await service.sql(`UPDATE listings SET name = 'Krypton ' || $1 WHERE name LIKE 'Krypton%'`, [turn]);
        expect((await found({ q: `"krypton ${turn}"` })).total).toBe(3_000);
        expect((await found({ q: `"krypton ${turn - 1}"` })).total).toBe(0);
      }
      const [{ id }] = shelf as [SeededListing];
      await service.sql(`UPDATE listings SET status = 'draft' WHERE id = $1`, [id]);
      // Longer than it takes the index to see what it wastes.
      const until = Date.now() + 2_500;
      while (Date.now() < until) expect((await found()).total).toBe(2_999);
    }, 60_000);
  });
});
