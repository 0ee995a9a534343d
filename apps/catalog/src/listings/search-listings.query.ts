import type { OutputOf } from '@market/contracts';
import { searchListings } from '@market/contracts/catalog';
import { refuse } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import type { Found, IndexQuery, ListingIndex, PhraseSlots } from '../search/listing-index.js';
import { LiveIndex } from '../search/live-index.js';
import { TextQueries } from '../search/text-queries.js';
import { textProblem } from './domain/listing-text.js';
import { searchText } from './domain/search-text.js';
import { toView, VIEW_COLUMNS, VIEW_JOINS, type ListingView, type Search, type ViewRow } from './infra/listing-views.js';

type Page = OutputOf<typeof searchListings>;

// A listing that was taken off the market since the index looked is not shown.
const shown = sql(
  'listings.shown',
  `SELECT ${VIEW_COLUMNS} FROM unnest($1::uuid[]) WITH ORDINALITY AS page (id, place) JOIN listings l ON l.id = page.id ${VIEW_JOINS} WHERE l.status = 'active' ORDER BY page.place`,
);

/**
 * Active listings that meet every filter, sorted, with their exact total: the index says which, PostgreSQL shows them.
 * Queries: 2, the first of which is shared with searches that come at the same time; 1 more for a `q` that was not asked
 * lately.
 */
@Injectable()
export class SearchListings {
  constructor(
    private readonly database: Database,
    private readonly live: LiveIndex,
    private readonly textQueries: TextQueries,
  ) {}

  async execute(input: Search): Promise<Page> {
    const problem = textProblem({ q: input.q });
    if (problem) throw refuse(searchListings, 'text_invalid', problem);
    const q = searchText(input.q);
    const [{ index, phrases }, text] = await Promise.all([this.live.fresh(), q === undefined ? undefined : this.textQueries.read(q)]);
    // Words that mean nothing to a search, such as "the", find nothing.
    if (q !== undefined && !text) return { items: [], total: 0 };
    const { ids, total } = await phrases.resolve(text, (slots) => find(index, { ...queryOf(input), text }, slots));
    return { items: ids.length === 0 ? [] : await this.show(ids), total };
  }

  private async show(ids: string[]): Promise<ListingView[]> {
    return (await this.database.query<ViewRow>(shown, [ids])).map(toView);
  }
}

/** What nothing matches may be misspelt. */
function find(index: ListingIndex, query: IndexQuery, phrases: PhraseSlots): Found {
  const found = index.search(query, phrases);
  const corrected = found.total === 0 && query.text ? index.corrected(query.text) : undefined;
  return corrected ? index.search({ ...query, text: corrected }, phrases) : found;
}

/** Prices are integers below 2^53, and so is every bound that could tell them apart. */
const queryOf = ({ minPriceMicros, maxPriceMicros, page, limit, categoryId, pricingModel, deliveryType, sort }: Search): IndexQuery => ({
  categoryId,
  pricingModel,
  deliveryType,
  sort,
  ...(minPriceMicros !== undefined && { minPriceMicros: Number(minPriceMicros) }),
  ...(maxPriceMicros !== undefined && { maxPriceMicros: Number(maxPriceMicros) }),
  offset: (page - 1) * limit,
  limit,
});
