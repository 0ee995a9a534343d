import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { IndexedListings } from './indexed-listings.js';
import { ListingIndex } from './listing-index.js';
import { Phrases } from './phrases.js';

/** Read and put in at a time; a bite holds up everything else in the process for some ten milliseconds. */
const BITE = 1_000;
const LOOK_EVERY_MS = 1_000;
/** How long changes are kept, and how long a process may not have looked before it reads everything anew instead. */
const KEPT_SECONDS = 900;
const TRUSTED_FOR_MS = 300_000;

/** The index with what belongs to its slots. */
export interface Indexed {
  readonly index: ListingIndex;
  readonly phrases: Phrases;
}

interface Following extends Indexed {
  /** The snapshot of PostgreSQL up to which changes were put in. */
  snapshot: string;
  lookedAtMs: number;
}

/** The index of this process, as fresh as the database is: what was committed before it is asked for is in it. */
@Injectable()
export class LiveIndex implements OnModuleInit {
  private readonly listings: IndexedListings;
  private following: Following | undefined;
  private looking: Promise<Indexed> | undefined;
  private next: Promise<Indexed> | undefined;

  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
  ) {
    this.listings = new IndexedListings(database);
  }

  onModuleInit(): void {
    this.jobs.every('follow listings for search', LOOK_EVERY_MS, () => this.keep());
    this.jobs.every('forget followed changes', (KEPT_SECONDS * 1_000) / 15, () => this.listings.forget(KEPT_SECONDS));
  }

  /** Queries: 1, shared by all that ask while the one before is on its way; 1 or 2 more for each thousand of changes. */
  fresh(): Promise<Indexed> {
    this.next ??= (this.looking ?? Promise.resolve()).then(
      () => this.look(),
      () => this.look(),
    );
    return this.next;
  }

  private look(): Promise<Indexed> {
    this.next = undefined;
    return (this.looking = this.catchUp());
  }

  /** Also where nobody searches: so that the first who does finds an index, and no change is missed. */
  private async keep(): Promise<void> {
    const { index } = await this.fresh();
    if (index.isWasteful) this.following = await this.load();
  }

  private async catchUp(): Promise<Indexed> {
    const following = this.following;
    if (!following || performance.now() - following.lookedAtMs > TRUSTED_FOR_MS) return (this.following = await this.load());
    const lookedAtMs = performance.now();
    const { index } = following;
    let bite = await this.listings.changes(following.snapshot, BITE);
    const { snapshot } = bite;
    while (bite.changes.length > 0) {
      const idsOf = (kind: string): string[] => bite.changes.filter((change) => change.kind === kind).map(({ listingId }) => listingId);
      const [ids, counted] = [idsOf('listing'), idsOf('popularity')];
      // A change may be met twice, and what is read is the newest state, not that of the change: neither does harm.
      if (ids.length > 0) index.put(await this.listings.some(ids), ids);
      if (counted.length > 0) index.setCompletedCalls(await this.listings.counts(counted));
      bite = bite.changes.length < BITE ? { snapshot, changes: [] } : await this.listings.changes(following.snapshot, BITE, bite.changes.at(-1));
    }
    Object.assign(following, { snapshot, lookedAtMs });
    return following;
  }

  /** Reads every active listing; changes meanwhile are met by the next look. */
  private async load(): Promise<Following> {
    const lookedAtMs = performance.now();
    const snapshot = await this.listings.snapshot();
    const index = new ListingIndex();
    for (let listings = await this.listings.after(undefined, BITE); listings.length > 0; listings = await this.listings.after(listings.at(-1)!.id, BITE)) index.put(listings);
    return { index, phrases: new Phrases(index, this.database), snapshot, lookedAtMs };
  }
}
