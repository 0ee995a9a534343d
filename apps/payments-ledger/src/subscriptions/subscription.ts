import type { OutputOf, PricingModel } from '@market/contracts';
import type { listSubscriptions, subscribe } from '@market/contracts/payments-ledger';
import { usdNumber } from '@market/kernel';
import { QUOTA, quotaOf, type QuotaColumns } from '../quotas/call-quotas.js';

export type SubscriptionRecord = OutputOf<typeof listSubscriptions>['items'][number];
export type SubscriptionView = Extract<OutputOf<typeof subscribe>, { outcome: 'subscribed' }>['subscription'];

/** A row of `subscriptions` as pg reads it. The status is the one at the time of the statement. */
export interface SubscriptionRow {
  id: string;
  consumer_id: string;
  seller_id: string;
  listing_id: string;
  listing_name: string;
  listing_slug: string;
  pricing_model: PricingModel;
  price_micros: string;
  status: SubscriptionView['status'];
  created_at: Date;
  current_period_end: Date | null;
  /** Null if the period includes neither calls nor units. */
  quota: QuotaColumns | null;
}

/** A subscription whose period has ended counts as expired even before the job has recorded it. */
export const STATUS_NOW = `CASE WHEN s.status = 'active' AND s.current_period_end <= now() THEN 'expired' ELSE s.status END`;

export const subscriptionColumns = `s.id, s.consumer_id, s.seller_id, s.listing_id, s.listing_name, s.listing_slug,
  s.pricing_model, s.price_micros, ${STATUS_NOW} AS status, s.created_at, s.current_period_end, ${QUOTA} AS quota`;

export function toSubscriptionView(row: SubscriptionRow): SubscriptionView {
  return {
    id: row.id,
    consumer_id: row.consumer_id,
    listing_id: row.listing_id,
    status: row.status,
    pricing_model: row.pricing_model,
    pricing_amount: usdNumber(BigInt(row.price_micros)),
    current_period_end: row.current_period_end?.toISOString() ?? null,
    ...quotaOf(row.quota, row.current_period_end),
    created_at: row.created_at.toISOString(),
  };
}

export const toSubscriptionRecord = (row: SubscriptionRow): SubscriptionRecord => ({
  ...toSubscriptionView(row),
  listing: { id: row.listing_id, name: row.listing_name, slug: row.listing_slug },
  seller_id: row.seller_id,
});
