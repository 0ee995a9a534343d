import type { OutputOf } from '@market/contracts';
import type { searchListings } from '@market/contracts/catalog';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Meaning } from './meaning/meaning.js';
import { FEW_LEFT, isBroad, promising } from './relevance.js';
import type { Question } from './concepts.js';
import { QuestionReader } from './question.js';
import {
  areAllWanted,
  browsed,
  browsedFewRated,
  countOf,
  facetsOf,
  nearNames,
  nearestIn,
  ranked,
  shown,
  type Bound,
  type Facets,
  type Page,
  type Query,
  type Ranked,
  type WantedListings,
} from './search-sql.js';

export type FoundListings = OutputOf<typeof searchListings>;

/** Totals up to this number are exact, and pages reach so far; a cursor goes on. */
const COUNTED = 10_000;

/**
 * A separate connection pool for searches, so that many searches do not take connections from the rest of the catalog.
 */
const CONNECTIONS = {
  poolSize: 4,
  statementTimeoutMs: 3_000,
  settings: {
    // Enough for an exact bitmap of the pages of a million listings.
    work_mem: '32MB',
    // Statements choose their way by what they have counted, so the planner is limited to index scans.
    random_page_cost: '1.1',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
    jit: 'off',
    // Many searches run concurrently.
    max_parallel_workers_per_gather: '0',
    'pg_trgm.similarity_threshold': '0.4',
    // pgvector goes on until it has enough of what the filters leave.
    'hnsw.iterative_scan': 'strict_order',
  },
};

// The planner's statistics say how many of many there are.
const countActive = sql(
  'listings.count-active',
  `SELECT CASE WHEN known.listings > $1 THEN known.listings
     ELSE (SELECT count(*) FROM (SELECT FROM listings WHERE status = 'active' LIMIT $1) found) END::int AS active
   FROM (SELECT reltuples::bigint AS listings FROM pg_class WHERE oid = 'listings_newest'::regclass) known`,
);
// The LIMIT bounds the number of similar slugs that are compared.
const alike = sql(
  'listing-slugs.alike',
  `SELECT slug FROM (SELECT slug, listing_id FROM listing_slugs WHERE slug % $1 LIMIT 200) found
   WHERE EXISTS (SELECT FROM listings WHERE id = listing_id AND status = 'active') ORDER BY similarity(slug, $1) DESC, slug LIMIT 3`,
);

const ACTIVE_TTL_MS = 30_000;

const NOTHING: Page = { ids: [], key: null };

