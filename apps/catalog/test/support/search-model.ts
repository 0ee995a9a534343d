import type { RequestOf } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';
import type { SeededListing } from './seed-listings.js';

type Search = RequestOf<typeof searchListings>;

/** Words with distinct English stems that are not similar to each other. */
export const WORDS = [
  'fjord',
  'quilt',
  'onyx',
  'tundra',
  'maple',
  'zebra',
  'copper',
  'velvet',
  'prism',
  'gazebo',
  'nectar',
  'bishop',
];

const wordsOf = ({ name, tags, description, docs }: SeededListing): string[] =>
  [name, ...tags, description, docs ?? ''].join(' ').split(/\s+/).filter(Boolean);

/**
 * Evaluates a search text: all words must occur, "phrases" match in sequence, `or` separates alternatives, and `-`
 * excludes.
 */
function matches(text: string, listing: SeededListing): boolean {
  const words = wordsOf(listing);
  const holds = (term: string): boolean => {
    if (term.startsWith('-')) return !holds(term.slice(1));
    const phrase = term.replaceAll('"', '').split(' ');
    return words.some((_word, start) => phrase.every((word, index) => words[start + index] === word));
  };
  return text.split(' or ').some((alternative) => (alternative.match(/-?"[^"]*"|\S+/g) ?? []).every(holds));
}

const compare = <T extends bigint | number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const SORTS: Record<NonNullable<Search['sort']>, (a: SeededListing, b: SeededListing) => number> = {
  newest: (a, b) => compare(b.createdAt.getTime(), a.createdAt.getTime()) || compare(b.id, a.id),
  popular: (a, b) => compare(b.completedCalls, a.completedCalls) || compare(b.id, a.id),
  reliable: (a, b) => compare(b.reliability, a.reliability) || compare(b.id, a.id),
  price_low: (a, b) => compare(a.priceMicros, b.priceMicros) || compare(a.id, b.id),
  price_high: (a, b) => compare(b.priceMicros, a.priceMicros) || compare(b.id, a.id),
};

/** A reference implementation of search over an array, for texts without spelling errors. */
export function naiveSearch(all: SeededListing[], search: Search): { ids: string[]; total: number } {
  const found = all.filter(
    (listing) =>
      listing.status === 'active' &&
      (search.q === undefined || matches(search.q, listing)) &&
      (search.categoryId === undefined || listing.categoryId === search.categoryId) &&
      (search.pricingModel === undefined || listing.pricingModel === search.pricingModel) &&
      (search.deliveryType === undefined || listing.deliveryType === search.deliveryType) &&
      (!search.live || (listing.live && listing.pricingModel === 'per_call')) &&
      (search.minPriceMicros === undefined || listing.priceMicros >= BigInt(search.minPriceMicros)) &&
      (search.maxPriceMicros === undefined || listing.priceMicros <= BigInt(search.maxPriceMicros)),
  );
  const sorted = [...found].sort(SORTS[search.sort ?? 'newest']);
  const start = (search.page - 1) * search.limit;
  return { ids: sorted.slice(start, start + search.limit).map(({ id }) => id), total: sorted.length };
}
