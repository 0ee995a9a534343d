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
  isAfter,
  landmarksOf,
  matchesInSample,
  matchesOf,
  follow,
  pageWithin,
  ratedMatches,
  shown,
  UNRATED,
  type Bound,
  type Landmark,
  type Page,
  type PageEnd,
  type PageRange,
  type Query,
} from './search-sql.js';

/** The numbers of listings at which the search switches between its strategies. */
export interface SearchBounds {
  /** Totals up to this number are exact. */
  counted: number;
  /** The size of the random sample from which the number of matches is estimated. */
  sample: number;
  /** The size of the larger sample, from which the position of matches far down an order is estimated. */
  landmarks: number;
  /** The maximum number of listings to scan along the index of a sort order to fill a page. */
  followed: number;
  /** The maximum estimated number of matches to sort for one page; a third of what is sorted if no scan fills the page. */
  sorted: number;
}

export const BOUNDS: SearchBounds = {
  counted: 10_000,
  sample: 500,
  landmarks: 2_500,
  followed: 10_000,
  sorted: 20_000,
};
/**
 * The cost of scanning one listing along the index of a sort order, relative to sorting one match. Without a text, the
 * GIN index has to intersect longer lists.
 */
const FOLLOWED_FOR_SORTED = { withText: 1, withoutText: 0.25 };
/** The factor by which a scan costs more if the sort key is in another table. */
const LOOKED_UP = 2;
/** With this many sampled matches more than a page needs on average, all of the page is before the last one, nearly always. */
const SPARE_LANDMARKS = 8;
const COUNT_CACHE_TTL_MS = 60_000;

/**
 * A separate connection pool for searches, so that many searches do not take connections from the rest of the catalog.
 */
