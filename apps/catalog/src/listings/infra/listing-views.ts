import type { InputOf, OutputOf } from '@market/contracts';
import type { getListing, searchListings } from '@market/contracts/catalog';
import { usdNumber } from '@market/kernel';

export type ListingView = OutputOf<typeof searchListings>['items'][number];
export type ListingDetail = OutputOf<typeof getListing>;
export type Search = InputOf<typeof searchListings>;

export const VIEW_COLUMNS = `
  l.id, l.slug, l.provider_id, l.name, l.description, l.category_id, l.pricing_model, l.price_micros, l.pricing_currency, l.preferred_currency,
  l.delivery_type, l.auth_method, l.formats, l.demo_endpoint, l.github_url, l.logo_url, l.expected_delivery, l.tags, l.status, l.created_at,
  provider.display_name AS provider_display_name, provider.avatar_url AS provider_avatar_url,
  provider.account_type AS provider_account_type, provider.is_verified AS provider_is_verified,
  category.name AS category_name, category.slug AS category_slug`;

export const VIEW_JOINS = `
  JOIN providers provider ON provider.id = l.provider_id
  LEFT JOIN categories category ON category.id = l.category_id`;

export const DETAIL_COLUMNS = `${VIEW_COLUMNS},
  l.docs, l.connection_instructions, l.example_outputs, l.risk_disclaimers, l.sla, endpoint.status AS endpoint_status, endpoint.limits AS gateway_limits,
  rating.review_count, rating.accuracy, rating.reliability, rating.value`;

export const DETAIL_JOINS = `${VIEW_JOINS}
  LEFT JOIN endpoints endpoint ON endpoint.listing_id = l.id
  LEFT JOIN listing_ratings rating ON rating.listing_id = l.id`;

type Provider = ListingView['provider'];

export interface ViewRow extends Omit<ListingView, 'pricing_amount' | 'created_at' | 'provider' | 'category'> {
  price_micros: string;
  created_at: Date;
  provider_display_name: string;
  provider_avatar_url: string | null;
  provider_account_type: Provider['account_type'];
  provider_is_verified: boolean;
  category_name: string | null;
  category_slug: string | null;
}

/** `connection_instructions` is not for everyone: see `toDetail`. */
export interface DetailRow extends ViewRow, Pick<ListingDetail, 'docs' | 'example_outputs' | 'risk_disclaimers' | 'sla'> {
  connection_instructions: string | null;
  endpoint_status: string | null;
  gateway_limits: ListingDetail['gateway_limits'] | null;
  /** The means are null with it. */
  review_count: number | null;
  accuracy: number;
  reliability: number;
  value: number;
}

export const toView = (row: ViewRow): ListingView => ({
  id: row.id,
  slug: row.slug,
  provider_id: row.provider_id,
  name: row.name,
  description: row.description,
  category_id: row.category_id,
  pricing_model: row.pricing_model,
  pricing_amount: usdNumber(BigInt(row.price_micros)),
  pricing_currency: row.pricing_currency,
  preferred_currency: row.preferred_currency,
  delivery_type: row.delivery_type,
  auth_method: row.auth_method,
  formats: row.formats,
  demo_endpoint: row.demo_endpoint,
  github_url: row.github_url,
  logo_url: row.logo_url,
  expected_delivery: row.expected_delivery,
  tags: row.tags,
  status: row.status,
  created_at: row.created_at.toISOString(),
  provider: {
    id: row.provider_id,
    display_name: row.provider_display_name,
    avatar_url: row.provider_avatar_url,
    account_type: row.provider_account_type,
    is_verified: row.provider_is_verified,
  },
  category: row.category_id === null ? null : { id: row.category_id, name: row.category_name!, slug: row.category_slug! },
});

const twoDecimals = (mean: number): number => Math.round(mean * 100) / 100;

export const toDetail = (row: DetailRow, publicUrl: string, viewerId: string | undefined): ListingDetail => ({
  ...toView(row),
  docs: row.docs,
  ...(row.provider_id === viewerId && { connection_instructions: row.connection_instructions }),
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
  ...(row.pricing_model === 'per_call' && {
    gateway_url: `${publicUrl.replace(/\/$/, '')}/api/v1/gateway/${row.id}`,
    gateway_limits: row.gateway_limits ?? undefined,
    endpoint_status: row.endpoint_status ?? undefined,
  }),
});
