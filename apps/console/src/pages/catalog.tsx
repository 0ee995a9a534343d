import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import type { Listing, ListingQuery } from '@market/sdk';
import { useCategories, useListings } from '../api/public-queries.js';
import { count, milliseconds, percent, words } from '../lib/format.js';
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
  reliable: 'Most reliable',
  price_low: 'Cheapest first',
  price_high: 'Dearest first',
};
const PRICING = ['free', 'per_call', 'monthly', 'yearly'] as const;
const DELIVERY = ['api', 'webhook', 'streaming', 'batch', 'file'] as const;
const SUCCESS = { 0.9: '90 % or more', 0.95: '95 % or more', 0.99: '99 % or more' };
const FILTERS = [
  'q',
  'category',
  'pricing_model',
  'delivery_type',
  'min_price',
  'max_price',
  'min_success',
  'live',
  'seller',
] as const;

export function Catalog() {
  useTitle('Catalog');
  const [get, set] = useFilters();
  const [isOpen, setIsOpen] = useState(false);
  const listings = useListings({
    include: 'facets',
    ...(Object.fromEntries(FILTERS.flatMap((name) => (get(name) ? [[name, get(name)]] : []))) as ListingQuery),
    sort: (get('sort') || undefined) as ListingQuery['sort'],
    page: Number(get('page') || 1),
    limit: 24,
  });
  const isFiltered = FILTERS.some((name) => get(name) !== '');
  const facets = listings.data?.facets ?? undefined;
  return (
    <>
      <h1>Catalog</h1>
      <form
        role="search"
        className={isOpen ? 'filters' : 'filters folded-filters'}
        onSubmit={(event) => event.preventDefault()}
      >
        <Typed name="q" label="Search" className="grow" placeholder="translate, weather, word count…" />
        <Choice
          name="sort"
          label="Order"
          options={Object.entries(SORTS).slice(1)}
          first={get('q') ? SORTS.relevance : SORTS.newest}
        />
        <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          Filters
        </button>
        <CategoryFilter facets={facets} />
        <Choice
          name="pricing_model"
          label="Pricing"
          options={PRICING.map((name) => [name, words(name)])}
          facet={facets?.pricing_model}
        />
        <Choice
          name="delivery_type"
          label="Delivery"
          options={DELIVERY.map((name) => [name, words(name)])}
          facet={facets?.delivery_type}
        />
        <Typed name="min_price" label="From $" className="narrow" inputMode="decimal" />
        <Typed name="max_price" label="To $" className="narrow" inputMode="decimal" />
        <Choice name="min_success" label="Success" options={Object.entries(SUCCESS)} />
        <Choice name="live" label="State" options={[['true', 'works now']]} facet={facets?.live} />
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

/** A listing as a buyer compares it: what it costs, and how its calls go. */
export const Card = ({ listing }: { listing: Listing }) => {
  const { slug, name, description, provider, category, quality, rating } = listing;
  return (
    <li className="card listing">
      <p className="row between one-line small muted">
        <span className="clip">{[category?.name, provider.display_name].filter(Boolean).join(' · ')}</span>
        {quality?.live && <span className="badge good">works now</span>}
      </p>
      <h2>
        <Link href={`/listings/${slug}`}>{name}</Link>
      </h2>
      <p className="clamp">{description}</p>
      <dl className="proof">
        <div>
          <dt>Price</dt>
          <dd>
            <Price listing={listing} />
          </dd>
        </div>
        <div>
          <dt>Success</dt>
          <dd>{typeof quality?.success_rate_30d === 'number' ? percent(quality.success_rate_30d) : '–'}</dd>
        </div>
        <div>
          <dt>Answers in</dt>
          <dd>{typeof quality?.p50_ms_30d === 'number' ? milliseconds(quality.p50_ms_30d) : '–'}</dd>
        </div>
        <div>
          <dt>Rating</dt>
          <dd>{rating ? `★ ${rating.average} (${count(rating.count)})` : '–'}</dd>
        </div>
      </dl>
    </li>
  );
};

type Facets = NonNullable<NonNullable<ReturnType<typeof useListings>['data']>['facets']>;

function CategoryFilter({ facets }: { facets?: Facets }) {
  const { data = [] } = useCategories();
  return (
    <Choice
      name="category"
      label="Category"
      options={data.map(({ id, name }) => [id, name])}
      facet={facets?.category}
    />
  );
}

function Choice({
  name,
  label,
  options,
  first = 'All',
  facet,
}: {
  name: string;
  label: string;
  options: (readonly [string, string])[];
  first?: string | null;
  /** How many of what is found have each value. */
  facet?: { value: string; listings: number }[];
}) {
  const [get, set] = useFilters();
  // What is found has only the value that was chosen, so the others cannot be counted.
  const countOf = (value: string): string =>
    facet && !get(name) ? ` (${count(facet.find((each) => each.value === value)?.listings ?? 0)})` : '';
  return (
    <label>
      <span>{label}</span>
      <select value={get(name)} onChange={({ target }) => set({ [name]: target.value })}>
        {first !== null && <option value="">{first}</option>}
        {options.map(([value, shown]) => (
          <option key={value} value={value}>
            {shown}
            {countOf(value)}
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
