import type { RequestContext } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ListingChanges } from './listing-changes.js';
import { ListingsRepository } from './listings.repository.js';

/** Suspends the active listings of a seller, or resumes those that the system suspended. */
@Injectable()
export class SuspendOrResumeListings {
  constructor(
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
  ) {}

  async execute(
    tx: Tx,
    sellerId: string,
    { suspend, onlyPaid }: { suspend: boolean; onlyPaid: boolean },
    context: RequestContext,
  ): Promise<void> {
    for (const listingId of await this.listings.ofSeller(tx, sellerId, { areActive: suspend, onlyPaid }))
      await this.changes.react(tx, listingId, suspend ? 'suspend' : 'resume', context);
  }
}
