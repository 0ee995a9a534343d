import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, bodyOf } from '../api/client.js';

/** All query keys start with 'operator', so that an action refreshes all data, and signing out removes it. */
export const OPERATOR = ['operator'];
const OVERVIEW = [...OPERATOR, 'overview'];

/** The interval at which the overview is read if no stream can be opened. */
const POLL_MS = 10_000;

/** Updates when the stream of the same URL sends new numbers. */
export function useOverview() {
  const queries = useQueryClient();
  const [isLive, setIsLive] = useState(false);
  const overview = useQuery({
    queryKey: OVERVIEW,
    queryFn: ({ signal }) => api.GET('/api/v1/admin/overview', { signal }).then(bodyOf),
    select: ({ data }) => data,
    refetchInterval: isLive ? false : POLL_MS,
  });
  const { isSuccess } = overview;
  useEffect(() => {
    if (!isSuccess) return;
    const stream = new EventSource('/api/v1/admin/overview');
    stream.onopen = () => setIsLive(true);
    stream.onerror = () => setIsLive(false);
    stream.addEventListener('overview', ({ data }: MessageEvent<string>) =>
      queries.setQueryData(OVERVIEW, { success: true, data: JSON.parse(data) as unknown }),
    );
    return () => stream.close();
  }, [isSuccess, queries]);
  return overview;
}

/** Each search is recorded, so it is sent only on submit, and the result is kept while the page is open. */
export const useSearch = (q: string) =>
  useQuery({
    queryKey: [...OPERATOR, 'search', q],
    queryFn: ({ signal }) => api.GET('/api/v1/admin/search', { params: { query: { q } }, signal }).then(bodyOf),
    select: ({ data }) => data,
    enabled: q !== '',
  });

export const useInspectedAgent = (agentId: string) =>
  useQuery({
    queryKey: [...OPERATOR, 'agent', agentId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/admin/agents/{agentId}', { params: { path: { agentId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useInspectedListing = (listingId: string) =>
  useQuery({
    queryKey: [...OPERATOR, 'listing', listingId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/admin/listings/{listingId}', { params: { path: { listingId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useInspectedPayment = (paymentId: string) =>
  useQuery({
    queryKey: [...OPERATOR, 'payment', paymentId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/admin/payments/{paymentId}', { params: { path: { paymentId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useInspectedCall = (requestId: string) =>
  useQuery({
    queryKey: [...OPERATOR, 'call', requestId],
    queryFn: ({ signal }) =>
      api.GET('/api/v1/admin/calls/{requestId}', { params: { path: { requestId } }, signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useAudit = () =>
  useInfiniteQuery({
    queryKey: [...OPERATOR, 'audit'],
    queryFn: ({ signal, pageParam }) =>
      api.GET('/api/v1/admin/audit', { params: { query: { limit: 50, cursor: pageParam } }, signal }).then(bodyOf),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ pagination }) => pagination.next_cursor,
  });

const by = (reason: string) => ({ body: reason === '' ? {} : { reason } }) as { body: { reason: string } };

/** The actions of operators, by the kind of object. If a reason is required, the console asks for it. */
export const actions = {
  suspendAgent: (agentId: string, reason: string) =>
    api.POST('/api/v1/admin/agents/{agentId}/suspend', { params: { path: { agentId } }, ...by(reason) }),
  releaseAgent: (agentId: string, reason: string) =>
    api.POST('/api/v1/admin/agents/{agentId}/release', { params: { path: { agentId } }, ...by(reason) }),
  suspendListing: (listingId: string, reason: string) =>
    api.POST('/api/v1/admin/listings/{listingId}/suspend', { params: { path: { listingId } }, ...by(reason) }),
  releaseListing: (listingId: string, reason: string) =>
    api.POST('/api/v1/admin/listings/{listingId}/release', { params: { path: { listingId } }, ...by(reason) }),
  revokeKey: (keyId: string, reason: string) =>
    api.POST('/api/v1/admin/api-keys/{keyId}/revoke', { params: { path: { keyId } }, ...by(reason) }),
};
