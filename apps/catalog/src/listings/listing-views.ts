import type { OutputOf } from '@market/contracts';
import { detailFields, listedFields, type getListing, type ListingView } from '@market/contracts/catalog';
import { IS_CALLED, isCalled } from './pricing.js';

export type ListingDetail = OutputOf<typeof getListing>;

const columnsOf = (fields: object): string =>
  Object.keys(fields)
    .map((name) =>
      name === 'pricing_amount'
        ? 'trim_scale(l.price_micros / 1000000.0) AS pricing_amount'
        : name === 'language'
          ? 'coalesce(l.language, l.found_language) AS language'
          : `l.${name}`,
    )
    .join(', ');

/** A listing as the API shows it. The columns have the order and the names of `listingView`. */
export const VIEW_JSON = `(
  SELECT row_to_json(view) FROM (
    SELECT l.id, l.slug, l.provider_id, ${columnsOf(listedFields)},
      l.status, to_char(l.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at,
      to_char(l.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS updated_at,
      (SELECT shown FROM (
        SELECT provider.id, provider.display_name, provider.avatar_url, provider.account_type, provider.is_verified
      ) shown) AS provider,
      (SELECT shown FROM (
        SELECT category.id, category.name, category.slug
      ) shown WHERE category.id IS NOT NULL) AS category,
      (SELECT shown FROM (
        SELECT coalesce(endpoint.status = 'active', false) AS live,
          to_char(quality.last_success_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS last_success_at,
          quality.success_rate_7d, quality.success_rate_30d,
          quality.p50_ms_7d, quality.p95_ms_7d, quality.p50_ms_30d, quality.p95_ms_30d,
          coalesce(quality.calls_7d, 0) AS calls_7d, coalesce(quality.calls_30d, 0) AS calls_30d,
          coalesce(quality.buyers_30d, 0) AS buyers_30d, quality.buyers_success_rate_30d
      ) shown WHERE ${IS_CALLED}) AS quality,
      (SELECT shown FROM (
        SELECT trim_scale(round(((rating.accuracy + rating.reliability + rating.value) / 3)::numeric, 2)) AS average,
          rating.review_count AS count, trim_scale(round(rating.accuracy::numeric, 2)) AS accuracy,
          trim_scale(round(rating.reliability::numeric, 2)) AS reliability,
          trim_scale(round(rating.value::numeric, 2)) AS value
      ) shown WHERE rating.review_count IS NOT NULL) AS rating
  ) view
)`;

export const VIEW_JOINS = `
  JOIN providers provider ON provider.id = l.provider_id
  LEFT JOIN categories category ON category.id = l.category_id
  LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id
  LEFT JOIN listing_quality quality ON quality.listing_id = l.id
  LEFT JOIN listing_ratings rating ON rating.listing_id = l.id`;

export const DETAIL_COLUMNS = `${VIEW_JSON} AS view,
  (SELECT row_to_json(details) FROM (SELECT ${columnsOf(detailFields)}) details) AS details,
  endpoint.status AS endpoint_status, endpoint.limits AS gateway_limits`;

export interface DetailRow {
  view: ListingView;
  /** `toDetail` removes `connection_instructions` for other viewers than the owner. */
  details: Pick<ListingDetail, keyof typeof detailFields>;
  endpoint_status: string | null;
  gateway_limits: ListingDetail['gateway_limits'] | null;
}

export const toDetail = (
  { details: { connection_instructions, ...details }, ...row }: DetailRow,
  publicUrl: string,
  viewerId: string | undefined,
): ListingDetail => ({
  ...row.view,
  ...details,
  ...(row.view.provider_id === viewerId && { connection_instructions }),
  ...(isCalled(row.view) && {
    gateway_url: `${publicUrl}/api/v1/gateway/${row.view.id}`,
    gateway_limits: row.gateway_limits ?? undefined,
    endpoint_status: row.endpoint_status ?? undefined,
  }),
});