/** Searches the listings. A result includes everything that was committed before the search started. */
@Injectable()
export class ListingSearch implements OnModuleInit, OnModuleDestroy {
  private connections: Database | undefined;
  private reader: QuestionReader | undefined;
  private active = { listings: 0, until: 0 };

  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    private readonly meaning: Meaning,
  ) {}

  onModuleInit(): void {
    this.jobs.beforeReady(async () => {
      this.connections = await this.database.openPool(CONNECTIONS);
      this.reader = new QuestionReader(this.connections);
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.connections?.close();
  }

  async find(wanted: WantedListings, counted = COUNTED): Promise<FoundListings> {
    const { text } = wanted;
    if (text === undefined) return this.browse(wanted, counted);
    const isByRelevance = (wanted.sort ?? 'relevance') === 'relevance' && !wanted.inEveryState;
    const [[question, active], vector] = await Promise.all([
      this.read(text, counted, wanted.sellerId),
      isByRelevance ? this.meaning.of(text) : null,
    ]);
    const { concepts, named, must, read } = question;
    const nearest = vector && question.mass > 0 ? await this.nearestTo(vector, wanted, must) : [];
    if (concepts.length > 0 || nearest.length > 0) return this.rank(wanted, question, active, nearest);
    const found = (named ?? must) === null ? EMPTY : await this.browse({ ...wanted, named, must }, counted);
    return { ...found, search: { ...read, match: found.total > 0 ? 'all' : 'none' } };
  }

  /** Returns slugs of active listings that are similar to the given slug, most similar first. */
  async slugsLike(slug: string): Promise<string[]> {
    return (await this.connections!.query<{ slug: string }>(alike, [slug])).map((row) => row.slug);
  }

  /** Without a text: a few matches are sorted, and many are read along the index of their order. */
  private async browse(
    wanted: WantedListings & Pick<Query, 'must' | 'named'>,
    counted: number,
  ): Promise<FoundListings> {
    const query = { ...wanted, sort: wanted.sort === 'relevance' ? ('newest' as const) : (wanted.sort ?? 'newest') };
    const matches = areAllWanted(query) ? await this.countActive(counted) : await this.count(query, counted + 1);
    const areMany = matches > counted;
    const total = Math.min(matches, counted);
    const page = isWithin(query, total) ? await this.page(query, areMany, counted) : NOTHING;
    const found = await this.answer(query, page, total, areMany);
    if (!query.facets) return found;
    return { ...found, facets: areMany ? null : (await this.ask<{ facets: Facets }>(facetsOf(query))).facets };
  }

  private async page(query: Query, areMany: boolean, counted: number): Promise<Page> {
    const mayBeUnrated = areMany && query.sort === 'reliable' && !query.pricingModel && !query.live;
    if (!mayBeUnrated || !isNarrowed(query)) return this.ask<Page>(browsed(query, areMany));
    const matches = await this.count({ ...query, pricingModel: 'per_call' }, counted + 1);
    return this.ask<Page>(matches > counted ? browsed(query, areMany) : browsedFewRated(query));
  }

  private async read(text: string, counted: number, sellerId: string | undefined): Promise<[Question, number]> {
    const active = await this.countActive(counted);
    return [await this.reader!.read(text, active, sellerId), active];
  }

  /** The ids of the listings that are nearest to a vector, the nearest one first. */
  private async nearestTo(vector: string, wanted: WantedListings, must: string | null): Promise<string[]> {
    return (
      await this.ask<{ ids: string[] }>(nearestIn({ ...wanted, must, sort: 'relevance' }, vector, this.meaning.model))
    ).ids;
  }

  private async rank(
    wanted: WantedListings,
    question: Question,
    active: number,
    nearest: string[],
  ): Promise<FoundListings> {
    const query = { ...wanted, sort: wanted.sort ?? ('relevance' as const) };
    const parts = isBroad(question) ? promising(question, active, await this.left(query)) : [];
    const {
      matches: total,
      isPartial,
      strength,
      hasAll,
      near,
      facets,
      ...page
    } = await this.ask<Ranked>(ranked(query, question, parts, nearest));
    const found = await this.answer(query, isWithin(query, total) ? page : NOTHING, total, isPartial);
    const match = total === 0 ? 'none' : hasAll ? 'all' : strength < WEAK ? 'weak' : 'some';
    const shownNear = total === 0 && near.length > 0 ? await this.connections!.query<Near>(...nearNames(near)) : [];
    return {
      ...found,
      ...(facets && { facets: isPartial ? null : facets }),
      search: {
        ...question.read,
        match,
        ...(nearest.length > 0 && { meaning: true }),
        ...(shownNear.length > 0 && { near: shownNear }),
      },
    };
  }

  /** About how many listings there are. That of many changes slowly. */
  private async countActive(counted: number): Promise<number> {
    if (Date.now() >= this.active.until) {
      const { active } = await this.ask<{ active: number }>([countActive, [counted]]);
      this.active = { listings: active, until: active > counted ? Date.now() + ACTIVE_TTL_MS : 0 };
    }
    return this.active.listings;
  }

  /** How many listings the filters leave, up to a few; undefined without filters. */
  private async left(query: Query): Promise<number | undefined> {
    return isNarrowed(query) ? this.count(query, FEW_LEFT) : undefined;
  }

  private async count(query: Query, most: number): Promise<number> {
    return (await this.ask<{ matches: number }>(countOf(query, most))).matches;
  }

  private async answer(query: WantedListings, page: Page, total: number, areMany: boolean): Promise<FoundListings> {
    const { itemsJson } =
      page.ids.length > 0 ? await this.ask<{ itemsJson: string }>(shown(query, page.ids)) : { itemsJson: '[]' };
    const last = page.ids.length === query.limit ? { key: page.key!, id: page.ids.at(-1)! } : null;
    const isLast = !query.after && !areMany && query.offset + query.limit >= total;
    return { itemsJson, total, totalIsEstimate: areMany, next: isLast ? null : last };
  }

  private async ask<Row>([statement, values]: Bound): Promise<Row> {
    const [row] = await this.connections!.query<Row>(statement, values);
    return row!;
  }
}

/** Whether filters can leave out most listings. */
const isNarrowed = ({
  sellerId,
  categoryId,
  deliveryType,
  pricingModel,
  minPriceMicros,
  maxPriceMicros,
  minSuccess,
}: Query) =>
  Boolean(sellerId ?? categoryId ?? deliveryType ?? pricingModel ?? minPriceMicros ?? maxPriceMicros ?? minSuccess);

type Near = { id: string; slug: string; name: string };

/** Less of the question than this is too little to say that a listing fits it. */
const WEAK = 0.3;

const EMPTY: FoundListings = { itemsJson: '[]', total: 0, totalIsEstimate: false, next: null };

/** Whether a page has something; a cursor goes on beyond what is counted. */
const isWithin = ({ after, offset }: WantedListings, total: number): boolean => after !== undefined || offset < total;
