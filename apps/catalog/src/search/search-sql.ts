import type { Statement } from '@market/persistence';
import { LIVE_RELIABILITY } from '../quality/quality.js';
import { VIEW_JOINS, VIEW_JSON } from '../listings/listing-views.js';
import type { InputOf, OutputOf } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';
import type { Question } from './concepts.js';
import { matching, relevance, type Part } from './relevance.js';

/** A listing must match all given filters; price bounds are inclusive. */
export interface WantedListings extends Omit<InputOf<typeof searchListings>, 'q' | 'mine' | 'page'> {
  /** The search text as entered: words, "quoted phrases", and `-` for exclusion. */
  text?: string | undefined;
  /** Includes listings in every state instead of active ones only. */
  inEveryState?: boolean;
  offset: number;
}

type Sort = NonNullable<WantedListings['sort']>;

export interface Query extends WantedListings {
  sort: Sort;
  /** What listings must have, and what their names and tags must have, as tsqueries. */
  must?: string | null;
  named?: string | null;
}

/** The ids of a page's listings, in order, and the sort key of the last one, as text. */
export interface Page {
  ids: string[];
  key: string | null;
}

/** A page of what a question finds. */
export interface Ranked extends Page {
  matches: number;
  /** Whether more may match than was looked at. */
  isPartial: boolean;
  /** The part of the question that the best listing has, and whether it has all of it. */
  strength: number;
  hasAll: boolean;
  /** The ids of what is nearest if nothing fits. */
  near: string[];
  facets?: Facets;
}

export type Facets = NonNullable<OutputOf<typeof searchListings>['facets']>;

/** A statement and its parameters. */
export type Bound = [Statement, unknown[]];
type Bind = (value: unknown, type: string) => string;

interface Order {
  column: string;
  type: 'timestamptz' | 'bigint' | 'float8';
  isAscending: boolean;
}

const ORDERS: Record<Sort, Order> = {
  relevance: { column: 'score', type: 'float8', isAscending: false },
  newest: { column: 'l.created_at', type: 'timestamptz', isAscending: false },
  popular: { column: 'p.popularity', type: 'bigint', isAscending: false },
  reliable: { column: 'p.reliability', type: 'bigint', isAscending: false },
  price_low: { column: 'l.price_micros', type: 'bigint', isAscending: true },
  price_high: { column: 'l.price_micros', type: 'bigint', isAscending: false },
};

/** Whether the sort key of the order is in `listing_popularity`. */
const isCounted = (sort: Sort): boolean => sort === 'popular' || sort === 'reliable';

/** Counts the matching listings, up to `most`. */
export const countOf = (query: Query, most: number): Bound =>
  planned(
    (bind) =>
      // With a plain LIMIT, PostgreSQL prefers to scan all listings for a text that it expects to be common.
      `WITH found AS ${(query.must ?? query.named) ? '' : 'NOT '}MATERIALIZED (
         SELECT FROM listings l WHERE ${conditionsOf(query, bind).join(' AND ')})
       SELECT count(*)::int AS matches FROM (SELECT FROM found LIMIT ${bind(most, 'bigint')}) counted`,
  );

/** Counts the matching listings by their values. */
export const facetsOf = (query: Query): Bound =>
  planned(
    (bind) => `
      WITH found AS MATERIALIZED (SELECT ${FACETED} FROM listings l WHERE ${conditionsOf(query, bind).join(' AND ')})
      SELECT ${facetsIn('found')} AS facets`,
  );

const FACETED = 'l.category_id, l.pricing_model, l.delivery_type, l.is_live';
/** The facets of listings that have the columns of `FACETED`. */
function facetsIn(listings: string): string {
  const facet = (name: keyof Facets, value: string, where = `${value} IS NOT NULL`): string =>
    `'${name}', (SELECT coalesce(json_agg(counted ORDER BY listings DESC, value), '[]') FROM (
       SELECT ${value}::text AS value, count(*)::int AS listings FROM ${listings} WHERE ${where} GROUP BY 1) counted)`;
  return `json_build_object(${[
    facet('category', 'category_id'),
    facet('pricing_model', 'pricing_model'),
    facet('delivery_type', 'delivery_type'),
    facet('live', 'is_live', `pricing_model = 'per_call'`),
  ].join(', ')})`;
}

