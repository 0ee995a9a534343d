import { UnavailableError } from '@market/kernel';
import { Database } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { IndexedListings, type Change } from './indexed-listings.js';
import { ListingIndex } from './listing-index.js';
import { Phrases } from './phrases.js';

/** Read and put in at a time; a bite holds up everything else in the process for some ten milliseconds. */
const BITE = 500;
/** Before there is anything to hold up. */
const BITE_AT_START = 5_000;
const LOOK_EVERY_MS = 1_000;
/** How long a search waits where very much is to be read. */
const PATIENCE_MS = 3_000;
/** How long changes are kept, and how long a process may not have looked before it reads everything anew instead. */
const KEPT_SECONDS = 900;
const TRUSTED_FOR_MS = 300_000;

/** The index, with what was found of phrases in it. */
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
export class LiveIndex implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('LiveIndex');
  private readonly listings: IndexedListings;
  private following: Following | undefined;
  private looking: Promise<Indexed> | undefined;
  private next: Promise<Indexed> | undefined;
  private starting: Promise<Following> | undefined;
  private rebuilding: Promise<void> | undefined;
  private stopped = false;

  constructor(
    database: Database,
    private readonly jobs: Jobs,
  ) {
    this.listings = new IndexedListings(database);
  }

  onModuleInit(): void {
    this.jobs.beforeReady(async () => {
      await this.startAnew(BITE_AT_START);
      this.jobs.every('follow listings for search', LOOK_EVERY_MS, () => this.keep());
    });
    this.jobs.every('forget followed changes', (KEPT_SECONDS * 1_000) / 15, () => this.listings.forget(KEPT_SECONDS));
  }

  onModuleDestroy(): void {
    this.stopped = true;
  }

  /** As it is before the next look, which mostly finds no change; undefined where there is none yet. */
  get current(): Indexed | undefined {
    return this.following;
  }

  /**
   * Where hundreds of thousands of listings change at once, what was put in so far after a while.
   * Queries: 1, shared by all that ask while the one before is on its way; 1 or 2 more for each 500 changes.
   * @throws UnavailableError where there is no index yet and reading one takes long.
   */
  fresh(): Promise<Indexed> {
    this.next ??= this.patiently(
      (this.looking ?? Promise.resolve()).then(
        () => this.look(),
        () => this.look(),
      ),
    );
    return this.next;
  }

  /** The rest of this turn of the event loop may still join. */
  private async look(): Promise<Indexed> {
    await nextTurn();
    this.next = undefined;
    return (this.looking = this.catchUp());
  }

  private patiently(looked: Promise<Indexed>): Promise<Indexed> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => (this.following ? resolve(this.following) : reject(new UnavailableError('the index of listings')));
      const timer = setTimeout(giveUp, PATIENCE_MS);
      looked.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** Also where nobody searches: so that the first who does finds an index, and no change is missed. */
  private async keep(): Promise<void> {
    const { index } = await this.fresh();
    if (index.isWasteful) this.rebuild();
  }

  /** Not awaited: a process that stops waits for its jobs. */
  private rebuild(): void {
    this.rebuilding ??= this.load(BITE)
      .then((following) => void (this.following = following))
      .catch((error: unknown) => this.logger.warn(`the index was not built anew: ${String(error)}`))
      .finally(() => (this.rebuilding = undefined));
  }

  private async catchUp(): Promise<Indexed> {
    const following = this.following;
    if (!following || Date.now() - following.lookedAtMs > TRUSTED_FOR_MS) return this.startAnew(BITE);
    const lookedAtMs = Date.now();
    const { index } = following;
    const { snapshot, changes } = await this.listings.changes(following.snapshot, BITE);
    for (let bite = changes; bite.length > 0; ) {
      await this.follow(index, bite);
      bite = bite.length < BITE ? [] : await this.listings.moreChanges(following.snapshot, BITE, bite.at(-1)!, snapshot);
    }
    Object.assign(following, { snapshot, lookedAtMs });
    return following;
  }

  /** Who searches before the first reading is done waits for that one. */
  private startAnew(bite: number): Promise<Following> {
    this.starting ??= this.load(bite)
      .then((following) => (this.following = following))
      .finally(() => (this.starting = undefined));
    return this.starting;
  }

  /** A change may be met twice, and what is read is the newest state, not that of the change: neither does harm. */
  private async follow(index: ListingIndex, changes: Change[]): Promise<void> {
    const idsOf = (kind: Change['kind']): Set<string> => new Set(changes.filter((change) => change.kind === kind).map(({ listingId }) => listingId));
    const [changed, counted] = [idsOf('listing'), idsOf('popularity')];
    const ids = [...changed];
    const onlyCounted = [...counted].filter((id) => !changed.has(id));
    if (ids.length > 0) index.put(await this.listings.some(ids), ids);
    if (onlyCounted.length > 0) index.setCompletedCalls(await this.listings.counts(onlyCounted));
  }

  /** Reads every active listing; changes meanwhile are met by the next look. */
  private async load(bite: number): Promise<Following> {
    const lookedAtMs = Date.now();
    const snapshot = await this.listings.snapshot();
    const index = new ListingIndex();
    for (let read = await this.listings.after(undefined, bite); read.length > 0; ) {
      if (this.stopped) throw new UnavailableError('the index of listings');
      // PostgreSQL reads the next while this one is put in.
      const next = this.listings.after(read.at(-1)!.id, bite);
      next.catch(() => undefined);
      index.put(read);
      read = await next;
    }
    return { index, phrases: new Phrases(index), snapshot, lookedAtMs };
  }
}
