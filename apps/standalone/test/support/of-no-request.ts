/**
 * The first statements of transactions that belong to no request: handlers of events, which may share a transaction,
 * statements that calls of a moment share, and jobs that run every second or minute.
 */
export const OF_NO_REQUEST = [
  'gateway-requests.insert-quotes',
  'outbox.take',
  'inbox.record',
  'gateway-requests.mark-settled',
  'parked.due',
  'authorizations.take-again',
  'jobs.take-due',
  'jobs.take-to-cancel',
  'webhooks.take',
  'webhooks.wake',
  'endpoints.take-due',
  'listing-quality.take-due',
  'listings.copy-standing',
];
