import { createHmac, timingSafeEqual } from 'node:crypto';

const MAX_AGE_MS = 300_000;

/**
 * A webhook as it was received: the headers `X-Signature-Timestamp` and `X-Signature-SHA256`, and the bytes of the
 * body.
 */
export interface SignedWebhook {
  timestamp: string;
  signature: string;
  body: string;
}

/**
 * Whether Relay sent the webhook in the last five minutes. The signature is the HMAC-SHA256 of `<timestamp>.<body>`
 * with the API key, in hex. Source: docs.relay.link, "Webhooks".
 */
export function isSignedByRelay({ timestamp, signature, body }: SignedWebhook, apiKey: string, now: number): boolean {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  const expected = createHmac('sha256', apiKey).update(`${timestamp}.${body}`).digest();
  return timingSafeEqual(Buffer.from(signature, 'hex'), expected) && Math.abs(now - timeOf(timestamp)) <= MAX_AGE_MS;
}

/** Parses Unix time in seconds or in milliseconds, because the documentation shows both. */
function timeOf(timestamp: string): number {
  if (/^\d{10}$/.test(timestamp)) return Number(timestamp) * 1000;
  return /^\d{13}$/.test(timestamp) ? Number(timestamp) : NaN;
}
