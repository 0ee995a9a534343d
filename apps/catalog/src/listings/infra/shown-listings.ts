import { Database, GroupCommit, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { LiveIndex } from '../../search/live-index.js';

// One that was taken off the market since the index looked is not there.
const shown = sql('listings.shown', 'SELECT shown.json FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (id, place) LEFT JOIN shown_listings shown ON shown.listing_id = asked.id ORDER BY place');

/** In characters: some tens of megabytes. */
const MOST_KEPT = 24_000_000;
/** Of which it is known that they were read. */
const MOST_SEEN = 50_000;

/**
 * Active listings as search shows them, each as the text of a JSON object. Most searches end at the top of an order, so that what
 * was shown is shown again soon: what was read twice is kept until the index hears of a change, and is as fresh as that. What is read
 * once, as deep pages are, would only push it out.
 */
@Injectable()
export class ShownListings {
  private readonly kept = new LRUCache<string, string>({ maxSize: MOST_KEPT, sizeCalculation: (json) => json.length });
  private readonly seen = new Set<string>();
  /** How often changes were heard of: what was read before may be older than they are, and is not kept. */
  private heard = 0;
  private readonly asked = new GroupCommit<string[], (string | null)[]>((pages) => this.ask(pages));

  constructor(
    private readonly database: Database,
    live: LiveIndex,
  ) {
    live.onChange((ids) => this.hear(ids));
  }

  /** Queries: 1 at most, shared with others. @returns those that are active, in the order of the ids. */
  async inOrder(ids: string[]): Promise<string[]> {
    const views = ids.map((id) => this.kept.get(id));
    const missing = ids.filter((_, place) => views[place] === undefined);
    const read = missing.length === 0 ? [] : await this.asked.submit(missing);
    let next = 0;
    return views.map((view) => view ?? read[next++] ?? null).filter((view) => view !== null);
  }

  private async ask(pages: string[][]): Promise<(string | null)[][]> {
    const { heard } = this;
    const ids = pages.flat();
    const rows = await this.database.query<{ json: string | null }>(shown, [ids]);
    const views = rows.map(({ json }) => json);
    if (heard === this.heard) views.forEach((view, place) => view !== null && this.keep(ids[place]!, view));
    let first = 0;
    return pages.map(({ length }) => views.slice(first, (first += length)));
  }

  private keep(id: string, view: string): void {
    if (this.wasSeen(id)) this.kept.set(id, view);
  }

  private wasSeen(id: string): boolean {
    if (this.seen.delete(id)) return true;
    if (this.seen.size === MOST_SEEN) this.seen.clear();
    this.seen.add(id);
    return false;
  }

  /** @param ids of what changed; undefined where nobody knows. */
  private hear(ids: string[] | undefined): void {
    this.heard += 1;
    if (ids) ids.forEach((id) => this.kept.delete(id));
    else this.kept.clear();
  }
}
