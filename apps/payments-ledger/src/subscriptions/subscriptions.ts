import type { IncludedUnits, PricingModel } from '@market/contracts';
import { subscriptionEnded, subscriptionStarted } from '@market/contracts/payments-ledger';
import { newId, type Micros } from '@market/kernel';
import type { RequestContext } from '@market/messaging';
import { Outbox, sql, type Tx } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { IS_USED_UP } from '../quotas/call-quotas.js';
import { subscriptionColumns, type SubscriptionRow } from './subscription.js';

/** A new subscription: subscriber, listing and price. */
export interface NewSubscription {
  consumerId: string;
  sellerId: string;
  listing: { id: string; name: string; slug: string };
  pricingModel: PricingModel;
  priceMicros: Micros;
  /** How many calls its period includes; null if none. */
  includedCalls: number | null;
  /** How many units; null if none. */
  includedUnits: IncludedUnits | null;
  /** See `subscriptionStarted`. */
  feeReceivedMicros?: string;
  /** Null for a free subscription, which has no end. */
  paymentId: string | null;
}

/** A subscription that a statement has just ended. */
export interface EndedRow {
  id: string;
  consumer_id: string;
  seller_id: string;
  listing_id: string;
  status: 'cancelled' | 'expired';
  ended_at: Date;
}
export const ENDED_COLUMNS = 'id, consumer_id, seller_id, listing_id, status, ended_at';

/** Another period may begin when the calls of the current one are used up. */
const expireCurrent = sql(
  'subscriptions.expire-current',
  `UPDATE subscriptions s SET status = 'expired', ended_at = least(current_period_end, now())
   WHERE consumer_id = $1 AND listing_id = $2 AND status = 'active' AND (current_period_end <= now() OR ${IS_USED_UP})
   RETURNING ${ENDED_COLUMNS}`,
);
/** The base fee of usage_tiered pays for a month, like the price of monthly. */
const insert = sql(
  'subscriptions.insert',
  `INSERT INTO subscriptions AS s (id, consumer_id, seller_id, listing_id, listing_name, listing_slug, pricing_model,
     price_micros, payment_id, status, created_at, current_period_end)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'active', now(),
     CASE WHEN $9::uuid IS NOT NULL THEN now() + CASE $7 WHEN 'yearly' THEN interval '1 year' ELSE interval '1 month' END END)
   ON CONFLICT (consumer_id, listing_id) WHERE status = 'active' DO NOTHING
   RETURNING ${subscriptionColumns}`,
);
const addQuota = sql(
  'call-quotas.add',
  `INSERT INTO call_quotas (id, buyer_id, listing_id, is_trial, unit, calls, per_call)
   VALUES ($1, $2, $3, false, $4, $5, $6)`,
);
const findActive = sql(
  'subscriptions.find-active',
  `SELECT s.id FROM subscriptions s
   WHERE s.consumer_id = $1 AND s.listing_id = $2 AND s.status = 'active'
     AND (s.current_period_end IS NULL OR s.current_period_end > now()) AND NOT ${IS_USED_UP}`,
);

/**
 * Starts subscriptions and emits events when they end. A unique index allows at most one active subscription for a
 * consumer and a listing.
 */
@Injectable()
export class Subscriptions {
  constructor(private readonly outbox: Outbox) {}

  /** Writes the subscription and its event. @returns undefined if a subscription is active already. */
  async start(
    tx: Tx,
    wanted: NewSubscription,
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<SubscriptionRow | undefined> {
    const {
      consumerId,
      sellerId,
      listing,
      pricingModel,
      priceMicros,
      includedCalls,
      includedUnits,
      feeReceivedMicros = '0',
      paymentId,
    } = wanted;
    await this.emitEnded(tx, await tx.query<EndedRow>(expireCurrent, [consumerId, listing.id]), context);
    const [started] = await tx.query<SubscriptionRow>(insert, [
      newId(),
      consumerId,
      sellerId,
      listing.id,
      listing.name,
      listing.slug,
      pricingModel,
      priceMicros,
      paymentId,
    ]);
    if (!started) return undefined;
    const { unit = null, units: calls = includedCalls, per_call = 1 } = includedUnits ?? {};
    if (calls !== null) {
      tx.send(addQuota, [started.id, consumerId, listing.id, unit, calls, per_call]);
      started.quota = { unit, calls, used: 0 };
    }
    const payload = {
      subscriptionId: started.id,
      paymentId,
      consumerId,
      sellerId,
      listingId: listing.id,
      pricingModel,
      grossMicros: priceMicros.toString(),
      feeReceivedMicros,
      startedAt: started.created_at.toISOString(),
    };
    this.outbox.add(tx, subscriptionStarted, payload, context);
    return started;
  }

  async emitEnded(
    tx: Tx,
    ended: EndedRow[],
    context: Pick<RequestContext, 'requestId' | 'traceparent'>,
  ): Promise<void> {
    await this.outbox.addAll(
      tx,
      ended.map((row) => ({
        contract: subscriptionEnded,
        payload: {
          subscriptionId: row.id,
          consumerId: row.consumer_id,
          sellerId: row.seller_id,
          listingId: row.listing_id,
          status: row.status,
          endedAt: row.ended_at.toISOString(),
        },
        context,
      })),
    );
  }

  /** The subscription because of which no other is sold. */
  async activeId(through: Pick<Tx, 'query'>, consumerId: string, listingId: string): Promise<string | undefined> {
    const [active] = await through.query<{ id: string }>(findActive, [consumerId, listingId]);
    return active?.id;
  }
}
