import type { OutputOf } from '@market/contracts';
import type { getListing, ListingView } from '@market/contracts/catalog';

export type ListingDetail = OutputOf<typeof getListing>;

/** A listing as it is shown. Its columns stand in the order, and under the names, of `listingView`. */
export const VIEW_JSON = `(
  SELECT row_to_json(view) FROM (
    SELECT l.id, l.slug, l.provider_id, l.name, l.description, l.category_id, l.pricing_model, trim_scale(l.price_micros / 1000000.0) AS pricing_amount,
      l.pricing_currency, l.preferred_currency, l.delivery_type, l.auth_method, l.formats, l.demo_endpoint, l.github_url, l.logo_url, l.expected_delivery,
      l.tags, l.status, to_char(l.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
      (SELECT shown FROM (SELECT provider.id, provider.display_name, provider.avatar_url, provider.account_type, provider.is_verified) shown) AS provider,
      (SELECT shown FROM (SELECT category.id, category.name, category.slug) shown WHERE category.id IS NOT NULL) AS category
  ) view
)`;

export const VIEW_JOINS = `
  JOIN providers provider ON provider.id = l.provider_id
  LEFT JOIN categories category ON category.id = l.category_id`;

export const DETAIL_COLUMNS = `${VIEW_JSON} AS view,
  l.docs, l.connection_instructions, l.example_outputs, l.risk_disclaimers, l.sla, endpoint.status AS endpoint_status, endpoint.limits AS gateway_limits,
  rating.review_count, rating.accuracy, rating.reliability, rating.value`;

export const DETAIL_JOINS = `${VIEW_JOINS}
  LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id
  LEFT JOIN listing_ratings rating ON rating.listing_id = l.id`;

/** `connection_instructions` is not for everyone: see `toDetail`. */
export interface DetailRow extends Pick<ListingDetail, 'docs' | 'example_outputs' | 'risk_disclaimers' | 'sla'> {
  view: ListingView;
  connection_instructions: string | null;
  endpoint_status: string | null;
  gateway_limits: ListingDetail['gateway_limits'] | null;
  /** The means are null with it. */
  review_count: number | null;
  accuracy: number;
  reliability: number;
  value: number;
}

const twoDecimals = (mean: number): number => Math.round(mean * 100) / 100;

export const toDetail = (row: DetailRow, publicUrl: string, viewerId: string | undefined): ListingDetail => ({
  ...row.view,
  docs: row.docs,
  ...(row.view.provider_id === viewerId && { connection_instructions: row.connection_instructions }),
  example_outputs: row.example_outputs,
  risk_disclaimers: row.risk_disclaimers,
  sla: row.sla,
  rating:
    row.review_count === null
      ? null
      : {
          average: twoDecimals((row.accuracy + row.reliability + row.value) / 3),
          count: row.review_count,
          accuracy: twoDecimals(row.accuracy),
          reliability: twoDecimals(row.reliability),
          value: twoDecimals(row.value),
        },
  ...(row.view.pricing_model === 'per_call' && {
    gateway_url: `${publicUrl.replace(/\/$/, '')}/api/v1/gateway/${row.view.id}`,
    gateway_limits: row.gateway_limits ?? undefined,
    endpoint_status: row.endpoint_status ?? undefined,
  }),
});
