import type { InputOf, OutputOf } from '@market/contracts';
import { removeListing } from '@market/contracts/catalog';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Endpoints } from '../endpoints/endpoints.js';
import { Quality } from '../quality/quality.js';
import { stateOf, TRANSITIONS } from './listing-state.js';
import { ListingsRepository } from './listings.repository.js';
import { ListingChanges } from './listing-changes.js';

/** Deletes a draft, or suspends a listing that was public. Repeating it changes nothing. */
@Injectable()
export class RemoveListing {
  constructor(
    private readonly database: Database,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
    private readonly endpoints: Endpoints,
    private readonly quality: Quality,
  ) {}

  @HandleRequest(removeListing)
  execute(
    { listing_id }: InputOf<typeof removeListing>,
    context: RequestContext,
  ): Promise<OutputOf<typeof removeListing>> {
    const { accountId } = principalOf(context);
    return this.database.transaction(async (tx) => {
      const listing = await this.listings.lock(tx, listing_id);
      if (!listing) throw refuse(removeListing, 'listing_not_found', {});
      if (listing.provider_id !== accountId)
        throw refuse(removeListing, listing.status === 'active' ? 'not_owner' : 'listing_not_found', {});
      const state = stateOf(listing);
      const outcome = TRANSITIONS[state].delete;
      if (outcome === 'removed') {
        await this.changes.remove(tx, listing, context);
        await this.endpoints.forget(tx, listing.id);
        await this.quality.forget(tx, listing.id);
        return { id: listing.id, deleted: true };
      }
      if (outcome !== state) await this.changes.apply(tx, listing, {}, outcome, context);
      return { id: listing.id, deleted: false, status: 'suspended' };
    });
  }
}
