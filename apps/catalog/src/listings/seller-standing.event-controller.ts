import { agentSuspensionChanged } from '@market/contracts/identity';
import { sellerStandingChanged } from '@market/contracts/payments-ledger';
import { HandleEvent, newRequestContext, type ReceivedEvent } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { Providers } from '../providers/providers.js';
import { SuspendOrResumeListings } from './suspend-or-resume-listings.js';

@Controller()
export class SellerStandingEventController {
  constructor(
    private readonly providers: Providers,
    private readonly suspendOrResume: SuspendOrResumeListings,
  ) {}

  /**
   * Suspends the paid listings of a seller whose fees are overdue, and resumes them when it has paid. Free listings
   * stay active.
   */
  @HandleEvent(sellerStandingChanged)
  async onSellerStandingChanged(events: ReceivedEvent<typeof sellerStandingChanged>[], tx: Tx): Promise<void> {
    for (const { payload, requestId } of inOrder(events, ({ sellerId }) => sellerId)) {
      if (!(await this.providers.setStanding(tx, payload))) continue;
      const { sellerId, isOverdue } = payload;
      await this.suspendOrResume.execute(
        tx,
        sellerId,
        { suspend: isOverdue, onlyPaid: true },
        newRequestContext({ requestId }),
      );
    }
  }

  /** Suspends all listings of an agent while an operator has suspended it. */
  @HandleEvent(agentSuspensionChanged)
  async onAgentSuspensionChanged(events: ReceivedEvent<typeof agentSuspensionChanged>[], tx: Tx): Promise<void> {
    for (const { payload, requestId } of inOrder(events, ({ agentId }) => agentId)) {
      if (!(await this.providers.setSuspension(tx, payload))) continue;
      const { agentId, isSuspended } = payload;
      await this.suspendOrResume.execute(
        tx,
        agentId,
        { suspend: isSuspended, onlyPaid: false },
        newRequestContext({ requestId }),
      );
    }
  }
}

/** Sorts events by seller, in the order in which all transactions lock sellers. */
const inOrder = <E extends { payload: unknown }>(events: E[], sellerOf: (payload: E['payload']) => string): E[] =>
  events.toSorted((a, b) => sellerOf(a.payload).localeCompare(sellerOf(b.payload)));
