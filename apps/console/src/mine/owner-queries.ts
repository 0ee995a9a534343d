import { useQuery } from '@tanstack/react-query';
import type {
  GatewayRequest,
  GatewayRequestQuery,
  LedgerEntry,
  LedgerQuery,
  Page,
  ReceiptQuery,
  RefundQuery,
} from '@market/sdk';
import { apiOf, bodyOf } from '../api/client.js';

/** All query keys start with 'agent', so that signing out can remove the data of all agents. */
const keyOf = (agentId: string, ...rest: unknown[]): unknown[] => ['agent', agentId, ...rest];
export const keysKey = (agentId: string): unknown[] => keyOf(agentId, 'keys');
export const budgetKey = (agentId: string): unknown[] => keyOf(agentId, 'budget');
export const listingsKey = (agentId: string): unknown[] => keyOf(agentId, 'listings');
export const endpointKey = (agentId: string, listingId: string): unknown[] => keyOf(agentId, 'endpoint', listingId);

/** The maximum number of pages that a chart reads. If older entries are missing, the chart says so. */
const CHART_PAGES = 10;

export const useCalls = (agentId: string, query: GatewayRequestQuery) =>
  useQuery({
    queryKey: keyOf(agentId, 'calls', query),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/gateway-requests', { params: { query }, signal }).then(bodyOf),
    placeholderData: (before) => before,
  });

export const useCall = (agentId: string, requestId: string) =>
  useQuery({
    queryKey: keyOf(agentId, 'call', requestId),
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/gateway-requests/{requestId}', { params: { path: { requestId } }, signal })
        .then(bodyOf),
    select: ({ data }) => data,
  });

export const useLedger = (agentId: string, query: LedgerQuery) =>
  useQuery({
    queryKey: keyOf(agentId, 'ledger', query),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/ledger', { params: { query }, signal }).then(bodyOf),
    placeholderData: (before) => before,
  });

export const useBalance = (agentId: string) =>
  useQuery({
    queryKey: keyOf(agentId, 'balance'),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/me/balance', { signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useReceipts = (agentId: string, query: ReceiptQuery) =>
  useQuery({
    queryKey: keyOf(agentId, 'receipts', query),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/receipts', { params: { query }, signal }).then(bodyOf),
    placeholderData: (before) => before,
  });

export const useRefunds = (agentId: string, query: RefundQuery) =>
  useQuery({
    queryKey: keyOf(agentId, 'refunds', query),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/refunds', { params: { query }, signal }).then(bodyOf),
    placeholderData: (before) => before,
  });

export const useStatement = (agentId: string, month: string, query: { page: number; limit: number }) =>
  useQuery({
    queryKey: keyOf(agentId, 'statement', month, query),
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/statements/{month}', { params: { path: { month }, query }, signal })
        .then(bodyOf),
    placeholderData: (before) => before,
  });

export const useKeys = (agentId: string) =>
  useQuery({
    queryKey: keysKey(agentId),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/api-keys', { signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useOwnListings = (agentId: string, page: number) =>
  useQuery({
    queryKey: [...listingsKey(agentId), page],
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/listings', { params: { query: { mine: true, page, limit: 20 } }, signal })
        .then(bodyOf),
    placeholderData: (before) => before,
  });

export const useEndpoint = (agentId: string, listingId: string) =>
  useQuery({
    queryKey: endpointKey(agentId, listingId),
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/listings/{listingId}/endpoint', { params: { path: { listingId } }, signal })
        .then(bodyOf),
    select: ({ data }) => data,
  });

export interface Recent<T> {
  /** Newest first. */
  items: T[];
  /** False if there were more entries than a chart reads. */
  isWhole: boolean;
}

/** Reads the entries of the ledger since a day, for charts. */
export const useRecentEntries = (agentId: string, from: string) =>
  useQuery({
    queryKey: keyOf(agentId, 'recent entries', from),
    queryFn: ({ signal }) =>
      recent<LedgerEntry>((page) =>
        apiOf(agentId)
          .GET('/api/v1/ledger', { params: { query: { from, limit: 100, ...page } }, signal })
          .then(bodyOf),
      ),
  });

/** Reads the calls since a day, for charts. */
export const useRecentCalls = (agentId: string, from: string) =>
  useQuery({
    queryKey: keyOf(agentId, 'recent calls', from),
    queryFn: ({ signal }) =>
      recent<GatewayRequest>((page) =>
        apiOf(agentId)
          .GET('/api/v1/gateway-requests', { params: { query: { from, role: 'all', limit: 100, ...page } }, signal })
          .then(bodyOf),
      ),
  });

async function recent<T>(read: (page: { cursor?: string }) => Promise<Page<T>>): Promise<Recent<T>> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < CHART_PAGES; page += 1) {
    const { data, pagination } = await read({ cursor });
    items.push(...data);
    cursor = pagination.next_cursor;
    if (cursor === undefined) return { items, isWhole: true };
  }
  return { items, isWhole: false };
}