const CONNECTIONS = {
  poolSize: 4,
  statementTimeoutMs: 3_000,
  settings: {
    // Enough for an exact bitmap of the pages of a million listings.
    work_mem: '32MB',
    // The search chooses the strategy from its own counts, so the planner is limited to index scans.
    random_page_cost: '1.1',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    jit: 'off',
    // Many searches run concurrently.
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
// The LIMIT bounds the number of similar slugs that are compared.
const alike = sql(
  'listing-slugs.alike',
  `SELECT slug FROM (SELECT slug, listing_id FROM listing_slugs WHERE slug % $1 LIMIT 200) found
   WHERE EXISTS (SELECT FROM listings WHERE id = listing_id AND status = 'active') ORDER BY similarity(slug, $1) DESC, slug LIMIT 3`,
);
const SUMMARY_INTERVAL_MS = 60_000;
/** The maximum value of CATALOG_LISTINGS_PER_SELLER_MAX. */
const MAX_OF_SELLER = 1_000_000;

interface ActiveCount {
  active: number;
  /** Changes with every change of a listing. */
  version: string;
}

interface Count {
  matches: number;
  isEstimate: boolean;
}

/** The number of matches, maybe estimated, and the number of active listings. */
interface Counts {
  matches: number;
  active: number;
}

/** Where a page starts. */
type Start = Pick<PageRange, 'after' | 'offset'>;

interface Total extends Count {
  version: string;
}

const NOTHING: Page = { ids: [], key: null };

/** Adds the sampled matches that follow a page that is not full. */
function filledUp(query: Query, { ids, key }: Page, landmarks: Landmark[], after: PageEnd | undefined): Page {
  const last = key === null ? after : { key, id: ids.at(-1)! };
  const added = landmarks.filter((each) => !last || isAfter(query, each, last)).slice(0, query.limit - ids.length);
  return { ids: [...ids, ...added.map(({ id }) => id)], key: added.at(-1)?.key ?? key };
}

/** Identify the matches of a search, and their order, in the caches. */
const filtersKey = (query: Query): string => JSON.stringify(filterValues(query));
const orderKey = (query: Query): string => `${query.sort} ${filtersKey(query)}`;

/**
 * Searches with the indexes of the catalog's own tables. The number of matches decides how a page is found: a few are read
 * from the GIN index and sorted; for many, the index of the sort order is scanned until the page is full.
 */
export class PostgresListingSearch extends ListingSearch implements OnModuleInit, OnModuleDestroy {
  private connections: Database | undefined;
  private readonly totals = new LRUCache<string, Total>({ max: 5_000, ttl: COUNT_CACHE_TTL_MS });
  /** The end of the previous page, by filters, order and offset. */
  private readonly ends = new LRUCache<string, PageEnd>({ max: 20_000, ttl: COUNT_CACHE_TTL_MS });
  private readonly landmarksFound = new LRUCache<string, Landmark[]>({ max: 200, ttl: COUNT_CACHE_TTL_MS });

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

  /** Sorts all matches, because the listings of one seller are few. */
  private async findOfSeller(query: Query): Promise<FoundListings> {
    const { matches, ...page } = await this.ask<Page & { matches: number }>(
      fewMatches(query, { most: MAX_OF_SELLER, sortable: MAX_OF_SELLER }),
    );
    return this.answer(query, page, { matches, isEstimate: false });
  }

  private async findFiltered(query: Query, activeCount: ActiveCount): Promise<FoundListings> {
    const { active, version } = activeCount;
    const filters = filtersKey(query);
    let total = this.totals.get(filters);
    // An estimate is cached for a minute; an exact count is valid until a listing changes.
    if (!total || (!total.isEstimate && total.version !== version)) {
      const { sorted, ...counted } = await this.count(query, activeCount);
      if (counted.matches === 0) return this.findCorrected(query, activeCount);
      this.totals.set(filters, (total = counted));
      if (sorted) return this.answer(query, sorted, total);
    }
    // Far beyond an estimate there is nothing, and finding that out would be expensive.
    const end = total.isEstimate ? Math.min(3 * total.matches, active) : total.matches;
    const page = query.offset < end ? await this.pageAmong(query, total.matches, active) : NOTHING;
    return this.answer(query, page, total);
  }

  private async answer(query: Query, page: Page, { matches, isEstimate }: Count): Promise<FoundListings> {
    const { itemsJson } =
      page.ids.length > 0 ? await this.ask<{ itemsJson: string }>(shown(query, page.ids)) : { itemsJson: '[]' };
    const total = isEstimate ? this.totalBeside(page, query, matches) : matches;
    return { itemsJson, total, totalIsEstimate: isEstimate };
  }

  /** Counts the matches. The result includes the requested page if the same statement could return it. */
  private async count(query: Query, { active, version }: ActiveCount): Promise<Total & { sorted?: Page }> {
    const most = this.bounds.counted;
    const guess = await this.guess(query, active);
    if (!guess.isCertainlyMany && hasText(query)) {
      // The statement looks up popularity or reliability for each match, so it sorts at most as many matches as a scan
      // of the order would cost.
      const sortable = isCounted(query.sort)
        ? Math.min(most, Math.ceil(Math.sqrt(FOLLOWED_FOR_SORTED.withText * (query.offset + query.limit) * active)))
        : most;
      const { matches, ...page } = await this.ask<Page & { matches: number }>(
        fewMatches(query, { most: most + 1, sortable }),
      );
      if (matches <= most) return { matches, isEstimate: false, version, ...(matches <= sortable && { sorted: page }) };
    } else if (!guess.isCertainlyMany) {
      // This is an index-only scan, which returns neither sort keys nor ids.
      const { matches } = await this.ask<{ matches: number }>(matchesOf(query, most + 1));
      if (matches <= most) return { matches, isEstimate: false, version };
    }
    return { matches: Math.max(guess.matches, most + 1), isEstimate: true, version };
  }

  /** Called if nothing matches. Searches again with the corrected text if the text has a spelling correction. */
  private async findCorrected({ text, ...query }: Query, activeCount: ActiveCount): Promise<FoundListings> {
    if (text !== undefined) {
      const { asked, corrected } = await this.ask<{ asked: string; corrected: string }>(correction(text));
      if (corrected !== asked) return this.findFiltered({ ...query, tsquery: corrected }, activeCount);
    }
    return { itemsJson: '[]', total: 0, totalIsEstimate: false };
  }

  /**
   * Estimates the number of matches from a sample. `isCertainlyMany` is true if the estimate exceeds the counting limit
   * by five standard deviations.
   */
  private async guess(
    query: Query,
    active: number,
    size = this.bounds.sample,
  ): Promise<{ matches: number; isCertainlyMany: boolean }> {
    const { counted, landmarks } = this.bounds;
    if (active <= counted) return { matches: 0, isCertainlyMany: false };
    const isEnough = (hits: number, ofSample: number): boolean => {
      const expected = counted * Math.min(ofSample / active, 1);
      return hits > expected + 5 * Math.sqrt(expected);
    };
    const { hits } = await this.ask<{ hits: number }>(matchesInSample(query, size));
    const isCertainlyMany = isEnough(hits, size);
    // Among many listings, counting the matches of a text costs more than a larger sample, which may be enough.
    const isMarketLarge = active > 100 * landmarks;
    if (!isCertainlyMany && isMarketLarge && hasText(query) && isEnough((hits * landmarks) / size, landmarks))
      return this.guess(query, active, landmarks);
    return { matches: Math.round(hits / Math.min(size / active, 1)), isCertainlyMany };
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

  /** Returns one page, given the number of matches, and caches where it ends. */
  private async pageAmong(query: Query, matches: number, active: number): Promise<Page> {
    const { offset, limit } = query;
    const place = (at: number): string => `${at} ${orderKey(query)}`;
    const after = this.ends.get(place(offset));
    const page = await this.pageFrom(query, { matches, active }, { after, offset: after ? 0 : offset });
    const last = page.key === null ? after : { key: page.key, id: page.ids.at(-1)! };
    if (last) this.ends.set(place(offset + limit), last);
    return page;
  }

  private async pageFrom(query: Query, counts: Counts, from: Start): Promise<Page> {
    const { matches, active } = counts;
    const { sort, limit } = query;
    const { counted, landmarks, sorted } = this.bounds;
    const followed = ((from.offset + limit) * active) / matches;
    const isFollowable = followed * (isCounted(sort) ? LOOKED_UP : 1) <= this.bounds.followed;
    // Beyond the matches that were counted, a page near its place may cost less.
    const nearby = ((active / landmarks + limit) * active) / matches;
    const isSortable = matches <= counted || matches <= Math.min(sorted, nearby);
    const following = followed * FOLLOWED_FOR_SORTED[hasText(query) ? 'withText' : 'withoutText'];
    if (isFollowable && !(isSortable && matches < following)) {
      const most = Math.ceil(3 * followed) + 1_000;
      const page = await this.ask<Page>(follow(query, { ...from, most }));
      if (page.ids.length === limit || most >= active) return page;
    }
    const sortedPage = isSortable ? await this.pageOfFew(query, counts) : undefined;
    return sortedPage ?? this.pageNear(query, counts, from);
  }

  /** Returns a page by sorting all matches, if they are not too many. */
  private async pageOfFew(query: Query, { matches }: Counts): Promise<Page | undefined> {
    // The number of matches may be an estimate that is too low.
    const most = 3 * Math.max(this.bounds.sorted, this.bounds.counted);
    if (matches > most) return undefined;
    const found = await this.ask<Page & { matches: number }>(fewMatches(query, { most: most + 1, sortable: most }));
    return found.matches > most ? undefined : found;
  }

  /**
   * Returns a page that starts near the offset. It starts the scan at a sampled match that has about the same share of
   * all matches before it. If the scan does not fill the page, the matches are far from each other, and the page is
   * sorted from as few of them as possible.
   */
  private async pageNear(query: Query, counts: Counts, from: Start): Promise<Page> {
    const { matches, active } = counts;
    const landmarks = await this.landmarks(query);
    const mark = landmarks.findLast(
      (each) =>
        from.offset > 0 && each.share * matches <= query.offset && (!from.after || isAfter(query, each, from.after)),
    );
    const start = mark ? { after: mark, offset: query.offset - Math.round(mark.share * matches) } : from;
    // Only beyond the end there are more matches to skip than between two sampled ones.
    const skipped = Math.min(start.offset, matches / landmarks.length);
    const most = Math.ceil((3 * (skipped + query.limit) * active) / matches + this.bounds.followed / 2);
    const page = await this.ask<Page>(follow(query, { ...start, most }));
    if (page.ids.length === query.limit || most >= active) return page;
    if (!isCounted(query.sort)) return this.pageUpTo(query, counts, start, landmarks);
    return (
      (await this.pageOfRated(query, counts, start)) ??
      (await this.pageOfFew(query, counts)) ??
      filledUp(query, page, landmarks, start.after)
    );
  }

  /** Returns a page of matches that are far from each other. It sorts the matches up to a sampled match. */
  private async pageUpTo(
    query: Query,
    { matches }: Counts,
    { after, offset }: Start,
    landmarks: Landmark[],
  ): Promise<Page> {
    const ahead = landmarks.filter((each) => !after || isAfter(query, each, after));
    const between = Math.ceil(((offset + query.limit) * landmarks.length) / matches);
    for (let count = between + SPARE_LANDMARKS; ; count *= 2) {
      const until = ahead[count];
      const page = await this.ask<Page>(pageWithin(query, { after, until }, offset));
      if (page.ids.length === query.limit || !until) return page;
    }
  }

  /**
   * Returns a page in the order `reliable` if few of the matches are sold by the call. Only those can have a reliability, and
   * all others follow them.
   */
  private async pageOfRated(query: Query, counts: Counts, start: Start): Promise<Page | undefined> {
    const { sort, limit, pricingModel, live } = query;
    if (sort !== 'reliable' || pricingModel !== undefined || live || start.after?.key === UNRATED.key) return undefined;
    const few = this.bounds.counted;
    const { matches, rated, ...page } = await this.ask<Page & { matches: number; rated: number }>(
      ratedMatches(query, few, start),
    );
    if (matches > few) return undefined;
    const missing = limit - page.ids.length;
    if (missing === 0) return page;
    const others = { ...query, offset: query.offset + page.ids.length, limit: missing };
    const rest = await this.pageNear(others, counts, { after: UNRATED, offset: Math.max(start.offset - rated, 0) });
    return { ids: [...page.ids, ...rest.ids], key: rest.key ?? page.key };
  }

  private async landmarks(query: Query): Promise<Landmark[]> {
    const key = orderKey(query);
    const known = this.landmarksFound.get(key);
    if (known) return known;
    const { landmarks } = await this.ask<{ landmarks: Landmark[] }>(landmarksOf(query, this.bounds.landmarks));
    this.landmarksFound.set(key, landmarks);
    return landmarks;
  }

  /**
   * Adjusts an estimated total to the page: a full page is followed by another match, and a page that is not full is
   * the last one.
   */
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
