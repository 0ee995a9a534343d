import { sql, type Database } from '@market/persistence';
import { VIEW_JOINS, VIEW_JSON } from '../listings/infra/listing-views.js';
import type { IndexedListing } from './listing-index.js';

// What a listing shows of its seller and of its category does not change. The counter is looked up for each row, since a join would be
// merged from the first counter on for every bite.
const readFrom = (listings: string): string => `
  SELECT l.id, (extract(epoch FROM l.created_at) * 1000)::float8 AS "createdAtMs", l.price_micros::float8 AS "priceMicros",
    coalesce((SELECT completed_calls FROM listing_popularity WHERE listing_id = l.id), 0)::float8 AS "completedCalls",
    l.category_id AS "categoryId", l.pricing_model AS "pricingModel", l.delivery_type AS "deliveryType",
    l.search::text AS tsvector, ${VIEW_JSON}::text AS shown
  FROM (SELECT * FROM listings WHERE status = 'active' AND ${listings}) l ${VIEW_JOINS}
  ORDER BY l.id`;

const after = sql('listing-search.after', readFrom('id > $1 ORDER BY id LIMIT $2'));
const some = sql('listing-search.some', readFrom('id = ANY($1::uuid[])'));
const counts = sql('listing-search.counts', `SELECT listing_id AS id, completed_calls::float8 AS "completedCalls" FROM listing_popularity WHERE listing_id = ANY($1::uuid[])`);
const snapshot = sql('listing-search.snapshot', 'SELECT pg_current_snapshot()::text AS snapshot');
const changes = sql(
  'listing-search.changes',
  `SELECT pg_current_snapshot()::text AS snapshot, change.*
   FROM (SELECT) once LEFT JOIN LATERAL (
     SELECT xid::text AS xid, listing_id AS "listingId", kind FROM listing_search_changes
     WHERE (xid, listing_id, kind) > ($2::xid8, $3::uuid, $4) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)
       AND ($6::text IS NULL OR pg_visible_in_snapshot(xid, $6::pg_snapshot))
     ORDER BY listing_search_changes.xid, listing_id, kind LIMIT $5
   ) change ON true`,
);
const forget = sql('listing-search.forget', 'DELETE FROM listing_search_changes WHERE changed_at < now() - make_interval(secs => $1)');

/** How far changes were read. */
interface Mark {
  xid: string;
  listingId: string;
  kind: string;
}

/** One commit's word on one listing. */
export interface Change extends Mark {
  kind: 'listing' | 'popularity';
}

const NO_ID = '00000000-0000-0000-0000-000000000000';

/** What the index is made of, as PostgreSQL has it. Each method is one statement. */
export class IndexedListings {
  constructor(private readonly database: Database) {}

  /** In the order of their ids. */
  after(id: string | undefined, limit: number): Promise<IndexedListing[]> {
    return this.database.query(after, [id ?? NO_ID, limit]);
  }

  /** Those of the ids that are active. */
  some(ids: string[]): Promise<IndexedListing[]> {
    return this.database.query(some, [ids]);
  }

  counts(ids: string[]): Promise<{ id: string; completedCalls: number }[]> {
    return this.database.query(counts, [ids]);
  }

  /** Which transactions are to be seen now, for `changes`. */
  async snapshot(): Promise<string> {
    return (await this.database.query<{ snapshot: string }>(snapshot))[0]!.snapshot;
  }

  /** What was committed since a snapshot, and up to which one that is. */
  changes(since: string, limit: number): Promise<{ snapshot: string; changes: Change[] }> {
    return this.read(since, limit, firstUnseen(since), null);
  }

  /** What follows a change of those that were committed since one snapshot up to another. */
  async moreChanges(since: string, limit: number, behind: Change, upTo: string): Promise<Change[]> {
    return (await this.read(since, limit, behind, upTo)).changes;
  }

  private async read(since: string, limit: number, behind: Mark, upTo: string | null): Promise<{ snapshot: string; changes: Change[] }> {
    const rows = await this.database.query<Change & { snapshot: string }>(changes, [since, behind.xid, behind.listingId, behind.kind, limit, upTo]);
    return { snapshot: rows[0]!.snapshot, changes: rows.filter(({ listingId }) => listingId !== null) };
  }

  /** Lets go of changes that every process has read since, or will read anew with everything. */
  async forget(olderThanSeconds: number): Promise<void> {
    await this.database.query(forget, [olderThanSeconds]);
  }
}

/** Every transaction before the `xmin` of a snapshot, which is printed `xmin:xmax:others`, is seen in it. */
const firstUnseen = (snapshot: string): Mark => ({ xid: snapshot.split(':')[0]!, listingId: NO_ID, kind: '' });
