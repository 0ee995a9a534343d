import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import type { Listing, ListingQuery } from '@market/sdk';
import { useCategories, useListings } from '../api/public-queries.js';
import { words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useDebounced } from '../lib/use-debounced.js';
import { useTitle } from '../lib/use-title.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Price } from '../parts/values.js';

const SORTS = {
  relevance: 'Best match',
  newest: 'Newest',
  popular: 'Most bought',
  price_low: 'Cheapest first',
  price_high: 'Dearest first',
};
const PRICING = ['free', 'per_call', 'monthly', 'yearly'] as const;
const DELIVERY = ['api', 'webhook', 'streaming', 'batch', 'file'] as const;
const FILTERS = ['q', 'category', 'pricing_model', 'delivery_type', 'min_price', 'max_price', 'seller'] as const;

export function Catalog() {
  useTitle('Catalog');
  const [get, set] = useFilters();
  const listings = useListings({
    ...(Object.fromEntries(FILTERS.flatMap((name) => (get(name) ? [[name, get(name)]] : []))) as ListingQuery),
    sort: (get('sort') || undefined) as ListingQuery['sort'],
    page: Number(get('page') || 1),
    limit: 24,
  });
  const isFiltered = FILTERS.some((name) => get(name) !== '');
  return (
    <>
      <h1>Catalog</h1>
      <form role="search" className="filters" onSubmit={(event) => event.preventDefault()}>
        <Typed name="q" label="Search" className="grow" placeholder="translate, weather, word count…" />
        <CategoryFilter />
        <Choice name="pricing_model" label="Pricing" options={PRICING.map((name) => [name, words(name)])} />
        <Choice name="delivery_type" label="Delivery" options={DELIVERY.map((name) => [name, words(name)])} />
        <Typed name="min_price" label="From $" className="narrow" inputMode="decimal" />
        <Typed name="max_price" label="To $" className="narrow" inputMode="decimal" />
        <Choice
          name="sort"
          label="Order"
          options={Object.entries(SORTS).slice(1)}
          first={get('q') ? SORTS.relevance : SORTS.newest}
        />
      </form>
      {get('seller') && (
        <p>
          Of <Link href={`/agents/${get('seller')}`}>one agent</Link> alone.{' '}
          <button type="button" className="small" onClick={() => set({ seller: '' })}>
            Of all
          </button>
        </p>
      )}
      <Paged
        query={listings}
        lines={10}
        of={['listing', 'listings']}
        empty={
          <Empty title={isFiltered ? 'Nothing fits these filters' : 'Nobody sells anything yet'}>
            {isFiltered && (
              <button type="button" onClick={() => set(Object.fromEntries(FILTERS.map((name) => [name, ''])))}>
                Clear the filters
              </button>
            )}
          </Empty>
        }
      >
        {(items) => (
          <ul className="cards">
            {items.map((listing) => (
              <Card key={listing.id} listing={listing} />
            ))}
          </ul>
        )}
      </Paged>
    </>
  );
}

/** What speaks for a listing, as far as it is known. */
const proofOf = ({ quality, rating }: Listing): string[] => [
  ...(quality?.live ? ['works now'] : []),
  ...(typeof quality?.success_rate_30d === 'number'
    ? [`${Math.round(quality.success_rate_30d * 100)} % delivered`]
    : []),
  ...(typeof quality?.p50_ms_30d === 'number' ? [`${quality.p50_ms_30d} ms`] : []),
  ...(rating ? [`★ ${rating.average} (${rating.count})`] : []),
];

export const Card = ({ listing }: { listing: Listing }) => (
  <li className="card listing">
    <h2>
      <Link href={`/listings/${listing.slug}`}>{listing.name}</Link>
    </h2>
    <p className="clamp">{listing.description}</p>
    <p className="row between foot">
      <span className="muted clip">{[listing.provider.display_name, ...proofOf(listing)].join(' · ')}</span>
      <strong>
        <Price listing={listing} />
      </strong>
    </p>
  </li>
);

function CategoryFilter() {
  const { data = [] } = useCategories();
  return <Choice name="category" label="Category" options={data.map(({ id, name }) => [id, name])} />;
}

function Choice({
  name,
  label,
  options,
  first = 'All',
}: {
  name: string;
  label: string;
  options: (readonly [string, string])[];
  first?: string | null;
}) {
  const [get, set] = useFilters();
  return (
    <label>
      <span>{label}</span>
      <select value={get(name)} onChange={({ target }) => set({ [name]: target.value })}>
        {first !== null && <option value="">{first}</option>}
        {options.map(([value, shown]) => (
          <option key={value} value={value}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A text field that searches when typing pauses. */
function Typed({
  name,
  label,
  className,
  ...rest
}: {
  name: string;
  label: string;
  className: string;
  placeholder?: string;
  inputMode?: 'decimal';
}) {
  const [get, set] = useFilters();
  const given = get(name);
  const [typed, setTyped] = useState(given);
  const settled = useDebounced(typed, 250);
  useEffect(() => {
    if (settled !== given) set({ [name]: settled });
  }, [settled]);
  useEffect(() => setTyped(given), [given]);
  return (
    <label className={className}>
      <span>{label}</span>
      <input type="search" value={typed} onChange={({ target }) => setTyped(target.value)} {...rest} />
    </label>
  );
}
