/**
 * The first statements of transactions that belong to no request: handlers of events, which may share a transaction,
 * statements that calls of a moment share, and a job that runs every second.
 */
export const OF_NO_REQUEST = [
  'gateway-requests.insert-quotes',
  'outbox.take',
  'inbox.record',
  'gateway-requests.mark-settled',
  'parked.due',
  'authorizations.take-again',
];
