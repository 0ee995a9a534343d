import { agentSuspensionChanged } from '@market/contracts/identity';
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

  /**
   * Suspends the paid listings of a seller whose fees are overdue, and resumes them when it has paid. Free listings
   * stay active.
   */
  @HandleEvent(sellerStandingChanged)
  async onSellerStandingChanged(events: ReceivedEvent<typeof sellerStandingChanged>[], tx: Tx): Promise<void> {
    for (const { payload, requestId } of events) {
      if (!(await this.providers.setStanding(tx, payload))) continue;
      const { sellerId, isOverdue } = payload;
      await this.move(tx, sellerId, { areOnMarket: isOverdue, onlyPaid: true }, requestId);
    }
  }

  /** Suspends all listings of an agent while an operator has suspended it. */
  @HandleEvent(agentSuspensionChanged)
  async onAgentSuspensionChanged(events: ReceivedEvent<typeof agentSuspensionChanged>[], tx: Tx): Promise<void> {
    for (const { payload, requestId } of events) {
      if (!(await this.providers.setSuspension(tx, payload))) continue;
      const { agentId, isSuspended } = payload;
      await this.move(tx, agentId, { areOnMarket: isSuspended, onlyPaid: false }, requestId);
    }
  }

  private async move(
    tx: Tx,
    sellerId: string,
    which: { areOnMarket: boolean; onlyPaid: boolean },
    requestId: string,
  ): Promise<void> {
    const context = newRequestContext({ requestId });
    for (const listingId of await this.listings.ofSeller(tx, sellerId, which))
      await this.changes.react(tx, listingId, which.areOnMarket ? 'suspend' : 'resume', context);
  }
}
