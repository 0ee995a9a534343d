import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ListingSearch, type FoundListings, type WantedListings } from './listing-search.js';
import {
  correction,
  fewMatches,
  filterValues,
  isCounted,
  isFiltered,
  hasText,
  landmark,
  matchesInSample,
  matchesOf,
  follow,
  shown,
  type Bound,
  type Page,
  type PageEnd,
  type Query,
} from './search-sql.js';

/** Where one road ends and the next begins, in listings. */
export interface SearchBounds {
  /** Totals up to this one are exact. */
  counted: number;
  /** Taken at random, to tell how many of all match. */
  sample: number;
  /** A finer sample, to tell where the matches far down an order stand. */
  landmarks: number;
  /** Looked at along the index of an order until a page is met. */
  followed: number;
  /** Matches that are sorted for one page. */
  sorted: number;
  /** From this offset on, a page begins where the one before was seen to end. */
  joined: number;
}

export const BOUNDS: SearchBounds = {
  counted: 10_000,
  sample: 500,
  landmarks: 2_500,
  followed: 20_000,
  sorted: 20_000,
  joined: 200,
};
/** What looking at a listing along an order costs, where one of many that are sorted costs 1. Without a text, the GIN index intersects longer lists. */
const FOLLOWED_FOR_SORTED = { withText: 1.5, withoutText: 0.25 };
/** How much dearer it is to follow an order whose keys are in another table. */
const LOOKED_UP = 2;
const COUNT_CACHE_TTL_MS = 60_000;

/** Connections for searches alone: however many there are, the rest of the catalog has its own. */
const CONNECTIONS = {
  poolSize: 4,
  statementTimeoutMs: 3_000,
  settings: {
    // Enough for an exact bitmap of the pages of a million listings.
    work_mem: '32MB',
    // Which road a statement takes is decided here, by what was counted; the planner is left with the indexes.
    random_page_cost: '1.1',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    jit: 'off',
    // Many search at a time.
    max_parallel_workers_per_gather: '0',
    'pg_trgm.similarity_threshold': '0.4',
  },
};

const countActive = sql(
  'active-listings.count',
  `SELECT coalesce(sum(change), 0)::int AS active, concat(max(id), ' ', count(*)) AS version FROM active_listings`,
);
const sumUp = sql(
  'active-listings.sum-up',
  `WITH former AS (DELETE FROM active_listings WHERE (SELECT count(*) FROM active_listings) > 1 RETURNING change)
   INSERT INTO active_listings (change) SELECT sum(change) FROM former HAVING count(*) > 0`,
);
// Bounded: of very many that resemble it, not all are compared.
const alike = sql(
  'listing-slugs.alike',
  `SELECT slug FROM (SELECT slug, listing_id FROM listing_slugs WHERE slug % $1 LIMIT 200) found
   WHERE EXISTS (SELECT FROM listings WHERE id = listing_id AND status = 'active') ORDER BY similarity(slug, $1) DESC, slug LIMIT 3`,
);
const SUMMARY_INTERVAL_MS = 60_000;
/** As many as CATALOG_LISTINGS_PER_SELLER_MAX may be. */
const MAX_OF_SELLER = 1_000_000;

interface ActiveCount {
  active: number;
  /** Another after every change of a listing. */
  version: string;
}

/** How many listings match. */
interface Count {
  matches: number;
  isEstimate: boolean;
}

interface Total extends Count {
  version: string;
}

const NOTHING: Page = { ids: [], key: null };

/**
 * Searches with the indexes of the catalog's own tables. The number of matches decides how a page is found: a few are read
 * from the GIN index and sorted; for many, the index of the sort order is scanned until the page is full.
 */
