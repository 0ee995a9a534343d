import { listingSuspended } from '@market/contracts/catalog';
import { endpointChanged, jobEnded, jobProgressed, webhookDisabled } from '@market/contracts/gateway';
import { budgetReached, feesNearLimit, subscriptionEnded } from '@market/contracts/payments-ledger';
import { usdNumber } from '@market/kernel';
import { HandleEvent, type ReceivedEvent } from '@market/messaging';
import type { Tx } from '@market/persistence';
import { Controller } from '@nestjs/common';
import { AccountEvents } from './account-events.js';
import { toBothSides } from './both-sides.js';

/**
 * Stores events of accounts that are not facts of a score. The code that counts sales, failures, refunds, subscriptions
 * and reviews stores their events.
 */
@Controller()
export class AccountEventsEventController {
  constructor(private readonly events: AccountEvents) {}

  @HandleEvent(feesNearLimit)
  async onFeesNearLimit(events: ReceivedEvent<typeof feesNearLimit>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.map(({ payload: { sellerId, dueMicros, limitMicros, at } }) => ({
        accountId: sellerId,
        type: 'fees_near_limit',
        at,
        data: { due_usd: usdNumber(BigInt(dueMicros)), limit_usd: usdNumber(BigInt(limitMicros)) },
      })),
    );
  }

  @HandleEvent(budgetReached)
  async onBudgetReached(events: ReceivedEvent<typeof budgetReached>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.map(({ payload }) => ({
        accountId: payload.accountId,
        type: payload.isExhausted ? 'budget_exhausted' : 'budget_near_limit',
        at: payload.at,
        data: {
          budget: payload.budget,
          budget_id: payload.budgetId,
          period: payload.period,
          spent_usd: usdNumber(BigInt(payload.spentMicros)),
          limit_usd: usdNumber(BigInt(payload.limitMicros)),
          resets_at: payload.resetsAt,
        },
      })),
    );
  }

  @HandleEvent(listingSuspended)
  async onListingSuspended(events: ReceivedEvent<typeof listingSuspended>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.map(({ payload }) => ({
        accountId: payload.sellerId,
        type: 'listing_suspended',
        at: payload.suspendedAt,
        data: { listing_id: payload.listingId, suspended_by: payload.suspendedBy },
      })),
    );
  }

  /** Only changes that the gateway found are stored; the owner makes the others. */
  @HandleEvent(endpointChanged)
  async onEndpointChanged(events: ReceivedEvent<typeof endpointChanged>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events
        .map(({ payload }) => payload)
        .filter(({ isFound, status }) => isFound && (status === 'failing' || status === 'active'))
        .map(({ listingId, sellerId, status, changedAt }) => ({
          accountId: sellerId,
          type: status === 'failing' ? 'endpoint_failing' : 'endpoint_active',
          at: changedAt,
          data: { listing_id: listingId },
        })),
    );
  }

  @HandleEvent(webhookDisabled)
  async onWebhookDisabled(events: ReceivedEvent<typeof webhookDisabled>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.map(({ payload: { accountId, webhookId, reason, at } }) => ({
        accountId,
        type: 'webhook_disabled',
        at,
        data: { webhook_id: webhookId, reason },
      })),
    );
  }

  /** The buyer's side of a job. The seller hears of its sales and failures as of those of any call. */
  @HandleEvent(jobProgressed)
  async onJobProgressed(events: ReceivedEvent<typeof jobProgressed>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.map(({ payload: { percent, message, ...job } }) => ({
        accountId: job.buyerId,
        type: 'call.progress',
        at: job.at,
        data: { ...jobData(job), percent, message },
      })),
    );
  }

  @HandleEvent(jobEnded)
  async onJobEnded(events: ReceivedEvent<typeof jobEnded>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.map(({ payload: { reason, ...job } }) => ({
        accountId: job.buyerId,
        type: reason === null ? 'call.completed' : 'call.failed',
        at: job.at,
        data: { ...jobData(job), ...(reason === null ? {} : { reason }) },
      })),
    );
  }

  @HandleEvent(subscriptionEnded)
  async onSubscriptionEnded(events: ReceivedEvent<typeof subscriptionEnded>[], tx: Tx): Promise<void> {
    await this.events.add(
      tx,
      events.flatMap(({ payload: { subscriptionId, consumerId, sellerId, listingId, status, endedAt } }) =>
        toBothSides(
          { buyerId: consumerId, sellerId },
          {
            type: 'subscription_ended',
            at: endedAt,
            data: { listing_id: listingId, status },
          },
          { subscription_id: subscriptionId },
        ),
      ),
    );
  }
}

const jobData = ({ requestId, listingId }: { requestId: string; listingId: string }) => ({
  request_id: requestId,
  listing_id: listingId,
  kind: 'job',
});
