import type { Statement } from '@market/persistence';
import { VIEW_JOINS, VIEW_JSON } from '../listings/listing-views.js';
import type { WantedListings } from './listing-search.js';

export interface Query extends WantedListings {
  /** What a misspelt `text` is taken for, as PostgreSQL prints it. */
  tsquery?: string;
}

/** A listing's place in an order: its key there, as text, and its id. */
export interface PageEnd {
  key: string;
  id: string;
}

export interface PageRow {
  itemsJson: string;
  shown: number;
  /** Of the last listing that is shown; null where none is. */
  key: string | null;
  id: string | null;
}

/** A statement and its values. */
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

/** The keys of these orders are in `listing_popularity`. */
const isCounted = (sort: WantedListings['sort']): boolean => sort === 'popular' || sort === 'reliable';
const isByPrice = (sort: WantedListings['sort']): boolean => sort === 'price_low' || sort === 'price_high';

/** The values by which a search leaves listings out, in one order; undefined where one is not given. */
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

/** How many listings match, and the page of them where they are few enough to be sorted. @param most counted. */
export function fewMatches(query: Query, { most, sortable }: { most: number; sortable: number }): Bound {
  return planned((bind) => {
    const found = `SELECT l.id, ${knownKey(query)} AS key FROM listings l WHERE ${conditionsOf(query, bind).join(' AND ')} LIMIT ${bind(most, 'bigint')}`;
    const page = `SELECT id, key FROM ${keyed(query, 'found')} keyed WHERE (SELECT count(*) FROM found) <= ${bind(sortable, 'bigint')} ORDER BY ${inOrder(query)} LIMIT ${bind(query.limit, 'bigint')} OFFSET ${bind(query.offset, 'bigint')}`;
    return `WITH found AS MATERIALIZED (${found}), page AS MATERIALIZED (${page}) SELECT (SELECT count(*) FROM found)::int AS matches, ${shown(query)}`;
  });
}

export interface Stretch {
  /** Begins behind this place of the order; with its first listing where absent. */
  after?: PageEnd;
  /** Matches passed over from there on. */
  offset: number;
  /** Listings looked at, whether they match or not. */
  most: number;
  /** From the end of the order. */
  isBackward?: boolean;
}

/** The page met first along the index of an order. */
export function follow(query: Query, { after, offset, most, isBackward = false }: Stretch): Bound {
  return prepared((bind) => {
    const { column, type, isAscending } = ORDERS[query.sort];
    const way = isAscending === isBackward ? 'DESC' : 'ASC';
    const behind = (id: string): string[] =>
      after
        ? [`(${column}, ${id}) ${way === 'ASC' ? '>' : '<'} (${bind(after.key, type)}, ${bind(after.id, 'uuid')})`]
        : [];
    const filters = isFiltered(query);
    // Bounds that the index of an order knows end the walk, where any other is looked up for each listing.
    const bounds = isByPrice(query.sort) ? priceFiltersOf(query, bind) : [];
    const fits = filters ? filtersOf(query, bind).join(' AND ') : 'true';
    const followed = isCounted(query.sort)
      ? `SELECT p.listing_id AS id, ${column} AS key, ${fits} AS fits
           FROM (SELECT * FROM listing_popularity p WHERE ${['p.is_active', ...behind('p.listing_id')].join(' AND ')} ORDER BY ${column} ${way}, p.listing_id ${way} LIMIT ${bind(most, 'bigint')}) p
           ${filters ? 'JOIN listings l ON l.id = p.listing_id' : ''}`
      : `SELECT l.id, ${column} AS key, ${fits} AS fits FROM listings l WHERE ${[ACTIVE, ...bounds, ...behind('l.id')].join(' AND ')} ORDER BY ${column} ${way}, l.id ${way} LIMIT ${bind(most, 'bigint')}`;
    return `WITH page AS MATERIALIZED (SELECT id, key FROM (${followed}) followed WHERE fits ORDER BY key ${way}, id ${way} LIMIT ${bind(query.limit, 'bigint')} OFFSET ${bind(offset, 'bigint')}) SELECT ${shown(query)}`;
  });
}

/** How many of some listings taken at random match. */
export const matchesInSample = (query: Query, size: number): Bound =>
  prepared((bind) => `SELECT count(*)::int AS hits FROM (${sampleOf(query, size, bind)}) sampled WHERE fits`);

/**
 * The last of a sample's matches that stands before a share of all matches in the order asked for, and which share stands up to it;
 * none where that is the first.
 */
export const landmark = (query: Query, { size, share }: { size: number; share: number }): Bound =>
  prepared(
    (bind) => `
      WITH matching AS MATERIALIZED (SELECT id, key FROM (${sampleOf(query, size, bind)}) sampled WHERE fits),
        found AS (SELECT count(*) AS hits, least(floor(count(*) * ${bind(share, 'float8')}), count(*))::bigint AS before FROM matching)
      SELECT keyed.key::text, keyed.id, (found.before / found.hits::float8) AS share FROM ${keyed(query, 'matching')} keyed, found
      WHERE found.before > 0 ORDER BY ${inOrder(query, 'keyed.')} LIMIT 1 OFFSET greatest((SELECT before FROM found) - 1, 0)`,
  );