/**
 * Returns a page without a text. A few matches are sorted. Many are read along the index of the order, since at least
 * one listing in a hundred matches.
 */
export const browsed = (query: Query, areMany: boolean): Bound =>
  planned((bind) => {
    const { column } = ORDERS[query.sort];
    const conditions = conditionsOf(query, bind);
    const counted = isCounted(query.sort) ? 'JOIN listing_popularity p ON p.listing_id = l.id' : '';
    const id = counted ? 'p.listing_id' : 'l.id';
    const listed = `SELECT ${id} AS id, ${column} AS key FROM listings l ${counted} WHERE ${conditions.join(' AND ')}`;
    if (!areMany) return `WITH found AS MATERIALIZED (${listed}) ${pageOf(query, 'found', bind)}`;
    const beside = counted ? ['p.is_active'] : [];
    if (counted && query.live) beside.push(`p.reliability >= ${LIVE_RELIABILITY}`);
    // Only what is sold per call has a reliability.
    if (query.sort === 'reliable' && (query.pricingModel ?? 'per_call') !== 'per_call')
      beside.push('p.reliability = 0');
    // What is active and what works is known beside the counts, too.
    const [listings, wanted] =
      counted && conditions.every((each) => each === ACTIVE || each === LIVE)
        ? ['listing_popularity p', beside]
        : [`listings l ${counted}`, [...conditions, ...beside]];
    const way = ORDERS[query.sort].isAscending ? 'ASC' : 'DESC';
    return `SELECT ${PAGE} FROM (
      SELECT ${id} AS id, ${column} AS key FROM ${listings}
      WHERE ${[...wanted, ...behind(query, bind, column, id)].join(' AND ')}
      ORDER BY ${column} ${way}, ${id} ${way} ${windowOf(query, bind)}) page`;
  });

/**
 * Returns a page of many listings in the order of reliability, of which few are sold per call and may have one: these
 * are sorted, and the others follow, without walking past all listings that have one.
 */
export const browsedFewRated = (query: Query): Bound =>
  planned((bind) => {
    const conditions = conditionsOf(query, bind).join(' AND ');
    const listed = (model: string) => `
      SELECT p.listing_id AS id, p.reliability AS key FROM listings l JOIN listing_popularity p ON p.listing_id = l.id
      WHERE ${conditions} AND l.pricing_model ${model} 'per_call'`;
    const range = behind(query, bind, 'p.reliability', 'p.listing_id').map((each) => ` AND ${each}`);
    return `
      WITH rated AS MATERIALIZED (${listed('=')}),
      others AS MATERIALIZED (${listed('<>')} AND p.is_active AND p.reliability = 0${range.join('')}
        ORDER BY p.reliability DESC, p.listing_id DESC LIMIT ${bind((query.after ? 0 : query.offset) + query.limit, 'bigint')}),
      found AS (SELECT * FROM rated UNION ALL SELECT * FROM others) ${pageOf(query, 'found', bind)}`;
  });

/** So many listings are found by their meaning. */
const NEAREST = 20;

export const nearestIn = (query: Query, vector: string, model: string): Bound =>
  planned(
    (bind) => `
      SELECT ARRAY(
        SELECT e.listing_id FROM listing_embeddings e JOIN listings l ON l.id = e.listing_id
        WHERE e.model = ${bind(model, 'text')} AND e.embedding IS NOT NULL AND ${conditionsOf(query, bind).join(' AND ')}
        ORDER BY e.embedding <=> ${bind(vector, 'halfvec')} LIMIT ${NEAREST}) AS ids`,
  );

