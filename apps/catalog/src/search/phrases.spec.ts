import { newId } from '@market/kernel';
import { ListingIndex, type IndexedListing } from './listing-index.js';
import { Phrases } from './phrases.js';
import type { TextQuery } from './text-query.js';

const PHRASE: TextQuery = { kind: 'phrase', words: [{ lexeme: 'deep', place: 0 }, { lexeme: 'fjord', place: 1 }] };

const listingOf = (tsvector: string): IndexedListing => ({ id: newId(), createdAtMs: 0, priceMicros: 0, completedCalls: 0, categoryId: null, pricingModel: 'free', deliveryType: 'api', tsvector, shown: '{}' });

/** In every third the words stand apart. */
const listings = (count: number): IndexedListing[] => Array.from({ length: count }, (_, number) => listingOf(number % 3 === 0 ? `'deep':1 'fjord':3` : `'deep':1,7 'fjord':2,9`));

describe('phrases', () => {
  it('of words that very many texts have are found in bites, while other work goes on', async () => {
    const index = new ListingIndex();
    for (let bite = 0; bite < 24; bite += 1) index.put(listings(1_000));
    const phrases = new Phrases(index);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    const found = () => phrases.resolve(PHRASE, (slots) => index.search({ text: PHRASE, sort: 'newest', offset: 0, limit: 1 }, slots).total);
    expect(await Promise.all([found(), found(), found()])).toEqual([15_984, 15_984, 15_984]);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it('are known from then on, and looked for in newer texts alone', async () => {
    const index = new ListingIndex();
    index.put(listings(900));
    const phrases = new Phrases(index);
    const looked: number[] = [];
    const { withPhrase } = index;
    index.withPhrase = (phrase, candidates) => {
      looked.push(candidates.length);
      return withPhrase.call(index, phrase, candidates);
    };
    const found = () => phrases.resolve(PHRASE, (slots) => slots([...(PHRASE.kind === 'phrase' ? PHRASE.words : [])]).length);
    expect([await found(), await found()]).toEqual([600, 600]);
    index.put(listings(30));
    expect([await found(), await found()]).toEqual([620, 620]);
    // Of those where the words stand apart none is looked at.
    expect(looked).toEqual([600, 20]);
  });
});
