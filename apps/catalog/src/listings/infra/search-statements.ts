import { sql, type PreparedStatement } from '@market/persistence';
import { VIEW_COLUMNS, VIEW_JOINS, type Search } from './listing-views.js';

/**
 * Results up to this size are gathered whole: their rows and their exact total are one statement. Beyond it the
 * sorted index is walked for the page, and the total is counted apart.
 */
export const SMALL_RESULT = 500;

/**
 * `words` searches the text, `resemblance` the names only. English stemming serves the language that most listings are
 * written in ("translations" finds "translator"), and other languages keep their whole words; `simple` would give both
 * only the latter.
 */
export type TextMode = 'words' | 'resemblance';

const TEXT: Record<TextMode, string> = {
  words: "l.search @@ websearch_to_tsquery('pg_catalog.english', ?)",
  resemblance: 'l.id IN (SELECT names_resembling(?))',
};

const SORTS: Record<Search['sort'], { from: string; key: string; direction: 'ASC' | 'DESC' }> = {
  newest: { from: 'listings l', key: 'l.created_at', direction: 'DESC' },
  popular: { from: 'listings l JOIN listing_popularity popularity ON popularity.listing_id = l.id', key: 'popularity.completed_calls', direction: 'DESC' },
  price_low: { from: 'listings l', key: 'l.price_micros', direction: 'ASC' },
  price_high: { from: 'listings l', key: 'l.price_micros', direction: 'DESC' },
};

/** The conditions of a search, ANDed, with their values. Equal names have equal texts. */
export interface Filter {
  name: string;
  conditions: string;
  values: unknown[];
}

/** The text of a condition is ours; only its value is the caller's. */
export function filterOf(search: Omit<Search, 'sort' | 'page' | 'limit'>, textMode: TextMode): Filter {
  const possible: [letter: string, value: unknown, condition: string][] = [
    [textMode === 'words' ? 'q' : 'r', search.q, TEXT[textMode]],
    ['c', search.categoryId, 'l.category_id = ?'],
    ['m', search.pricingModel, 'l.pricing_model = ?'],
    ['d', search.deliveryType, 'l.delivery_type = ?'],
    ['l', search.minPriceMicros, 'l.price_micros >= ?'],
    ['h', search.maxPriceMicros, 'l.price_micros <= ?'],
  ];
  const used = possible.filter(([, value]) => value !== undefined);
  return {
    name: used.map(([letter]) => letter).join('') || 'all',
    conditions: ["l.status = 'active'", ...used.map(([, , condition], index) => condition.replace('?', `$${index + 1}`))].join(' AND '),
    values: used.map(([, value]) => value),
  };
}

/**
 * One page and the total of a result of at most SMALL_RESULT listings; `total` is SMALL_RESULT + 1 when there are more.
 * Always one row at least: a page beyond the end is a row without an id. Materialised, so that no plan walks the sorted
 * index in the hope of meeting a rare word. Values: the filter's, limit, offset.
 */
export function smallResult(filter: Filter, sort: Search['sort']): PreparedStatement {
  const { from, key, direction } = SORTS[sort];
  const [limit, offset] = [filter.values.length + 1, filter.values.length + 2];
  return sql(
    `listings.search-small.${sort}.${filter.name}`,
    `WITH hits AS MATERIALIZED (
       SELECT l.id, ${key} AS key FROM ${from} WHERE ${filter.conditions} LIMIT ${SMALL_RESULT + 1}
     ), page AS MATERIALIZED (
       SELECT id, key FROM hits ORDER BY key ${direction}, id ${direction} LIMIT $${limit}::bigint OFFSET $${offset}::bigint
     )
     SELECT counted.total, shown.* FROM (SELECT count(*)::int AS total FROM hits) counted
     LEFT JOIN (SELECT page.key, ${VIEW_COLUMNS} FROM page JOIN listings l ON l.id = page.id ${VIEW_JOINS}) shown ON true
     ORDER BY shown.key ${direction}, shown.id ${direction}`,
  );
}

/** One page of a result of any size, from the sorted index. Values: the filter's, limit, offset. */
export function largePage(filter: Filter, sort: Search['sort']): PreparedStatement {
  const { from, key, direction } = SORTS[sort];
  const [limit, offset] = [filter.values.length + 1, filter.values.length + 2];
  return sql(
    `listings.search-page.${sort}.${filter.name}`,
    `WITH page AS MATERIALIZED (
       SELECT l.id, ${key} AS key FROM ${from} WHERE ${filter.conditions} ORDER BY ${key} ${direction}, l.id ${direction} LIMIT $${limit}::bigint OFFSET $${offset}::bigint
     )
     SELECT ${VIEW_COLUMNS} FROM page JOIN listings l ON l.id = page.id ${VIEW_JOINS} ORDER BY page.key ${direction}, page.id ${direction}`,
  );
}

export const countAll = (filter: Filter): PreparedStatement => sql(`listings.search-total.${filter.name}`, `SELECT count(*)::int AS total FROM listings l WHERE ${filter.conditions}`);