/** How much the first places count more than those behind them. */
const RANK_CONSTANT = 5;
/** What meaning counts where words say all, so that it sorts what comes after them. */
const LEAST_OF_MEANING = 0.01;

/**
 * Joins the order of words with that of meaning by reciprocal ranks (https://plg.uwaterloo.ca/~gvcormac/cormacksigir09-rrf.pdf).
 * Meaning counts as much as the best listing lacks of what the words ask for: words that are found are surer than any model.
 */
const fused = (nearest: string[], { clear }: Question, bind: Bind): string => `,
      by_words AS (SELECT id, row_number() OVER (ORDER BY key DESC, id DESC) AS place FROM placed),
      by_meaning AS (SELECT * FROM unnest(${bind(nearest, 'uuid[]')}) WITH ORDINALITY AS nearest (id, place)),
      lacking AS (SELECT greatest(1 - coalesce(max(had), 0) / ${clear}::float8, ${LEAST_OF_MEANING}) AS part FROM scored),
      fused AS MATERIALIZED (
        SELECT id, coalesce(1::float8 / (${RANK_CONSTANT} + by_words.place), 0)
          + part * coalesce(1::float8 / (${RANK_CONSTANT} + by_meaning.place), 0) AS key
        FROM by_words FULL JOIN by_meaning USING (id) CROSS JOIN lacking)`;

/** So many of what is bought most are looked at for a word that very many have. */
const BESTSELLERS = 20_000;
/** What popularity, reliability and a live endpoint add to the relevance at most. */
const STANDING = 0.05;

/**
 * Returns a page of what a question finds. Another order than relevance is for what fits about as well as the best:
 * the cheapest of all that has one of the words is seldom what was asked for. Of a broad question, parts are looked at.
 * @param nearest what is found by meaning, in order.
 */
export const ranked = (query: Query, question: Question, parts: Part[], nearest: string[]): Bound =>
  planned((bind) => {
    const { columns, score, tier, had, floor } = relevance(question, bind);
    const isByRelevance = query.sort === 'relevance';
    const { column } = ORDERS[query.sort];
    const listed = nearest.length > 0 ? 'fused' : 'placed';
    const found =
      question.concepts.length === 0
        ? 'false'
        : parts.length === 0
          ? [...conditionsOf(query, bind), matchOf(question, { query: matching(question), of: 'texts' }, bind)].join(
              ' AND ',
            )
          : // Sorted by their places, and each place once.
            `l.ctid = ANY(ARRAY(${parts.map((_, index) => `SELECT place FROM part${index}`).join(' UNION ALL ')}))`;
    const fits = isByRelevance ? '' : 'AND tier * 1000 + score >= (SELECT max(tier * 1000 + score) / 2 FROM scored)';
    const facets = query.facets
      ? `, ${facetsIn(`(SELECT ${FACETED} FROM ${listed} JOIN listings l USING (id)) found`)} AS facets`
      : '';
    const rest = parts.length - 1;
    const isPartial = rest < 0 ? 'false' : `(SELECT count(*) FROM part${rest}) = ${limitOf(parts, rest)}`;
    const sorted = isByRelevance ? 'l.standing' : isCounted(query.sort) ? 'NULL' : column;
    const key = isByRelevance
      ? `tier * 1000 + score * (1 + ${STANDING / 100}::float8 * sorted)`
      : isCounted(query.sort)
        ? column
        : 'sorted';
    const counted = isCounted(query.sort) ? 'JOIN listing_popularity p ON p.listing_id = id' : '';
    return `
      WITH ${partsOf(query, question, parts, bind)}
      found AS MATERIALIZED (SELECT l.id, ${sorted} AS sorted, ${columns} FROM listings l WHERE ${found}),
      scored AS MATERIALIZED (SELECT id, sorted, ${tier} AS tier, ${had} AS had, ${score} AS score FROM found),
      fitting AS MATERIALIZED (SELECT id, sorted, tier, score FROM scored WHERE had >= ${floor} ${fits}),
      placed AS MATERIALIZED (SELECT id, ${key} AS key FROM fitting ${counted})${nearest.length > 0 ? fused(nearest, question, bind) : ''}
      SELECT (SELECT count(*)::int FROM ${listed}) AS matches, page.*, best.*,
        ARRAY(SELECT id FROM scored ORDER BY tier DESC, score DESC, id DESC LIMIT 3) AS near,
        ${isPartial} AS "isPartial"${facets}
      FROM (${pageOf(query, listed, bind)}) page,
        (SELECT coalesce(max(had), 0) / ${question.mass} AS strength, coalesce(max(tier), 0) > 0 AS "hasAll" FROM scored) best`;
  });

