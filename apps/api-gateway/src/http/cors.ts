import type { FastifyReply } from 'fastify';

const EXPOSED =
  'PAYMENT-REQUIRED, PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, RateLimit, RateLimit-Policy, Retry-After, ' +
  'Link, X-Request-Id, Idempotency-Replayed, ETag, traceparent';

/**
 * A wildcard would not include Authorization. Stock x402 clients send Access-Control-Expose-Headers as a request
 * header.
 */
const ALLOWED = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-None-Match',
  'Last-Event-ID',
  'X-Request-Id',
  'traceparent',
  'tracestate',
  'Mcp-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'PAYMENT-SIGNATURE',
  'Payment-Authorization',
  'Access-Control-Expose-Headers',
  'X-Market-Origin-Currency',
  'X-Market-Origin-Chain-Id',
  'X-Market-Origin-Wallet-Id',
  'X-Market-Relay-Request-Id',
  'X-Market-Payment-Scheme',
  'X-Market-Payment-Network',
].join(', ');

/** Allows any origin without credentials: cookies are not used, and a key must be sent explicitly. */
export const allowOrigin = (reply: FastifyReply): void =>
  void reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', EXPOSED);

export const allowPreflight = (reply: FastifyReply): void =>
  void reply
    .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', ALLOWED)
    .header('access-control-max-age', 86_400);
