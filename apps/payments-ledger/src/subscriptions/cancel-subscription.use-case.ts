import type { InputOf, OutputOf } from '@market/contracts';
import { cancelSubscription } from '@market/contracts/payments-ledger';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { ENDED_COLUMNS, Subscriptions, type EndedRow } from './subscriptions.js';
import { STATUS_NOW, type SubscriptionRow } from './subscription.js';

const cancel = sql(
  'subscriptions.cancel',
  `UPDATE subscriptions s SET status = 'cancelled', ended_at = now()
   WHERE s.id = $1 AND s.consumer_id = $2 AND ${STATUS_NOW} = 'active' RETURNING ${ENDED_COLUMNS}`,
);
const find = sql(
  'subscriptions.find-to-cancel',
  `SELECT s.consumer_id, s.seller_id, ${STATUS_NOW} AS status FROM subscriptions s WHERE s.id = $1`,
);

/** Ends a subscription at once. Only its subscriber may end it. The event is part of the same transaction. */
@Injectable()
export class CancelSubscription {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: Subscriptions,
  ) {}

  @HandleRequest(cancelSubscription)
  async execute(
    { subscription_id: subscriptionId }: InputOf<typeof cancelSubscription>,
    context: RequestContext,
  ): Promise<OutputOf<typeof cancelSubscription>> {
    const { accountId } = principalOf(context);
    const cancelled = await this.database.transaction(async (tx) => {
      const rows = await tx.query<EndedRow>(cancel, [subscriptionId, accountId]);
      await this.subscriptions.emitEnded(tx, rows, context);
      return rows.length > 0;
    });
    if (!cancelled) await this.assertCancelled(subscriptionId, accountId);
    return { id: subscriptionId, status: 'cancelled' };
  }

  /**
   * Refuses a cancellation by the seller, which may see its subscribers. For all other accounts the subscription does
   * not exist.
   */
  private async assertCancelled(subscriptionId: string, accountId: string): Promise<void> {
    const [row] = await this.database.query<Pick<SubscriptionRow, 'consumer_id' | 'seller_id' | 'status'>>(find, [
      subscriptionId,
    ]);
    if (row?.seller_id === accountId) throw refuse(cancelSubscription, 'not_subscriber', {});
    if (row?.consumer_id !== accountId) throw refuse(cancelSubscription, 'subscription_not_found', {});
    if (row.status !== 'cancelled') throw refuse(cancelSubscription, 'subscription_expired', {});
  }
}