/** A text and what is likely meant by it; both as PostgreSQL prints them. */
export const correction = (text: string): Bound =>
  prepared(
    (bind) =>
      `SELECT asked::text, corrected_query(asked)::text AS corrected FROM (SELECT ${parsed(text, bind)} AS asked) texts`,
  );

const ACTIVE = `l.status = 'active'`;
const LIVE = `l.pricing_model = 'per_call' AND EXISTS (SELECT FROM endpoints endpoint WHERE endpoint.listing_id = l.id AND endpoint.status = 'active')`;

/** Planned for its values each time: which of several indexes a filter narrows down the most depends on them. */
function planned(write: (bind: Bind) => string): Bound {
  const values: unknown[] = [];
  const text = write((value, type) => `$${values.push(value)}::${type}`);
  return [{ text }, values];
}

const names = new Map<string, string>();

/** Planned once a connection: there is one way alone to go about it. */
function prepared(write: (bind: Bind) => string): Bound {
  const [{ text }, values] = planned(write);
  const name = names.get(text) ?? `listing-search.${names.size}`;
  names.set(text, name);
  return [{ name, text }, values];
}

/**
 * websearch_to_tsquery takes whatever people type. English stemming serves the language that most listings are written in
 * ("translations" finds "translator"), and other languages keep their whole words; `simple` would give both only the latter.
 */
const parsed = (text: string, bind: Bind): string =>
  `websearch_to_tsquery('pg_catalog.english', ${bind(text, 'text')})`;

function conditionsOf(query: Query, bind: Bind): string[] {
  const conditions = [...(query.inEveryState ? [] : [ACTIVE]), ...filtersOf(query, bind)];
  return query.sellerId ? [`l.provider_id = ${bind(query.sellerId, 'uuid')}`, ...conditions] : conditions;
}

function filtersOf(query: Query, bind: Bind): string[] {
  const { text, tsquery, categoryId, deliveryType, live } = query;
  const filters = priceFiltersOf(query, bind);
  if (tsquery !== undefined) filters.push(`l.search @@ ${bind(tsquery, 'tsquery')}`);
  else if (text !== undefined) filters.push(`l.search @@ ${parsed(text, bind)}`);
  if (categoryId !== undefined) filters.push(`l.category_id = ${bind(categoryId, 'uuid')}`);
  if (deliveryType !== undefined) filters.push(`l.delivery_type = ${bind(deliveryType, 'text')}`);
  if (live) filters.push(LIVE);
  return filters;
}

function priceFiltersOf({ pricingModel, minPriceMicros, maxPriceMicros }: Query, bind: Bind): string[] {
  const filters: string[] = [];
  if (pricingModel !== undefined) filters.push(`l.pricing_model = ${bind(pricingModel, 'text')}`);
  if (minPriceMicros !== undefined) filters.push(`l.price_micros >= ${bind(minPriceMicros, 'bigint')}`);
  if (maxPriceMicros !== undefined) filters.push(`l.price_micros <= ${bind(maxPriceMicros, 'bigint')}`);
  return filters;
}

const sampleOf = (query: Query, size: number, bind: Bind): string =>
  `SELECT l.id, ${knownKey(query)} AS key, ${filtersOf(query, bind).join(' AND ')} AS fits FROM listings l WHERE ${ACTIVE} ORDER BY right(l.id::text, 8) COLLATE "C" LIMIT ${bind(size, 'bigint')}`;

/** Counts of calls, and what came of them, are in a table of their own, and looked up for those listings alone that are sorted by them. */
const knownKey = ({ sort }: Query): string => (isCounted(sort) ? 'NULL' : ORDERS[sort].column);
const keyed = ({ sort }: Query, listings: string): string =>
  isCounted(sort)
    ? `(SELECT counted.id, ${ORDERS[sort].column} AS key FROM ${listings} counted JOIN listing_popularity p ON p.listing_id = counted.id)`
    : listings;

const inOrder = ({ sort }: Query, by = ''): string => {
  const way = ORDERS[sort].isAscending ? 'ASC' : 'DESC';
  return `${by}key ${way}, ${by}id ${way}`;
};

/** Of a CTE `page`: its listings as they are shown, and its last place. */
const shown = (query: Query): string => `
  (SELECT coalesce('[' || string_agg(${VIEW_JSON}::text, ',' ORDER BY ${inOrder(query, 'page.')}) || ']', '[]') FROM page JOIN listings l ON l.id = page.id ${VIEW_JOINS}) AS "itemsJson",
  (SELECT count(*) FROM page)::int AS shown, last.key::text, last.id
  FROM (SELECT) once LEFT JOIN (SELECT key, id FROM page ORDER BY ${ORDERS[query.sort].isAscending ? 'key DESC, id DESC' : 'key, id'} LIMIT 1) last ON true`;