/** Finds the parts: CTEs, which are read as far as their limits, but planned without, so that PostgreSQL uses the index. */
const partsOf = (query: Query, question: Question, parts: Part[], bind: Bind): string =>
  parts
    .map((part, index) => {
      const [filters, match] = [conditionsOf(query, bind).join(' AND '), matchOf(question, part, bind)];
      const isActive = query.inEveryState ? 'true' : ACTIVE;
      const limit = `LIMIT ${limitOf(parts, index)}`;
      if (part.of === 'bestsellers')
        return `part${index} AS MATERIALIZED (
          SELECT l.place FROM (
            SELECT listing_id FROM listing_popularity WHERE is_active
            ORDER BY popularity DESC, listing_id DESC LIMIT ${BESTSELLERS}) p,
            LATERAL (SELECT l.ctid AS place FROM listings l WHERE l.id = p.listing_id AND ${filters} AND ${match}) l ${limit}), `;
      const [first, then] =
        part.of === 'texts'
          ? [`${filters} AND ${match}`, 'true']
          : part.of === 'names'
            ? [match, filters]
            : [filters, match];
      return `all${index} AS MATERIALIZED (
          SELECT l.ctid AS place, ${SELECTED[part.of]} FROM listings l WHERE ${isActive} AND ${first}),
        part${index} AS MATERIALIZED (SELECT place FROM all${index} l WHERE ${then} ${limit}), `;
    })
    .join('');

/** How much is read of a part. */
function limitOf(parts: Part[], index: number): string {
  const { most, enough } = parts[index]!;
  const before = parts.slice(0, index).map((_, each) => `(SELECT count(*) FROM part${each})`);
  return enough === undefined ? `${most}` : `CASE WHEN ${before.join(' + ')} < ${enough} THEN ${most} ELSE 0 END`;
}

function matchOf({ must }: Question, { query, of }: Pick<Part, 'query' | 'of'>, bind: Bind): string {
  if (of === 'names') {
    const named = `${NAMED} @@ ${bind(query, 'tsquery')}`;
    return must === null ? named : `${named} AND l.search @@ ${bind(must, 'tsquery')}`;
  }
  // In one query with it: alone, what must not be there is looked for in the whole index.
  return `l.search @@ ${bind(must === null || must === query ? query : `(${query}) & ${must}`, 'tsquery')}`;
}

/** Returns the listings of a page as JSON. */
export const shown = ({ inEveryState = false }: WantedListings, ids: string[]): Bound =>
  prepared(
    (bind) => `
      SELECT coalesce('[' || string_agg(${VIEW_JSON}::text, ',' ORDER BY page.place) || ']', '[]') AS "itemsJson"
      FROM unnest(${bind(ids, 'uuid[]')}) WITH ORDINALITY AS page (id, place) JOIN listings l ON l.id = page.id ${VIEW_JOINS}
      WHERE l.status = 'active' OR ${bind(inEveryState, 'boolean')}`,
  );

