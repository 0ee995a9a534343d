import { createOffer } from '@market/contracts/payments-ledger';
import { refuse, type Refusal } from '@market/messaging';
import { minimumNotMet } from '../minimum-not-met.js';
import { RelayRejected, RelayUnavailable } from './relay-api.js';
import { QuoteTooExpensive, QuoteWithoutFee } from './relay-quote.js';

/** How long a caller should wait before it requests a quote again, if the failure was not caused by the request. */
const RETRY_SECONDS = 10;

const NO_ROUTE = new Set([
  'NO_QUOTES',
  'NO_SWAP_ROUTES_FOUND',
  'NO_INTERNAL_SWAP_ROUTES_FOUND',
  'INSUFFICIENT_LIQUIDITY',
  'INSUFFICIENT_FUNDS',
  'SWAP_IMPACT_TOO_HIGH',
  'CHAIN_DISABLED',
  'ROUTE_TEMPORARILY_RESTRICTED',
  'USER_RECIPIENT_MISMATCH',
  'EXTRA_TXS_NOT_SUPPORTED',
]);
const isNoRoute = (code: string): boolean => NO_ROUTE.has(code) || /^(UNSUPPORTED|INVALID)_.+$/.test(code);

/**
 * The refusal for a quote without an offer. Codes: docs.relay.link, "Quote Errors". An unknown code is not treated as
 * an error of the request.
 */
export function quoteRefusal(error: unknown, provider: string): Refusal {
  if (error instanceof QuoteWithoutFee) return minimumNotMet();
  if (error instanceof QuoteTooExpensive) return refuse(createOffer, 'payment_route_unavailable', {});
  if (error instanceof RelayRejected) {
    if (error.errorCode === 'AMOUNT_TOO_LOW') return minimumNotMet();
    if (isNoRoute(error.errorCode)) return refuse(createOffer, 'payment_route_unavailable', {});
    if (error.errorCode.startsWith('SANCTIONED_')) return refuse(createOffer, 'payment_provider_refused', { provider });
  }
  return refuse(createOffer, 'payment_provider_unavailable', {
    provider,
    retry_after_seconds: error instanceof RelayUnavailable ? error.retryAfterSeconds : RETRY_SECONDS,
  });
}
