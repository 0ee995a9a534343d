import type { RequestContext } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ListingChanges } from './listing-changes.js';
import { ListingsRepository } from './listings.repository.js';

/** Takes the listings of a seller off the market, or brings back those that the system took off. */
@Injectable()
export class MoveListings {
  constructor(
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
  ) {}

  async execute(
    tx: Tx,
    sellerId: string,
    which: { areOnMarket: boolean; onlyPaid: boolean },
    context: RequestContext,
  ): Promise<void> {
    for (const listingId of await this.listings.ofSeller(tx, sellerId, which))
      await this.changes.react(tx, listingId, which.areOnMarket ? 'suspend' : 'resume', context);
  }
}