export const nearNames = (ids: string[]): Bound =>
  prepared(
    (bind) => `
      SELECT l.id, l.slug, l.name FROM unnest(${bind(ids, 'uuid[]')}) WITH ORDINALITY AS near (id, place)
      JOIN listings l ON l.id = near.id ORDER BY near.place`,
  );

/** The columns of filters. */
const FILTERED = `l.id, l.status, l.provider_id, l.category_id, l.pricing_model, l.delivery_type, l.price_micros, l.is_live`;
/** What is kept of the listings of a part for its second condition; the words of a listing are large. */
const SELECTED = { texts: 'NULL', names: FILTERED, filtered: `${FILTERED}, l.search` };
/** The expression of an index. */
const NAMED = `ts_filter(l.search, '{a,b}')`;
const ACTIVE = `l.status = 'active'`;
const LIVE = `l.pricing_model = 'per_call' AND l.is_live`;

/** Aggregates listings, which are already in order, into a page. */
const PAGE = `coalesce(array_agg(id), '{}') AS ids, (array_agg(key))[count(*)]::text AS key`;

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

function conditionsOf(query: Query, bind: Bind): string[] {
  const { categoryId, deliveryType, pricingModel, minPriceMicros, maxPriceMicros, live, byUse, minSuccess, sellerId } =
    query;
  const conditions = query.inEveryState ? [] : [ACTIVE];
  if (sellerId !== undefined) conditions.push(`l.provider_id = ${bind(sellerId, 'uuid')}`);
  if (query.must) conditions.push(`l.search @@ ${bind(query.must, 'tsquery')}`);
  if (query.named) conditions.push(`${NAMED} @@ ${bind(query.named, 'tsquery')}`);
  if (categoryId !== undefined) conditions.push(`l.category_id = ${bind(categoryId, 'uuid')}`);
  if (pricingModel !== undefined) conditions.push(`l.pricing_model = ${bind(pricingModel, 'text')}`);
  if (deliveryType !== undefined) conditions.push(`l.delivery_type = ${bind(deliveryType, 'text')}`);
  if (minPriceMicros !== undefined) conditions.push(`l.price_micros >= ${bind(minPriceMicros, 'bigint')}`);
  if (maxPriceMicros !== undefined) conditions.push(`l.price_micros <= ${bind(maxPriceMicros, 'bigint')}`);
  if (live) conditions.push(LIVE);
  if (byUse) conditions.push('l.usage IS NOT NULL');
  if (minSuccess !== undefined)
    conditions.push(`l.pricing_model = 'per_call' AND EXISTS (SELECT FROM listing_quality quality
      WHERE quality.listing_id = l.id AND quality.success_rate_30d >= ${bind(minSuccess, 'float8')})`);
  return conditions;
}

/** Whether all active listings are wanted. */
export const areAllWanted = (query: Query): boolean =>
  !query.inEveryState && conditionsOf(query, () => '').every((condition) => condition === ACTIVE);

/** Restricts listings to those after a position in the order. */
function behind({ sort, after }: Query, bind: Bind, key = 'key', id = 'id'): string[] {
  if (!after) return [];
  const { type, isAscending } = ORDERS[sort];
  return [`(${key}, ${id}) ${isAscending ? '>' : '<'} (${bind(after.key, type)}, ${bind(after.id, 'uuid')})`];
}

const windowOf = ({ after, offset, limit }: Query, bind: Bind): string =>
  `LIMIT ${bind(limit, 'bigint')} OFFSET ${bind(after ? 0 : offset, 'bigint')}`;

/** Sorts listings that have `id` and `key`, and returns their page. */
function pageOf(query: Query, listings: string, bind: Bind): string {
  const way = ORDERS[query.sort].isAscending ? 'ASC' : 'DESC';
  const range = behind(query, bind).join('');
  return `SELECT ${PAGE} FROM (
    SELECT id, key FROM ${listings} ${range && `WHERE ${range}`} ORDER BY key ${way}, id ${way} ${windowOf(query, bind)}) page`;
}
