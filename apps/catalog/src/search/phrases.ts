import { searchListings } from '@market/contracts/catalog';
import { refuse } from '@market/messaging';
import { sql, type Database } from '@market/persistence';
import type { ListingIndex, PhrasePostings } from './listing-index.js';
import { Postings } from './postings.js';
import { phrasesIn, type TextQuery } from './text-query.js';

const among = sql('listing-search.phrase-among', 'SELECT id FROM listings WHERE id = ANY($1::uuid[]) AND search @@ $2::tsquery');
const everywhere = sql('listing-search.phrase', `SELECT id FROM listings WHERE status = 'active' AND search @@ $1::tsquery`);

/** Up to so many listings with all the words of a phrase are looked at one by one; with more of them PostgreSQL looks at all. */
const FEW = 500;
/** New phrases of common words that wait behind the one being looked up. More would only wait longer than anyone does. */
const MOST_WAITING = 4;
const MOST_BYTES = 16_000_000;
const RETRY_AFTER_SECONDS = 2;

interface Known {
  postings: Postings;
  /** Slots below it were looked at; what is in a slot never changes. */
  upTo: number;
}

/**
 * Where phrases occur. The index has no positions, which would triple it, so PostgreSQL is asked once for each phrase, and
 * after that for listings that are newer. That may take a second for a phrase of common words: one is looked up at a time.
 */
export class Phrases {
  private readonly known = new Map<string, Known>();
  private bytes = 0;
  private readonly lookups = new Map<string, Promise<void>>();
  private queue: Promise<void> = Promise.resolve();
  private waiting = 0;

  constructor(
    private readonly index: ListingIndex,
    private readonly database: Database,
  ) {}

  /**
   * Calls `use` when the phrases of a query are known for every slot of the index. Queries: none for known phrases and
   * unchanged listings; 1 for each other phrase.
   * @throws Refusal `busy` where too many have to be looked up.
   */
  async resolve<T>(query: TextQuery | undefined, use: (phrases: PhrasePostings) => T): Promise<T> {
    const phrases = query ? phrasesIn(query) : [];
    for (;;) {
      const behind = phrases.filter(({ tsquery }) => (this.known.get(tsquery)?.upTo ?? 0) < this.index.slots);
      if (behind.length === 0) return use((tsquery) => this.recall(tsquery));
      await Promise.all(behind.map(({ tsquery, lexemes }) => this.learn(tsquery, lexemes)));
    }
  }

  private recall(tsquery: string): Postings {
    const known = this.known.get(tsquery);
    if (!known) return new Postings();
    this.known.delete(tsquery);
    this.known.set(tsquery, known);
    return known.postings;
  }

  private learn(tsquery: string, lexemes: string[]): Promise<void> {
    let lookup = this.lookups.get(tsquery);
    if (!lookup) {
      lookup = this.lookUp(tsquery, lexemes).finally(() => this.lookups.delete(tsquery));
      this.lookups.set(tsquery, lookup);
    }
    return lookup;
  }

  private async lookUp(tsquery: string, lexemes: string[]): Promise<void> {
    const { postings, upTo } = this.known.get(tsquery) ?? { postings: new Postings(), upTo: 0 };
    const until = this.index.slots;
    const ids = await this.ask(tsquery, this.index.slotsWith(lexemes, upTo));
    const slots = ids.map((id) => this.index.slotOf(id)).filter((slot) => slot !== undefined && slot >= upTo && slot < until) as number[];
    const before = postings.byteLength;
    for (const slot of Uint32Array.from(slots).sort()) postings.add(slot);
    this.keep(tsquery, { postings, upTo: until }, before);
  }

  private async ask(tsquery: string, candidates: Uint32Array): Promise<string[]> {
    if (candidates.length === 0) return [];
    const rows = await (candidates.length > FEW
      ? this.oneAtATime(() => this.database.query<{ id: string }>(everywhere, [tsquery]))
      : this.database.query<{ id: string }>(among, [this.index.idsOf(candidates), tsquery]));
    return rows.map(({ id }) => id);
  }

  private keep(tsquery: string, known: Known, bytesBefore: number): void {
    this.bytes += known.postings.byteLength - (this.known.delete(tsquery) ? bytesBefore : 0);
    this.known.set(tsquery, known);
    for (const [oldest, { postings }] of this.known) {
      if (this.bytes <= MOST_BYTES || oldest === tsquery) break;
      this.known.delete(oldest);
      this.bytes -= postings.byteLength;
    }
  }

  private oneAtATime<T>(work: () => Promise<T>): Promise<T> {
    if (this.waiting >= MOST_WAITING) throw refuse(searchListings, 'busy', { retry_after_seconds: RETRY_AFTER_SECONDS });
    this.waiting += 1;
    const turn = this.queue.then(() => {
      this.waiting -= 1;
      return work();
    });
    this.queue = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }
}
