import { listingChanged, listingRemoved, listingTouched } from '@market/contracts/catalog';
import { MessageBus, type Call } from '@market/messaging';
import { Outbox, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Categories } from '../categories/categories.js';
import { columnsOf, stateOf, TRANSITIONS, type ListingState, type Moves } from './domain/listing-state.js';
import type { ListingEntity } from './infra/listing.entity.js';
import { ListingsRepository, type ListingFacts } from './infra/listings.repository.js';

type OwnersAction = 'edit' | 'set_draft' | 'set_active' | 'delete';

export type Change = Partial<Pick<ListingEntity, 'name' | 'description' | 'pricingModel' | 'priceMicros' | 'tags'>>;

/** How a locked listing changes: the next version, its event with the commit, and the signal after it. */
@Injectable()
export class ListingChanges {
  constructor(
    private readonly listings: ListingsRepository,
    private readonly categories: Categories,
    private readonly outbox: Outbox,
    private readonly bus: MessageBus,
  ) {}

  /** Stores a new listing under the best free slug of its name, and returns that. Queries: 4, and 1 for each slug that was taken. */
  async add(tx: Tx, listing: Omit<ListingEntity, 'slug'>, call: Call): Promise<string> {
    const slug = await this.listings.claimSlug(tx, listing.id, listing.name);
    await this.listings.insert(tx, { ...listing, slug });
    await this.announce(tx, { ...listing, slug }, listing.createdAt, call);
    return slug;
  }

  /**
   * What anyone but the owner does to a listing moves it, or does not concern it. Queries: 1, and 3 for a move.
   * @returns the listing as it was before; undefined when there is none.
   */
  async react(tx: Tx, listingId: string, action: Exclude<keyof Moves, OwnersAction>, call: Call): Promise<ListingFacts | undefined> {
    const listing = await this.listings.lock(tx, listingId);
    if (!listing) return undefined;
    const state = stateOf(listing);
    const outcome = TRANSITIONS[state][action];
    if (outcome !== state) await this.apply(tx, listing, {}, outcome, call);
    return listing;
  }

  /** Queries: 3. */
  async apply(tx: Tx, listing: ListingFacts, change: Change, state: ListingState, call: Call): Promise<void> {
    const now = new Date();
    const columns = {
      ...change,
      ...columnsOf(state),
      version: listing.version + 1,
      publishedAt: listing.publishedAt ?? (state === 'active' ? now : null),
      updatedAt: now,
    };
    await this.listings.update(tx, listing.id, columns);
    await this.announce(tx, { ...listing, ...columns }, now, call);
  }

  /** Queries: 3, and 1 more where the listing was never public. */
  async remove(tx: Tx, listing: ListingFacts, call: Call): Promise<void> {
    const slugs = await this.listings.slugsOf(tx, listing.id);
    await this.listings.remove(tx, listing);
    await this.outbox.add(tx, listingRemoved, { listingId: listing.id, removedAt: new Date().toISOString() }, call);
    tx.afterCommit(() => this.bus.signal(listingTouched, { listingId: listing.id, slugs }));
  }

  /** Queries: 2. */
  private async announce(tx: Tx, listing: ListingFacts, changedAt: Date, call: Call): Promise<void> {
    const slugs = await this.listings.slugsOf(tx, listing.id);
    await this.outbox.add(
      tx,
      listingChanged,
      {
        listingId: listing.id,
        slug: listing.slug,
        name: listing.name,
        sellerId: listing.providerId,
        status: listing.status,
        pricingModel: listing.pricingModel,
        priceMicros: listing.priceMicros.toString(),
        preferredCurrency: listing.preferredCurrency,
        category: await this.categories.ref(tx, listing.categoryId),
        version: listing.version,
        changedAt: changedAt.toISOString(),
      },
      call,
    );
    tx.afterCommit(() => this.bus.signal(listingTouched, { listingId: listing.id, slugs }));
  }
}
