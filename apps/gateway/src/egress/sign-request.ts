import { HOP_HEADER } from '@market/contracts/gateway';
import { createHmac } from 'node:crypto';
import type { SellerAuthHeader } from './seller-auth-header.js';
import { signingKey, type SigningSecret } from './signing-secret.js';

export interface RequestToSign {
  /** The current secret, followed by the previous one while a rotation overlaps. */
  secrets: readonly [SigningSecret, ...SigningSecret[]];
  /** Stable over retries of one call. It contains no `.`, which separates the signed parts. */
  requestId: string;
  timestampSeconds: number;
  /** The bytes that are sent. */
  rawBody: Buffer | string;
  /** JSON by default. */
  contentType?: string | undefined;
  event: 'gateway.call' | 'endpoint.test' | 'gateway.job_status' | 'gateway.cancel';
  listingId: string;
  buyerId: string;
  /** Starts at 1. */
  attempt: number;
  /** Of a longer answer nothing is kept. */
  maxResponseBytes: number;
  /** When the last byte of the answer must have arrived. */
  deadlineSeconds: number;
  /** Where the seller delivers if it answers with a job, and until when. */
  job?: { url: string; deadlineSeconds: number } | undefined;
  /** See `HOP_HEADER`; this marketplace is the last one. */
  hops: readonly string[];
  /** W3C trace context; omitted if it is invalid. */
  traceparent?: string | undefined;
  /** The seller's own header, which `refuseSellerAuthHeader` has accepted. */
  authHeader?: SellerAuthHeader | null | undefined;
}

const traceparentForm = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Returns all headers of a forwarded request: the HMAC-SHA256 over `{id}.{timestamp}.{body}`, in the marketplace's
 * headers and, for stock libraries, in those of Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec
 * v1.0.0). Of the buyer's request, they contain only the marketplaces that it has passed through.
 */
export function signRequest(request: RequestToSign): Record<string, string> {
  const { requestId, authHeader, traceparent, job } = request;
  if (requestId.includes('.')) throw new TypeError('A request id that holds "." cannot be signed unambiguously');
  const signed = signWebhook({ ...request, messageId: requestId });
  return {
    ...(authHeader ? { [authHeader.name]: authHeader.value } : {}),
    'X-Market-Request-Id': requestId,
    'X-Market-Timestamp': signed['webhook-timestamp'],
    'X-Market-Signature': signed['webhook-signature'],
    'X-Market-Key-Id': request.secrets[0].keyId,
    'X-Market-Event': request.event,
    'X-Market-Listing-Id': request.listingId,
    'X-Market-Buyer-Id': request.buyerId,
    'X-Market-Attempt': String(request.attempt),
    'X-Market-Max-Response-Bytes': String(request.maxResponseBytes),
    'X-Market-Deadline': String(request.deadlineSeconds),
    ...(job ? { 'X-Market-Job-Url': job.url, 'X-Market-Job-Deadline': String(job.deadlineSeconds) } : {}),
    [HOP_HEADER]: request.hops.join(', '),
    ...signed,
    ...(traceparent !== undefined && traceparentForm.test(traceparent) ? { traceparent } : {}),
  };
}

/** What every signed request carries, of Standard Webhooks and beside it. */
export function signWebhook({
  secrets,
  messageId,
  timestampSeconds,
  rawBody,
  contentType = 'application/json',
}: Pick<RequestToSign, 'timestampSeconds' | 'rawBody' | 'contentType'> & {
  secrets: readonly Pick<SigningSecret, 'secret'>[];
  messageId: string;
}) {
  const timestamp = String(timestampSeconds);
  return {
    'Content-Type': contentType,
    'Accept-Encoding': 'identity',
    'User-Agent': 'AgentMarketplace/1.0',
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => sign(secret, `${messageId}.${timestamp}.`, rawBody)).join(' '),
  };
}

function sign(secret: Pick<SigningSecret, 'secret'>, prefix: string, rawBody: Buffer | string): string {
  return `v1,${createHmac('sha256', signingKey(secret)).update(prefix).update(rawBody).digest('base64')}`;
}
