import type { Statement } from '@market/persistence';
import { VIEW_JOINS, VIEW_JSON } from '../listings/listing-views.js';
import type { WantedListings } from './listing-search.js';

export interface Query extends WantedListings {
  /** The corrected query for a misspelt `text`, as PostgreSQL prints it. */
  tsquery?: string;
}

/** A listing's position in an order: its sort key, as text, and its id. */
export interface PageEnd {
  key: string;
  id: string;
}

/** The ids of a page's listings, in order. */
export interface Page {
  ids: string[];
  /** The sort key of the last listing; null if the page is empty. */
  key: string | null;
}

/** A statement and its parameters. */
export type Bound = [Statement, unknown[]];
type Bind = (value: unknown, type: string) => string;

interface Order {
  column: string;
  type: 'timestamptz' | 'bigint';
  isAscending: boolean;
}

const ORDERS: Record<WantedListings['sort'], Order> = {
  newest: { column: 'l.created_at', type: 'timestamptz', isAscending: false },
  popular: { column: 'p.completed_calls', type: 'bigint', isAscending: false },
  reliable: { column: 'p.reliability', type: 'bigint', isAscending: false },
  price_low: { column: 'l.price_micros', type: 'bigint', isAscending: true },
  price_high: { column: 'l.price_micros', type: 'bigint', isAscending: false },
};

/** Whether the sort key of the order is in `listing_popularity`. */
export const isCounted = (sort: WantedListings['sort']): boolean => sort === 'popular' || sort === 'reliable';
const isByPrice = (sort: WantedListings['sort']): boolean => sort === 'price_low' || sort === 'price_high';

/** The values of all filters, in a fixed order; a filter that is not given is undefined. */
export const filterValues = ({
  text,
  tsquery,
  categoryId,
  pricingModel,
  deliveryType,
  minPriceMicros,
  maxPriceMicros,
  live,
}: Query): unknown[] => [text, tsquery, categoryId, pricingModel, deliveryType, minPriceMicros, maxPriceMicros, live];

export const isFiltered = (query: Query): boolean => filterValues(query).some((given) => given !== undefined);

export const hasText = ({ text, tsquery }: Query): boolean => text !== undefined || tsquery !== undefined;

/** Counts the matching listings, up to `most`. */
export const matchesOf = (query: Query, most: number): Bound =>
  planned(
    (bind) =>
      `SELECT count(*)::int AS matches FROM (
         SELECT FROM listings l WHERE ${conditionsOf(query, bind).join(' AND ')} LIMIT ${bind(most, 'bigint')}) found`,
  );

/** Counts the matching listings, up to `most`. Returns their page if at most `sortable` match. */
export function fewMatches(query: Query, { most, sortable }: { most: number; sortable: number }): Bound {
  return planned((bind) => {
    const page = `SELECT id, key FROM ${keyed(query, 'found')} keyed
      WHERE (SELECT matches FROM counted) <= ${bind(sortable, 'bigint')}
      ORDER BY ${inOrder(query)} LIMIT ${bind(query.limit, 'bigint')} OFFSET ${bind(query.offset, 'bigint')}`;
    return `WITH ${foundOf(query, most, bind)}, counted AS (SELECT count(*)::int AS matches FROM found)
      SELECT (SELECT matches FROM counted), ${PAGE} FROM (${page}) page`;
  });
}

export interface PageRange {
  /** The page starts after this position; if absent, at the start of the order. */
  after?: PageEnd | undefined;
  /** The number of matches to skip from there. */
  offset: number;
  /** The maximum number of listings to scan, matching or not. */
  most: number;
  /** Scans from the end of the order. */
  isBackward?: boolean;
}

