import type { OutputOf, RequestOf } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';
import type { SeededListing } from './seed-listings.js';

type Search = RequestOf<typeof searchListings>;

const compare = <T extends bigint | number | string>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

const SORTS: Record<
  Exclude<NonNullable<Search['sort']>, 'relevance'>,
  (a: SeededListing, b: SeededListing) => number
> = {
  newest: (a, b) => compare(b.createdAt.getTime(), a.createdAt.getTime()) || compare(b.id, a.id),
  popular: (a, b) => compare(b.completedCalls, a.completedCalls) || compare(b.id, a.id),
  reliable: (a, b) => compare(b.reliability, a.reliability) || compare(b.id, a.id),
  price_low: (a, b) => compare(a.priceMicros, b.priceMicros) || compare(a.id, b.id),
  price_high: (a, b) => compare(b.priceMicros, a.priceMicros) || compare(b.id, a.id),
};

/** A reference implementation of search over an array, without a text. */
export function naiveSearch(
  all: SeededListing[],
  search: Search,
): { ids: string[]; total: number; facets: OutputOf<typeof searchListings>['facets'] } {
  const found = all.filter(
    (listing) =>
      listing.status === 'active' &&
      (search.categoryId === undefined || listing.categoryId === search.categoryId) &&
      (search.pricingModel === undefined || listing.pricingModel === search.pricingModel) &&
      (search.deliveryType === undefined || listing.deliveryType === search.deliveryType) &&
      (search.minSuccess === undefined ||
        (listing.pricingModel === 'per_call' && listing.success !== null && listing.success >= search.minSuccess)) &&
      (!search.live || (listing.live && listing.pricingModel === 'per_call')) &&
      (search.minPriceMicros === undefined || listing.priceMicros >= BigInt(search.minPriceMicros)) &&
      (search.maxPriceMicros === undefined || listing.priceMicros <= BigInt(search.maxPriceMicros)),
  );
  const sorted = [...found].sort(
    SORTS[search.sort === undefined || search.sort === 'relevance' ? 'newest' : search.sort],
  );
  const start = (search.page - 1) * search.limit;
  return {
    ids: sorted.slice(start, start + search.limit).map(({ id }) => id),
    total: sorted.length,
    facets: facetsOf(found),
  };
}

function facetsOf(found: SeededListing[]): NonNullable<OutputOf<typeof searchListings>['facets']> {
  const count = (values: (string | null)[]) =>
    [...new Set(values.filter((value) => value !== null))]
      .map((value) => ({ value, listings: values.filter((each) => each === value).length }))
      .sort((a, b) => b.listings - a.listings || compare(a.value, b.value));
  return {
    category: count(found.map(({ categoryId }) => categoryId)),
    pricing_model: count(found.map(({ pricingModel }) => pricingModel)),
    delivery_type: count(found.map(({ deliveryType }) => deliveryType)),
    live: count(found.filter(({ pricingModel }) => pricingModel === 'per_call').map(({ live }) => String(live))),
  };
}
