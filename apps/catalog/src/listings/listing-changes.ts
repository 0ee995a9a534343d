import { listingChanged, listingRemoved, listingSuspended, listingTouched } from '@market/contracts/catalog';
import { MessageBus, type RequestContext } from '@market/messaging';
import { Outbox, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Providers } from '../providers/providers.js';
import { Quality } from '../quality/quality.js';
import { columnsOf, stateOf, TRANSITIONS, type ListingState, type Moves } from './listing-state.js';
import { GetOffering } from './get-offering.query.js';
import { ListingsRepository, type Listing, type ListingFacts, type ListingFields } from './listings.repository.js';

type OwnersAction = 'edit' | 'set_draft' | 'set_active' | 'delete';

/** Changes a locked listing: writes the next version and its event, and sends the signal after the commit. */
@Injectable()
export class ListingChanges {
  constructor(
    private readonly listings: ListingsRepository,
    private readonly providers: Providers,
    private readonly offerings: GetOffering,
    private readonly outbox: Outbox,
    private readonly bus: MessageBus,
    private readonly quality: Quality,
  ) {}

  /** Stores a new listing and returns it. */
  async add(
    tx: Tx,
    listing: Omit<Listing, 'slug'>,
    context: RequestContext,
  ): Promise<Pick<Listing, 'slug' | 'status'>> {
    const slug = await this.listings.claimSlug(tx, listing.id, listing.name);
    const state = await this.onMarket(tx, listing.provider_id, listing.price_micros, stateOf(listing));
    const stored = { ...listing, ...columnsOf(state), slug };
    await this.listings.insert(tx, stored);
    await this.announce(tx, listing, listing.created_at, context);
    return stored;
  }

  /**
   * Applies an action of an operator or of the system. Actions without a transition from the current state are ignored.
   * @returns the listing before the change and its new state; undefined if there is no listing.
   */
  async react(
    tx: Tx,
    listingId: string,
    action: Exclude<keyof Moves, OwnersAction>,
    context: RequestContext,
  ): Promise<{ before: ListingFacts; state: ListingState } | undefined> {
    const before = await this.listings.lock(tx, listingId);
    if (!before) return undefined;
    const state = stateOf(before);
    const wanted = TRANSITIONS[state][action];
    return { before, state: wanted === state ? state : await this.apply(tx, before, {}, wanted, context) };
  }

  /** @returns the new state. It differs from `wanted` if the seller may not sell. */
  async apply(
    tx: Tx,
    listing: ListingFacts,
    changes: Partial<ListingFields>,
    wanted: ListingState,
    context: RequestContext,
  ): Promise<ListingState> {
    const now = new Date();
    const price = changes.price_micros ?? listing.price_micros;
    const isSold = listing.status === 'active' && listing.price_micros !== '0';
    const state = isSold ? wanted : await this.onMarket(tx, listing.provider_id, price, wanted);
    const version = listing.version + 1;
    const published_at = listing.published_at ?? (state === 'active' ? now : null);
    await this.listings.update(tx, listing.id, {
      ...changes,
      ...columnsOf(state),
      version,
      published_at,
      updated_at: now,
    });
    await this.announce(tx, { id: listing.id, version }, now, context);
    const { suspended_by: suspendedBy } = columnsOf(state);
    if (suspendedBy === null || listing.status === 'suspended') return state;
    const suspension = {
      listingId: listing.id,
      sellerId: listing.provider_id,
      suspendedBy,
      suspendedAt: now.toISOString(),
    };
    await this.outbox.add(tx, listingSuspended, suspension, context);
    return state;
  }

  async remove(tx: Tx, listing: ListingFacts, context: RequestContext): Promise<void> {
    const slugs = await this.listings.slugsOf(tx, listing.id);
    await this.listings.remove(tx, listing);
    this.outbox.add(tx, listingRemoved, { listingId: listing.id, removedAt: new Date().toISOString() }, context);
    tx.afterCommit(() => this.bus.signal(listingTouched, { listingId: listing.id, slugs }));
  }

  /**
   * Replaces the state `active` by `suspended_by_system` if the seller is suspended, or if the listing is paid and the
   * seller's fees are overdue.
   */
  private async onMarket(tx: Tx, sellerId: string, priceMicros: string, state: ListingState): Promise<ListingState> {
    if (state !== 'active') return state;
    const mayNot = await this.providers.mayNotSell(tx, sellerId, priceMicros !== '0');
    return mayNot ? 'suspended_by_system' : state;
  }

  private async announce(
    tx: Tx,
    { id, version }: Pick<Listing, 'id' | 'version'>,
    changedAt: Date,
    context: RequestContext,
  ): Promise<void> {
    await this.quality.rank(tx, [id]);
    const slugs = await this.listings.slugsOf(tx, id);
    const {
      inputSchema: _schema,
      exampleInput: _example,
      outputSchema: _answer,
      usage: _usage,
      includedUnits: _units,
      isSuspendedForDebt: _debt,
      ...offering
    } = (await this.offerings.find(tx, id))!;
    this.outbox.add(tx, listingChanged, { ...offering, version, changedAt: changedAt.toISOString() }, context);
    tx.afterCommit(() => this.bus.signal(listingTouched, { listingId: id, slugs }));
  }
}
