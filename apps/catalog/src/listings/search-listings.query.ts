import type { OutputOf } from '@market/contracts';
import { searchListings } from '@market/contracts/catalog';
import { refuse } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { textProblem } from './domain/listing-text.js';
import { searchText } from './domain/search-text.js';
import { toView, type Search, type ViewRow } from './infra/listing-views.js';
import { RecentTotals } from './infra/recent-totals.js';
import { countAll, filterOf, largePage, SMALL_RESULT, smallResult, type Filter } from './infra/search-statements.js';

type Page = OutputOf<typeof searchListings>;

/**
 * Active listings that meet every filter, sorted, with their exact total.
 * Queries: 1; 2 when `q` finds nothing and names that resemble it are looked for, or when more than SMALL_RESULT
 * listings are found and their total was counted within the last second; 3 when it was not.
 */
@Injectable()
export class SearchListings {
  private readonly totals = new RecentTotals();

  constructor(private readonly database: Database) {}

  async execute(input: Search): Promise<Page> {
    const text = textProblem({ q: input.q });
    if (text) throw refuse(searchListings, 'text_invalid', text);
    const search = { ...input, q: searchText(input.q) };
    const found = await this.find(search, filterOf(search, 'words'));
    if (found.total > 0 || !search.q) return found;
    return this.find(search, filterOf(search, 'resemblance'));
  }

  private async find(search: Search, filter: Filter): Promise<Page> {
    const offset = Math.min((search.page - 1) * search.limit, Number.MAX_SAFE_INTEGER);
    const key = JSON.stringify([filter.name, filter.values]);
    if (!this.totals.has(key)) {
      const rows = await this.database.query<ViewRow & { total: number }>(smallResult(filter, search.sort), [...filter.values, search.limit, offset]);
      const { total } = rows[0]!;
      if (total <= SMALL_RESULT) return { items: rows.filter((row) => row.id !== null).map(toView), total };
    }
    const total = await this.totals.get(key, () => this.count(filter));
    if (offset >= total) return { items: [], total };
    const rows = await this.database.query<ViewRow>(largePage(filter, search.sort), [...filter.values, search.limit, offset]);
    return { items: rows.map(toView), total };
  }

  private async count(filter: Filter): Promise<number> {
    const [counted] = await this.database.query<{ total: number }>(countAll(filter), filter.values);
    return counted!.total;
  }
}
