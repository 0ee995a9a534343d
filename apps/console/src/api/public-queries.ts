import { useQuery } from '@tanstack/react-query';
import type { ListingQuery } from '@market/sdk';
import { api, bodyOf } from './client.js';

/** For data that rarely changes while a page is open. */
const STEADY = { staleTime: 10 * 60_000 };

const useHealth = () =>
  useQuery({
    queryKey: ['health'],
    queryFn: ({ signal }) => api.GET('/api/v1/health', { signal }).then(bodyOf),
    select: ({ data }) => data,
    ...STEADY,
  });

/** Undefined until it is loaded. */
export const useIsSandbox = (): boolean | undefined => {
  const { data } = useHealth();
  return data && data.mode.payments === 'sandbox';
};

/** The OpenID provider with which people may sign in; null if there is none. */
export const useOidcIssuer = (): string | null => {
  const { data } = useQuery({
    queryKey: ['oidc'],
    queryFn: ({ signal }) => api.GET('/api/v1/auth/oidc', { signal }).then(bodyOf),
    ...STEADY,
  });
  return data?.data.issuer ?? null;
};

export const useCategories = () =>
  useQuery({
    queryKey: ['categories'],
    queryFn: ({ signal }) => api.GET('/api/v1/categories', { signal }).then(bodyOf),
    select: ({ data }) => data,
    ...STEADY,
  });

export const useListings = (query: ListingQuery) =>
  useQuery({
    queryKey: ['listings', query],
    queryFn: ({ signal }) => api.GET('/api/v1/listings', { params: { query: query as object }, signal }).then(bodyOf),
    placeholderData: (before) => before,
  });

export const useListing = (slug: string) =>
  useQuery({
    queryKey: ['listing', slug],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/listings/{listingId}', { params: { path: { listingId: slug } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useListingQuality = (listingId: string) =>
  useQuery({
    queryKey: ['quality', listingId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/listings/{listingId}/quality', { params: { path: { listingId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useReviews = (listingId: string, page: number) =>
  useQuery({
    queryKey: ['reviews', listingId, page],
    queryFn: ({ signal }) =>
      api
        .GET('/api/v1/reviews/{listingId}', { params: { path: { listingId }, query: { page, limit: 10 } }, signal })
        .then(bodyOf),
    placeholderData: (before) => before,
  });

export const useAgent = (agentId: string) =>
  useQuery({
    queryKey: ['profile', agentId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/agents/{agentId}', { params: { path: { agentId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useScore = (agentId: string) =>
  useQuery({
    queryKey: ['score', agentId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/agents/{agentId}/score', { params: { path: { agentId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });
