import { newId } from '@market/kernel';
import fc from 'fast-check';
import { ListingIndex, type Found, type IndexedListing, type IndexQuery } from './listing-index.js';
import { Phrases } from './phrases.js';
import type { TextQuery } from './text-query.js';
import type { WordLimits } from './word-index.js';

const WORDS = ['fjord', 'quilt', 'onyx', 'tundra'];
const IDS = Array.from({ length: 40 }, () => newId());
const noPhrases = () => new Uint32Array(0);

/** As PostgreSQL prints a text of these words; their positions start at 1. */
function printed(words: string[]): string {
  const positions = new Map<string, number[]>();
  words.forEach((word, index) => positions.set(word, [...(positions.get(word) ?? []), index + 1]));
  return [...positions].map(([word, at]) => `'${word}':${at.join(',')}`).join(' ');
}

interface Shelved extends IndexedListing {
  words: string[];
}

const anyListing: fc.Arbitrary<Shelved> = fc
  .record({
  id: fc.constantFrom(...IDS),
  createdAtMs: fc.integer({ min: 0, max: 5 }),
  priceMicros: fc.constantFrom(0, 1, 1_000_000, 1_000_000_000_000),
  completedCalls: fc.nat({ max: 3 }),
  categoryId: fc.constantFrom(IDS[0]!, IDS[1]!, null),
  pricingModel: fc.constantFrom('free', 'monthly'),
  deliveryType: fc.constantFrom('api', 'file'),
  words: fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }),
})
  .map((listing) => ({ ...listing, tsvector: printed(listing.words), shown: listing.id }));

const { text: anyText } = fc.letrec<{ text: TextQuery }>((tie) => ({
  text: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...WORDS, 'unheard').map((lexeme) => ({ kind: 'word' as const, lexeme })),
    fc.array(fc.record({ lexeme: fc.constantFrom(...WORDS), gap: fc.integer({ min: 1, max: 2 }) }), { minLength: 2, maxLength: 3 }).map((run) => ({
      kind: 'phrase' as const,
      words: run.map(({ lexeme }, index) => ({ lexeme, place: run.slice(0, index).reduce((sum, { gap }) => sum + gap, 0) })),
    })),
    fc.array(tie('text'), { minLength: 2, maxLength: 3 }).map((parts) => ({ kind: 'and' as const, parts })),
    fc.array(tie('text'), { minLength: 2, maxLength: 3 }).map((parts) => ({ kind: 'or' as const, parts })),
    tie('text').map((part) => ({ kind: 'not' as const, part })),
  ),
}));

const anyQuery: fc.Arbitrary<IndexQuery> = fc.record(
  {
    text: anyText,
    categoryId: fc.constantFrom(IDS[0]!, IDS[1]!, IDS[2]!),
    pricingModel: fc.constantFrom('free', 'monthly'),
    deliveryType: fc.constantFrom('api', 'file'),
    minPriceMicros: fc.constantFrom(0, 1, 2, 1e18),
    maxPriceMicros: fc.constantFrom(0, 1, 999_999, 1_000_000, 1e18),
    sort: fc.constantFrom('newest', 'popular', 'price_low', 'price_high'),
    offset: fc.oneof(fc.nat({ max: 40 }), fc.constant(1e11)),
    limit: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: ['sort', 'offset', 'limit'] },
);

const anyChange = fc.oneof(
  fc.record({ put: fc.uniqueArray(anyListing, { selector: ({ id }) => id, maxLength: 20 }), gone: fc.subarray(IDS, { maxLength: 6 }) }),
  fc.uniqueArray(fc.record({ id: fc.constantFrom(...IDS), completedCalls: fc.nat({ max: 9 }) }), { selector: ({ id }) => id, maxLength: 10 }),
);

function holds(text: TextQuery, words: string[]): boolean {
  if (text.kind === 'word') return words.includes(text.lexeme);
  if (text.kind === 'not') return !holds(text.part, words);
  if (text.kind === 'phrase') return words.some((_, start) => text.words.every(({ lexeme, place }) => words[start + place] === lexeme));
  return text.parts[text.kind === 'and' ? 'every' : 'some']((part) => holds(part, words));
}

function naive(all: Shelved[], { text, categoryId, pricingModel, deliveryType, minPriceMicros = 0, maxPriceMicros = Infinity, sort, offset, limit }: IndexQuery): Found {
  const key = { newest: 'createdAtMs', popular: 'completedCalls', price_low: 'priceMicros', price_high: 'priceMicros' }[sort] as 'createdAtMs';
  const found = all
    .filter((listing) => !text || holds(text, listing.words))
    .filter((listing) => (categoryId ?? listing.categoryId) === listing.categoryId && (pricingModel ?? listing.pricingModel) === listing.pricingModel && (deliveryType ?? listing.deliveryType) === listing.deliveryType)
    .filter(({ priceMicros }) => priceMicros >= minPriceMicros && priceMicros <= maxPriceMicros)
    .sort((a, b) => a[key] - b[key] || (a.id < b.id ? -1 : 1));
  if (sort !== 'price_low') found.reverse();
  return { itemsJson: `[${found.slice(offset, offset + limit).map(({ shown }) => shown).join(',')}]`, total: found.length };
}

