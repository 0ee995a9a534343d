import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Allows any origin without credentials: cookies are not used, and a key must be sent explicitly. Answers that are given
 * before a request is read have them too, or a page could not tell a header that is too long from an outage.
 */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers':
    'PAYMENT-REQUIRED, PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, RateLimit, RateLimit-Policy, Retry-After, ' +
    'Content-Disposition, Content-Range, Accept-Ranges, Repr-Digest, Content-Digest, X-Market-Request-Id, ' +
    'X-Market-Billable, X-Market-Charged-Amount-Cents, X-Market-Charged-Currency, X-Market-Fee-Amount-Cents, ' +
    'X-Market-Seller-Status, Link, X-Request-Id, Idempotency-Replayed, X-Market-Payment-Pending, ETag, traceparent',
};

/** A wildcard would not include Authorization. */
const ALLOWED = [
  'authorization',
  'content-type',
  'idempotency-key',
  'payment-signature',
  'range',
  'payment-authorization',
  'x-market-origin-currency',
  'x-market-origin-chain-id',
  'x-market-origin-wallet-id',
  'x-market-relay-request-id',
  'x-market-payment-scheme',
  'x-market-payment-network',
];
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]{1,64}$/;
const MAX_ASKED = 50;

export const allowOrigin = (reply: FastifyReply): void => void reply.headers(CORS_HEADERS);

/**
 * Allows every header that is asked for. Without credentials none can do harm, and clients send headers of their own:
 * those of other payment protocols, of tracing, of their caches.
 */
export function allowPreflight({ headers }: FastifyRequest, reply: FastifyReply): void {
  const asked = (headers['access-control-request-headers'] ?? '').split(',').map((name) => name.trim().toLowerCase());
  const allowed = new Set([...ALLOWED, ...asked.filter((name) => HEADER_NAME.test(name)).slice(0, MAX_ASKED)]);
  void reply
    .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', [...allowed].join(', '))
    .header('access-control-max-age', 86_400)
    .header('vary', 'Access-Control-Request-Headers');
}
