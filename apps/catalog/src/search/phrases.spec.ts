import { newId } from '@market/kernel';
import { ListingIndex, type IndexedListing } from './listing-index.js';
import { Phrases } from './phrases.js';
import type { TextQuery } from './text-query.js';

const phraseOf = (place: number): TextQuery => ({ kind: 'phrase', words: [{ lexeme: 'deep', place: 0 }, { lexeme: 'fjord', place }] });

const listingOf = (tsvector: string): IndexedListing => ({ id: newId(), createdAtMs: 0, priceMicros: 0, completedCalls: 0, categoryId: null, pricingModel: 'free', deliveryType: 'api', tsvector, shown: '{}' });

/** In every third the words stand one place further apart. */
const listings = (count: number, place: number): IndexedListing[] =>
  Array.from({ length: count }, (_, number) => listingOf(number % 3 === 0 ? `'deep':1 'fjord':${place + 2}` : `'deep':1,7 'fjord':${place + 1},12`));

describe('phrases', () => {
  it('of words that very many texts have are found in bites, while other work goes on', async () => {
    const index = new ListingIndex();
    const phrase = phraseOf(2);
    for (let bite = 0; bite < 24; bite += 1) index.put(listings(1_000, 2));
    const phrases = new Phrases(index);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    const found = () => phrases.resolve(phrase, (slots) => index.search({ text: phrase, sort: 'newest', offset: 0, limit: 1 }, slots).total);
    expect(await Promise.all([found(), found(), found()])).toEqual([15_984, 15_984, 15_984]);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it.each([
    { mostRare: Infinity, kept: 'known from then on, and looked for in newer texts alone', looks: [600, 20] },
    { mostRare: 255, kept: 'not looked for where their words often stand side by side', looks: [] },
  ])('are $kept', async ({ mostRare, looks }) => {
    const index = new ListingIndex({ mostRare });
    const phrase = phraseOf(1);
    index.put(listings(900, 1));
    const phrases = new Phrases(index);
    const looked: number[] = [];
    const { withPhrase } = index;
    index.withPhrase = (words, candidates) => {
      looked.push(candidates.length);
      return withPhrase.call(index, words, candidates);
    };
    const found = () => phrases.resolve(phrase, (slots) => index.search({ text: phrase, sort: 'newest', offset: 0, limit: 1 }, slots).total);
    expect([await found(), await found()]).toEqual([600, 600]);
    index.put(listings(30, 1));
    expect([await found(), await found()]).toEqual([620, 620]);
    // Of those where the words stand apart none is looked at.
    expect(looked).toEqual(looks);
  });
});
