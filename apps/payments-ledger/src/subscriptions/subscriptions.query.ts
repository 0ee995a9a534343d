import type { InputOf, OutputOf } from '@market/contracts';
import { getSubscription, listSubscriptions } from '@market/contracts/payments-ledger';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { STATUS_NOW, subscriptionColumns, toSubscriptionRecord, type SubscriptionRow } from './subscription.js';

const matching = `FROM subscriptions s WHERE s.consumer_id = $1 AND ($2::text = 'all' OR ${STATUS_NOW} = $2)`;
const list = sql(
  'subscriptions.list',
  `SELECT ${subscriptionColumns} ${matching} ORDER BY s.created_at DESC, s.id DESC LIMIT $3 OFFSET $4`,
);
const count = sql('subscriptions.count', `SELECT count(*)::int AS total ${matching}`);
const find = sql(
  'subscriptions.find',
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.id = $1 AND s.consumer_id = $2`,
);

/** Reads the caller's subscriptions. No other account can read them. */
@Injectable()
export class SubscriptionsQuery {
  constructor(private readonly database: Database) {}

  @HandleRequest(listSubscriptions)
  async list(
    { status, page, limit }: InputOf<typeof listSubscriptions>,
    context: RequestContext,
  ): Promise<OutputOf<typeof listSubscriptions>> {
    const { accountId } = principalOf(context);
    const [rows, [counted]] = await Promise.all([
      this.database.query<SubscriptionRow>(list, [accountId, status, limit, (page - 1) * limit]),
      this.database.query<{ total: number }>(count, [accountId, status]),
    ]);
    return { items: rows.map(toSubscriptionRecord), total: counted!.total };
  }

  @HandleRequest(getSubscription)
  async get(
    { subscription_id }: InputOf<typeof getSubscription>,
    context: RequestContext,
  ): Promise<OutputOf<typeof getSubscription>> {
    const [row] = await this.database.query<SubscriptionRow>(find, [subscription_id, principalOf(context).accountId]);
    if (!row) throw refuse(getSubscription, 'subscription_not_found', {});
    return toSubscriptionRecord(row);
  }
}
