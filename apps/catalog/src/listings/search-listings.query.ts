import type { OutputOf } from '@market/contracts';
import { searchListings } from '@market/contracts/catalog';
import { refuse } from '@market/messaging';
import { Injectable } from '@nestjs/common';
import type { Found, IndexQuery, ListingIndex, PhraseSlots } from '../search/listing-index.js';
import { LiveIndex, type Indexed } from '../search/live-index.js';
import { TextQueries } from '../search/text-queries.js';
import { textProblem } from './domain/listing-text.js';
import { searchText } from './domain/search-text.js';
import type { Search } from './infra/listing-views.js';

type Page = OutputOf<typeof searchListings>;

/** What a state of the index answers. */
interface Answer extends Page {
  index: ListingIndex;
  version: number;
}

/**
 * Active listings that meet every filter, sorted, with their exact total, from the index. While the look for changes is on its way the
 * search goes on without it; mostly there is no change, and what was found holds.
 * Queries: 1, shared with searches that come at the same time; 1 more, shared too, for a `q` that was not asked lately.
 */
@Injectable()
export class SearchListings {
  constructor(
    private readonly live: LiveIndex,
    private readonly textQueries: TextQueries,
  ) {}

  async execute(input: Search): Promise<Page> {
    const problem = textProblem({ q: input.q });
    if (problem) throw refuse(searchListings, 'text_invalid', problem);
    const [fresh, early] = await Promise.all([this.live.fresh(), this.live.current && this.answer(this.live.current, input)]);
    const { itemsJson, total } = early?.index === fresh.index && early.version === fresh.index.version ? early : await this.answer(fresh, input);
    return { itemsJson, total };
  }

  private async answer({ index, phrases }: Indexed, input: Search): Promise<Answer> {
    const q = searchText(input.q);
    const text = q === undefined ? undefined : await this.textQueries.read(q);
    const { version } = index;
    // Words that mean nothing to a search, such as "the", find nothing.
    if (q !== undefined && !text) return { index, version, itemsJson: '[]', total: 0 };
    return phrases.resolve(text, (slots) => ({ index, version: index.version, ...find(index, { ...queryOf(input), text }, slots) }));
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
