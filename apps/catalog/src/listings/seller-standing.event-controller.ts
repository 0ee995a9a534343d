import { sellerStandingChanged } from '@market/contracts/payments-ledger';
import { HandleEvent, newRequestContext, type ReceivedEvent } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { Providers } from '../providers/providers.js';
import { ListingChanges } from './listing-changes.js';
import { ListingsRepository } from './listings.repository.js';

@Controller()
export class SellerStandingEventController {
  constructor(
    private readonly providers: Providers,
    private readonly listings: ListingsRepository,
    private readonly changes: ListingChanges,
  ) {}

  /** Takes the paid listings of a seller that owes too much off the market, and brings them back when it has paid. Free ones stay. */
  @HandleEvent(sellerStandingChanged)
  async onSellerStandingChanged(events: ReceivedEvent<typeof sellerStandingChanged>[], tx: Tx): Promise<void> {
    for (const { payload, requestId } of events) {
      if (!(await this.providers.setStanding(tx, payload))) continue;
      const { sellerId, isOverdue } = payload;
      const context = newRequestContext({ requestId });
      for (const listingId of await this.listings.paidOfSeller(tx, sellerId, isOverdue))
        await this.changes.react(tx, listingId, isOverdue ? 'suspend' : 'resume', context);
    }
  }
}