/** Scans the index of the sort order until the page is full. */
export function follow(query: Query, { after, offset, most, isBackward = false }: PageRange): Bound {
  return prepared((bind) => {
    const { column, isAscending } = ORDERS[query.sort];
    const id = isCounted(query.sort) ? 'p.listing_id' : 'l.id';
    const way = isAscending === isBackward ? 'DESC' : 'ASC';
    const order = `ORDER BY ${column} ${way}, ${id} ${way}`;
    const behind = within(query, { after }, bind);
    const range = isFiltered(query) ? [...behind, ...rangeOf(query, bind)] : behind;
    const listings = isCounted(query.sort)
      ? `listing_popularity p WHERE ${['p.is_active', ...range].join(' AND ')}`
      : `listings l WHERE ${[ACTIVE, ...range].join(' AND ')}`;
    const window = `LIMIT ${bind(query.limit, 'bigint')} OFFSET ${bind(offset, 'bigint')}`;
    if (!isFiltered(query))
      return `SELECT ${PAGE} FROM (SELECT ${id} AS id, ${column} AS key FROM ${listings} ${order} ${window}) page`;
    const fits = fitsOf(query, bind);
    const looked = `${listings} ${order} LIMIT ${bind(most, 'bigint')}`;
    const followed = isCounted(query.sort)
      ? `SELECT l.id, ${column} AS key, ${fits} FROM (SELECT * FROM ${looked}) p JOIN listings l ON l.id = p.listing_id ${order}`
      : `SELECT l.id, ${column} AS key, ${fits} FROM ${looked}`;
    return `SELECT ${PAGE} FROM (SELECT id, key FROM (${followed}) followed WHERE fits ${window}) page`;
  });
}

/** A part of an order; if a position is absent, from its start or to its end. */
interface Range {
  after?: PageEnd | undefined;
  until?: PageEnd | undefined;
}

/**
 * Returns the page of the matches in a part of the order, `offset` matches after its start. It reads all matches in the
 * part, so the part should contain few. The sort key must be in `listings`.
 */
export const pageWithin = (query: Query, range: Range, offset: number): Bound =>
  planned((bind) => {
    const conditions = [...conditionsOf(query, bind), ...within(query, range, bind)].join(' AND ');
    return `
      WITH found AS MATERIALIZED (SELECT l.id, ${knownKey(query)} AS key FROM listings l WHERE ${conditions})
      SELECT ${PAGE} FROM (
        SELECT id, key FROM found ORDER BY ${inOrder(query)}
        LIMIT ${bind(query.limit, 'bigint')} OFFSET ${bind(offset, 'bigint')}) page`;
  });

