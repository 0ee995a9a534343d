import { useQuery } from '@tanstack/react-query';
import type {
  GatewayRequest,
  GatewayRequestQuery,
  LedgerEntry,
  LedgerQuery,
  Page,
  ReceiptQuery,
  RefundQuery,
  SubscriptionQuery,
  WebhookDeliveryQuery,
} from '@market/sdk';
import { apiOf, bodyOf } from '../api/client.js';

/** All query keys start with 'agent', so that signing out can remove the data of all agents. */
const keyOf = (agentId: string, ...rest: unknown[]): unknown[] => ['agent', agentId, ...rest];
export const keysKey = (agentId: string): unknown[] => keyOf(agentId, 'keys');
export const budgetKey = (agentId: string): unknown[] => keyOf(agentId, 'budget');
export const listingsKey = (agentId: string): unknown[] => keyOf(agentId, 'listings');
export const walletsKey = (agentId: string): unknown[] => keyOf(agentId, 'wallets');
export const subscriptionsKey = (agentId: string): unknown[] => keyOf(agentId, 'subscriptions');
export const webhooksKey = (agentId: string): unknown[] => keyOf(agentId, 'webhooks');
export const deliveriesKey = (agentId: string, webhookId: string): unknown[] => keyOf(agentId, 'deliveries', webhookId);
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
    // Events tell of the end of a job, and only now and then how far it is.
    refetchInterval: ({ state }) => (state.data?.data.retry_after_seconds ?? 0) * 1_000 || false,
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

/** `period` as in 2026-11, 2026-Q4, 2026 or 2026-11-03--2026-11-20. */
export const useStatement = (agentId: string, period: string, query: { page: number; limit: number }) =>
  useQuery({
    queryKey: keyOf(agentId, 'statement', period, query),
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/statements/{month}', { params: { path: { month: period }, query }, signal })
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

/** A listing as its owner sees it, in every state. */
export const useOwnListing = (agentId: string, listingId: string) =>
  useQuery({
    queryKey: [...listingsKey(agentId), 'one', listingId],
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/listings/{listingId}', { params: { path: { listingId } }, signal })
        .then(bodyOf),
    select: ({ data }) => data,
  });

/** What the marketplace finds wanting in a listing, without a call of its endpoint. */
export const useValidation = (agentId: string, listingId: string | undefined) =>
  useQuery({
    queryKey: [...listingsKey(agentId), 'validation', listingId],
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .POST('/api/v1/listings/validate', { body: { listing: listingId!, probe: false }, signal })
        .then(bodyOf),
    select: ({ data }) => data.checks.filter(({ status }) => status === 'failed' || status === 'warning'),
    enabled: listingId !== undefined,
  });

export const useWallets = (agentId: string) =>
  useQuery({
    queryKey: walletsKey(agentId),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/me/wallets', { signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useSubscriptions = (agentId: string, query: SubscriptionQuery) =>
  useQuery({
    queryKey: [...subscriptionsKey(agentId), query],
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/subscriptions', { params: { query }, signal }).then(bodyOf),
    placeholderData: (before) => before,
  });

export const useSubscription = (agentId: string, subscriptionId: string) =>
  useQuery({
    queryKey: [...subscriptionsKey(agentId), 'one', subscriptionId],
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/subscriptions/{subscriptionId}', { params: { path: { subscriptionId } }, signal })
        .then(bodyOf),
    select: ({ data }) => data,
  });

export const useWebhooks = (agentId: string) =>
  useQuery({
    queryKey: webhooksKey(agentId),
    queryFn: ({ signal }) => apiOf(agentId).GET('/api/v1/webhooks', { signal }).then(bodyOf),
    select: ({ data }) => data,
  });

export const useDeliveries = (agentId: string, webhookId: string, query: WebhookDeliveryQuery) =>
  useQuery({
    queryKey: [...deliveriesKey(agentId, webhookId), query],
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/webhooks/{webhookId}/deliveries', { params: { path: { webhookId }, query }, signal })
        .then(bodyOf),
    placeholderData: (before) => before,
    // Deliveries are made at times of their own, of which no event tells.
    refetchInterval: 5_000,
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