describe('the index', () => {
  it('finds what a reading of every listing finds, after any changes', async () => {
    await fc.assert(
      // Words are kept as bits from the second listing on, or never; and so are pairs of them.
      fc.asyncProperty(fc.constantFrom<WordLimits>({ leastDense: 2 }, {}, { mostRare: 0 }, { leastDense: 2, mostRare: 1 }, { mostRare: 4 }), fc.array(anyChange, { minLength: 1, maxLength: 8 }), fc.array(anyQuery, { minLength: 1, maxLength: 10 }), async (limits, changes, queries) => {
        const [index, model] = [new ListingIndex(limits), new Map<string, Shelved>()];
        const phrases = new Phrases(index);
        for (const change of changes) {
          if (Array.isArray(change)) {
            index.setCompletedCalls(change);
            for (const { id, completedCalls } of change) if (model.has(id)) model.set(id, { ...model.get(id)!, completedCalls });
          } else {
            index.put(change.put, change.gone);
            for (const id of change.gone) model.delete(id);
            for (const listing of change.put) model.set(listing.id, listing);
          }
          expect(index.size).toBe(model.size);
          for (const query of queries) expect(await phrases.resolve(query.text, (slots) => index.search(query, slots))).toEqual(naive([...model.values()], query));
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([2, undefined])('pages through thousands from either end, words being bits from %s on', (leastDense) => {
    const all = Array.from({ length: 5_000 }, (_, number): Shelved => ({
      id: newId(number),
      createdAtMs: number % 700,
      priceMicros: (number * 31) % 500,
      completedCalls: number % 3,
      categoryId: null,
      pricingModel: number % 2 ? 'free' : 'monthly',
      deliveryType: 'api',
      words: number % 3 ? ['fjord'] : [],
      tsvector: number % 3 ? printed(['fjord']) : '',
      shown: String(number),
    }));
    const index = new ListingIndex({ leastDense });
    for (let start = 0; start < all.length; start += 1_000) index.put(all.slice(start, start + 1_000));
    for (const sort of ['newest', 'popular', 'price_low', 'price_high'] as const) {
      for (const more of [{}, { pricingModel: 'free' as const }, { text: { kind: 'word' as const, lexeme: 'fjord' } }, { minPriceMicros: 3, maxPriceMicros: 450 }, { maxPriceMicros: 2 }, { minPriceMicros: 4, maxPriceMicros: 3 }, { maxPriceMicros: 450, pricingModel: 'free' as const }]) {
        for (const offset of [0, 1, 600, 1_249, 1_666, 2_499, 2_500, 3_333, 4_990, 5_000]) {
          const query: IndexQuery = { sort, offset, limit: 17, ...more };
          expect(index.search(query, noPhrases)).toEqual(naive(all, query));
        }
      }
    }
  });

  it.each([2, undefined])('finds those that all stand at the far end of an order, words being bits from %s on', (leastDense) => {
    const all = Array.from({ length: 12_000 }, (_, number): Shelved => {
      const words = number < 11_400 ? [] : ['onyx'];
      return { id: newId(number), createdAtMs: 0, priceMicros: number % 12_001, completedCalls: number, categoryId: null, pricingModel: 'free', deliveryType: 'api', words, tsvector: printed(words), shown: String(number) };
    });
    const index = new ListingIndex({ leastDense });
    index.put(all);
    for (const sort of ['price_low', 'price_high', 'popular'] as const) {
      for (const more of [{ text: { kind: 'word' as const, lexeme: 'onyx' } }, { minPriceMicros: 11_390 }]) {
        const query: IndexQuery = { sort, offset: 40, limit: 20, ...more };
        expect(index.search(query, noPhrases)).toEqual(naive(all, query));
      }
    }
  });

  it('replaces words that no listing has by those most like them, except where they are unwanted', () => {
    const index = new ListingIndex();
    const [first] = fc.sample(anyListing, 1) as [Shelved];
    index.put([{ ...first, tsvector: printed(['weather', 'station']) }]);
    const read = (lexeme: string): TextQuery => ({ kind: 'word', lexeme });
    const either = (lexeme: string): TextQuery => ({ kind: 'or', parts: [read(lexeme)] });
    expect(index.corrected(read('weather'))).toBeUndefined();
    expect(index.corrected({ kind: 'not', part: read('wether') })).toBeUndefined();
    expect(index.corrected({ kind: 'and', parts: [read('wether'), read('station')] })).toEqual({ kind: 'and', parts: [either('weather'), read('station')] });
    expect(index.corrected({ kind: 'phrase', words: [{ lexeme: 'weather', place: 0 }, { lexeme: 'statin', place: 1 }] })).toEqual({ kind: 'and', parts: [read('weather'), either('station')] });
    index.put([], [first.id]);
    expect(index.corrected(read('wether'))).toBeUndefined();
  });

  it('says when it holds too much of what is gone', () => {
    const index = new ListingIndex();
    const listings = fc.sample(anyListing, 100).map((listing) => ({ ...listing, id: newId() }));
    for (let turn = 0; turn < 120; turn += 1) {
      expect(index.isWasteful).toBe(turn > 101);
      index.put(listings);
    }
    expect(index.size).toBe(100);
  });
});