export class PostgresListingSearch extends ListingSearch implements OnModuleInit, OnModuleDestroy {
  private connections: Database | undefined;
  private readonly totals = new LRUCache<string, Total>({ max: 5_000, ttl: COUNT_CACHE_TTL_MS });
  /** By filters, order and offset, where the page before it ended. */
  private readonly ends = new LRUCache<string, PageEnd>({ max: 5_000, ttl: COUNT_CACHE_TTL_MS });

  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly bounds: SearchBounds = BOUNDS,
  ) {
    super();
  }

  onModuleInit(): void {
    this.jobs.beforeReady(async () => void (this.connections = await this.database.openPool(CONNECTIONS)));
    this.jobs.every('sum up active listings', SUMMARY_INTERVAL_MS, () => this.sumUp());
  }

  async onModuleDestroy(): Promise<void> {
    await this.connections?.close();
  }

  /** Merges the rows that count changes of active listings into one. Concurrent runs skip each other's rows. */
  async sumUp(): Promise<void> {
    await this.database.query(sumUp);
  }

  async find(wanted: WantedListings): Promise<FoundListings> {
    if (wanted.sellerId !== undefined) return this.findOfSeller(wanted);
    const activeCount = await this.ask<ActiveCount>([countActive, []]);
    if (isFiltered(wanted)) return this.findFiltered(wanted, activeCount);
    const { active } = activeCount;
    return this.answer(wanted, await this.pageOfAll(wanted, active), { matches: active, isEstimate: false });
  }

  async slugsLike(slug: string): Promise<string[]> {
    return (await this.connections!.query<{ slug: string }>(alike, [slug])).map((row) => row.slug);
  }

  /** The listings of one seller are few enough to be sorted. */
  private async findOfSeller(query: Query): Promise<FoundListings> {
    const { matches, ...page } = await this.ask<Page & { matches: number }>(
      fewMatches(query, { most: MAX_OF_SELLER, sortable: MAX_OF_SELLER }),
    );
    return this.answer(query, page, { matches, isEstimate: false });
  }

  private async findFiltered(query: Query, activeCount: ActiveCount): Promise<FoundListings> {
    const { active, version } = activeCount;
    const filters = JSON.stringify(filterValues(query));
    let total = this.totals.get(filters);
    // An estimate may be a minute old; what was counted holds until a listing changes.
    if (!total || (!total.isEstimate && total.version !== version)) {
      const { sorted, ...counted } = await this.count(query, activeCount);
      if (counted.matches === 0) return this.findCorrected(query, activeCount);
      this.totals.set(filters, (total = counted));
      if (sorted) return this.answer(query, sorted, total);
    }
    const end = total.isEstimate ? active : total.matches;
    const page = query.offset < end ? await this.pageAmong(query, total.matches, active) : NOTHING;
    return this.answer(query, page, total);
  }

  private async answer(query: Query, page: Page, { matches, isEstimate }: Count): Promise<FoundListings> {
    const { itemsJson } =
      page.ids.length > 0 ? await this.ask<{ itemsJson: string }>(shown(query, page.ids)) : { itemsJson: '[]' };
    const total = isEstimate ? this.totalBeside(page, query, matches) : matches;
    return { itemsJson, total, totalIsEstimate: isEstimate };
  }

  /** With the page that was asked for where it came of itself. */
  private async count(query: Query, { active, version }: ActiveCount): Promise<Total & { sorted?: Page }> {
    const most = this.bounds.counted;
    const guess = await this.guess(query, active);
    if (!guess.isCertainlyMany && hasText(query)) {
      // Matches have their keys with them, but for their popularity and reliability, which is looked up: not for more of them than an order is followed for.
      const sortable = isCounted(query.sort)
        ? Math.min(most, Math.ceil(Math.sqrt(FOLLOWED_FOR_SORTED.withText * (query.offset + query.limit) * active)))
        : most;
      const { matches, ...page } = await this.ask<Page & { matches: number }>(
        fewMatches(query, { most: most + 1, sortable }),
      );
      if (matches <= most) return { matches, isEstimate: false, version, ...(matches <= sortable && { sorted: page }) };
    } else if (!guess.isCertainlyMany) {
      // Counted off an index alone, which knows neither keys nor ids.
      const { matches } = await this.ask<{ matches: number }>(matchesOf(query, most + 1));
      if (matches <= most) return { matches, isEstimate: false, version };
    }
    return { matches: Math.max(guess.matches, most + 1), isEstimate: true, version };
  }

  /** No listing has what a text asks for, or it is misspelt. */
  private async findCorrected({ text, ...query }: Query, activeCount: ActiveCount): Promise<FoundListings> {
    if (text !== undefined) {
      const { asked, corrected } = await this.ask<{ asked: string; corrected: string }>(correction(text));
      if (corrected !== asked) return this.findFiltered({ ...query, tsquery: corrected }, activeCount);
    }
    return { itemsJson: '[]', total: 0, totalIsEstimate: false };
  }

  /** How many listings match, going by a sample; certain where five standard deviations lie between that and what is counted. */
  private async guess(query: Query, active: number): Promise<{ matches: number; isCertainlyMany: boolean }> {
    const { counted, sample } = this.bounds;
    if (active <= counted) return { matches: 0, isCertainlyMany: false };
    const { hits } = await this.ask<{ hits: number }>(matchesInSample(query, sample));
    const share = Math.min(sample / active, 1);
    const expected = counted * share;
    return { matches: Math.round(hits / share), isCertainlyMany: hits > expected + 5 * Math.sqrt(expected) };
  }

  private async pageOfAll(query: Query, active: number): Promise<Page> {
    const { offset } = query;
    const limit = Math.min(query.limit, active - offset);
    if (limit <= 0) return NOTHING;
    const isBackward = offset > active / 2;
    const page = await this.ask<Page>(
      follow({ ...query, limit }, { offset: isBackward ? active - offset - limit : offset, most: active, isBackward }),
    );
    return isBackward ? { ...page, ids: page.ids.reverse() } : page;
  }

  /** A page of so many matches. */
  private async pageAmong(query: Query, matches: number, active: number): Promise<Page> {
    const { offset, limit } = query;
    const place = (at: number): string => [at, query.sort, JSON.stringify(filterValues(query))].join(' ');
    const after = this.ends.get(place(offset));
    const page = after
      ? await this.ask<Page>(follow(query, { after, offset: 0, most: active }))
      : await this.pageFrom(query, matches, active);
    const last = page.key === null ? after : { key: page.key, id: page.ids.at(-1)! };
    if (last && offset + limit >= this.bounds.joined) this.ends.set(place(offset + limit), last);
    return page;
  }

  private async pageFrom(query: Query, matches: number, active: number): Promise<Page> {
    const { offset, limit } = query;
    const followed = Math.ceil(((offset + limit) * active) / matches);
    const isFollowable = followed * (isCounted(query.sort) ? LOOKED_UP : 1) <= this.bounds.followed;
    const isSortable = matches <= this.bounds.sorted;
    if (!isFollowable && !isSortable) return this.pageNear(query, matches, active);
    const following = followed * FOLLOWED_FOR_SORTED[hasText(query) ? 'withText' : 'withoutText'];
    if (isFollowable && !(isSortable && matches < following)) {
      const most = 3 * followed + 1_000;
      const page = await this.ask<Page>(follow(query, { offset, most }));
      // Where matches are this much rarer at the head of the order, they may all stand at its end.
      if (page.ids.length === limit || most >= active) return page;
    }
    return this.ask<Page>(fewMatches(query, { most: active, sortable: active }));
  }

  /** A page that begins about where the offset is: behind the match of a sample that has as large a share of all before it. */
  private async pageNear(query: Query, matches: number, active: number): Promise<Page> {
    const { offset } = query;
    const mark = await this.ask<(PageEnd & { share: number }) | undefined>(
      landmark(query, { size: this.bounds.landmarks, share: offset / matches }),
    );
    const passed = mark ? Math.round(mark.share * matches) : 0;
    return this.ask<Page>(follow(query, { after: mark, offset: Math.max(offset - passed, 0), most: active }));
  }

  /** An estimate that the page beside it does not belie: behind a full page is another, behind a short one is none. */
  private totalBeside({ ids }: Page, { offset, limit }: Query, estimate: number): number {
    const end = offset + ids.length;
    if (ids.length === limit) return Math.max(estimate, end + 1);
    return Math.max(ids.length > 0 ? end : Math.min(estimate, offset), this.bounds.counted + 1);
  }

  private async ask<Row>([statement, values]: Bound): Promise<Row> {
    const [row] = await this.connections!.query<Row>(statement, values);
    return row!;
  }
}