/** The position before the first listing with the reliability 0. */
export const UNRATED: PageEnd = { key: '0', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/**
 * Counts the matching listings that are sold by the call, up to `most` + 1. If there are at most `most`, returns the
 * page, `offset` matches after a position, of those with a reliability, which come first in the order `reliable`, and
 * their number after that position.
 */
export const ratedMatches = (
  query: Query,
  most: number,
  { after, offset }: Pick<PageRange, 'after' | 'offset'>,
): Bound =>
  planned((bind) => {
    const range = ['p.listing_id = found.id', 'p.reliability > 0', ...within(query, { after }, bind)].join(' AND ');
    return `
      WITH ${foundOf({ ...query, pricingModel: 'per_call' }, most + 1, bind)},
        counted AS (SELECT count(*)::int AS matches FROM found),
        rated AS MATERIALIZED (SELECT id, p.reliability AS key FROM found JOIN listing_popularity p ON ${range}
          WHERE (SELECT matches FROM counted) <= ${bind(most, 'bigint')})
      SELECT (SELECT matches FROM counted), (SELECT count(*)::int FROM rated) AS rated, ${PAGE}
      FROM (
        SELECT id, key FROM rated ORDER BY ${inOrder(query)}
        LIMIT ${bind(query.limit, 'bigint')} OFFSET ${bind(offset, 'bigint')}) page`;
  });

/** Returns the listings of a page as JSON. */
export const shown = ({ inEveryState = false }: Query, ids: string[]): Bound =>
  prepared(
    (bind) => `
      SELECT coalesce('[' || string_agg(${VIEW_JSON}::text, ',' ORDER BY page.place) || ']', '[]') AS "itemsJson"
      FROM unnest(${bind(ids, 'uuid[]')}) WITH ORDINALITY AS page (id, place) JOIN listings l ON l.id = page.id ${VIEW_JOINS}
      WHERE l.status = 'active' OR ${bind(inEveryState, 'boolean')}`,
  );

/** Counts the matches in a random sample of listings. */
export const matchesInSample = (query: Query, size: number): Bound =>
  prepared((bind) => `SELECT count(*)::int AS hits FROM (${sampleOf(query, size, bind)}) sampled WHERE fits`);

/** A matching listing, and the share of the matches in a sample that are not behind it in the order. */
export interface Landmark extends PageEnd {
  share: number;
}

/** Returns matches in a random sample of listings, in the requested order: all, or some hundred at equal distances. */
export const landmarksOf = (query: Query, size: number): Bound =>
  prepared(
    (bind) => `
      WITH matching AS MATERIALIZED (SELECT id, key FROM (${sampleOf(query, size, bind)}) sampled WHERE fits),
        placed AS (
          SELECT key, id, row_number() OVER (ORDER BY ${inOrder(query)}) AS place, count(*) OVER () AS hits
          FROM ${keyed(query, 'matching')} keyed)
      SELECT coalesce(
        json_agg(json_build_object('key', key::text, 'id', id, 'share', place / hits::float8) ORDER BY place), '[]') AS landmarks
      FROM placed WHERE place % greatest(hits / ${LANDMARKS}, 1) = 0`,
  );

/** Returns the query of a text and its spelling correction, both as PostgreSQL prints them. */
export const correction = (text: string): Bound =>
  prepared(
    (bind) =>
      `SELECT asked::text, corrected_query(asked)::text AS corrected FROM (SELECT ${parsed(text, bind)} AS asked) texts`,
  );

const LANDMARKS = 250;
const ACTIVE = `l.status = 'active'`;
const MOST_RELIABLE = '9223372036854775807::bigint';

/**
 * Builds a statement that PostgreSQL plans for the values of each execution, because the most selective index depends
 * on them.
 */
function planned(write: (bind: Bind) => string): Bound {
  const values: unknown[] = [];
  const text = write((value, type) => `$${values.push(value)}::${type}`);
  return [{ text }, values];
}

const names = new Map<string, string>();

/** Builds a prepared statement, which PostgreSQL plans once per connection, because only one plan is suitable. */
function prepared(write: (bind: Bind) => string): Bound {
  const [{ text }, values] = planned(write);
  const name = names.get(text) ?? `listing-search.${names.size}`;
  names.set(text, name);
  return [{ name, text }, values];
}

/**
 * websearch_to_tsquery accepts any input. The `english` configuration stems English words ("translations" finds
 * "translator") and keeps words of other languages whole; `simple` would stem none.
 */
const parsed = (text: string, bind: Bind): string =>
  `websearch_to_tsquery('pg_catalog.english', ${bind(text, 'text')})`;

function conditionsOf(query: Query, bind: Bind): string[] {
  const conditions = [...(query.inEveryState ? [] : [ACTIVE]), ...filtersOf(query, bind)];
  return query.sellerId ? [`l.provider_id = ${bind(query.sellerId, 'uuid')}`, ...conditions] : conditions;
}

/**
 * The column `fits` of a prepared statement. The text is parsed in a subquery, because otherwise it would be parsed
 * again for each listing.
 */
const fitsOf = (query: Query, bind: Bind): string =>
  `${filtersOf(query, bind, (text) => `(SELECT ${parsed(text, bind)})`).join(' AND ')} AS fits`;

function filtersOf(query: Query, bind: Bind, parse = (text: string): string => parsed(text, bind)): string[] {
  const { text, tsquery, categoryId, deliveryType, live } = query;
  const filters = priceFiltersOf(query, bind);
  if (tsquery !== undefined) filters.push(`l.search @@ ${bind(tsquery, 'tsquery')}`);
  else if (text !== undefined) filters.push(`l.search @@ ${parse(text)}`);
  if (categoryId !== undefined) filters.push(`l.category_id = ${bind(categoryId, 'uuid')}`);
  if (deliveryType !== undefined) filters.push(`l.delivery_type = ${bind(deliveryType, 'text')}`);
  if (live) filters.push('l.is_live');
  return filters;
}

/** The filters that restrict the price or the pricing model. Live listings always have the model `per_call`. */
function priceFiltersOf({ pricingModel, minPriceMicros, maxPriceMicros, live }: Query, bind: Bind): string[] {
  const filters: string[] = live ? [`l.pricing_model = 'per_call'`] : [];
  if (pricingModel !== undefined) filters.push(`l.pricing_model = ${bind(pricingModel, 'text')}`);
  if (minPriceMicros !== undefined) filters.push(`l.price_micros >= ${bind(minPriceMicros, 'bigint')}`);
  if (maxPriceMicros !== undefined) filters.push(`l.price_micros <= ${bind(maxPriceMicros, 'bigint')}`);
  return filters;
}

/** Restricts listings to a part of the order. */
function within({ sort }: Query, { after, until }: Range, bind: Bind): string[] {
  const { column, type, isAscending } = ORDERS[sort];
  const key = `(${column}, ${isCounted(sort) ? 'p.listing_id' : 'l.id'})`;
  const at = (end: PageEnd): string => `(${bind(end.key, type)}, ${bind(end.id, 'uuid')})`;
  return [
    ...(after ? [`${key} ${isAscending ? '>' : '<'} ${at(after)}`] : []),
    ...(until ? [`${key} ${isAscending ? '<=' : '>='} ${at(until)}`] : []),
  ];
}

/** Whether a position is after another one in the order. */
export function isAfter({ sort }: Query, position: PageEnd, other: PageEnd): boolean {
  if (position.id === other.id) return false;
  const { type, isAscending } = ORDERS[sort];
  // Times are compared as text, since PostgreSQL prints all of them in UTC.
  const [key, otherKey] = type === 'bigint' ? [BigInt(position.key), BigInt(other.key)] : [position.key, other.key];
  return (key > otherKey || (key === otherKey && position.id > other.id)) === isAscending;
}

/** Restricts a scan to the part of the order's index that contains all matches. */
function rangeOf(query: Query, bind: Bind): string[] {
  if (isByPrice(query.sort)) return priceFiltersOf(query, bind);
  if (query.sort !== 'reliable') return [];
  // Listings that are not per_call have the reliability 0. If the filters exclude all per_call listings, the scan
  // starts at 0.
  const perCall = [ACTIVE, `l.pricing_model = 'per_call'`, ...priceFiltersOf(query, bind)].join(' AND ');
  return [
    `p.reliability <= (SELECT CASE WHEN EXISTS (SELECT FROM listings l WHERE ${perCall}) THEN ${MOST_RELIABLE} ELSE 0 END)`,
  ];
}

/**
 * The first `most` matches. They are read from a subquery without a LIMIT, because with it PostgreSQL prefers to scan
 * all listings if it expects many matches, which takes seconds if there are few.
 */
const foundOf = (query: Query, most: number, bind: Bind): string =>
  `matching AS MATERIALIZED (
     SELECT l.id, ${knownKey(query)} AS key FROM listings l WHERE ${conditionsOf(query, bind).join(' AND ')}),
   found AS MATERIALIZED (SELECT * FROM matching LIMIT ${bind(most, 'bigint')})`;

const sampleOf = (query: Query, size: number, bind: Bind): string =>
  `SELECT l.id, ${knownKey(query)} AS key, ${fitsOf(query, bind)} FROM listings l WHERE ${ACTIVE}
   ORDER BY right(l.id::text, 8) COLLATE "C" LIMIT ${bind(size, 'bigint')}`;

/**
 * The sort key if it is in `listings`. Popularity and reliability are in another table and are looked up only for
 * listings that are sorted by them.
 */
const knownKey = ({ sort }: Query): string => (isCounted(sort) ? 'NULL' : ORDERS[sort].column);
const keyed = ({ sort }: Query, listings: string): string =>
  isCounted(sort)
    ? `(SELECT counted.id, ${ORDERS[sort].column} AS key FROM ${listings} counted JOIN listing_popularity p ON p.listing_id = counted.id)`
    : listings;

const inOrder = ({ sort }: Query, by = ''): string => {
  const way = ORDERS[sort].isAscending ? 'ASC' : 'DESC';
  return `${by}key ${way}, ${by}id ${way}`;
};

/** Aggregates listings, which are already in order, into a page. */
const PAGE = `coalesce(array_agg(id), '{}') AS ids, (array_agg(key))[count(*)]::text AS key`;
