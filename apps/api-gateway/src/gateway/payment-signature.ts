import type { IncomingHttpHeaders } from 'node:http';
import { requestInvalid } from '../http/edge-refusals.js';

/** What of an x402 client's proof is read here: which offer it pays. The rest is the ledger's to judge. */
export interface PaymentSignature {
  relayRequestId: string;
  /** The decoded payload as JSON text. */
  authorization: string;
}

export const PAYMENT_SIGNATURE = 'PAYMENT-SIGNATURE';

/** A payload that names its signature, its terms and a resource stays far below; the longest header Node reads is 16 KiB. */
const LONGEST = 16_384;

/**
 * `PAYMENT-SIGNATURE` of x402 version 2: base64 of a PaymentPayload whose `accepted` is one of the requirements of the 402,
 * and so names its offer in `extra.relayRequestId`. Source: specs/transports-v2/http.md of github.com/coinbase/x402.
 * @throws Refusal when it is none, or names another payment than X-Market-Relay-Request-Id does.
 */
export function readPaymentSignature(headers: IncomingHttpHeaders, relayRequestId: string | undefined): PaymentSignature | undefined {
  const given = headers['payment-signature'];
  if (given === undefined) return undefined;
  const authorization = typeof given === 'string' ? decode(given) : undefined;
  const named = authorization === undefined ? undefined : offerOf(authorization);
  if (authorization === undefined || named === undefined) {
    throw requestInvalid([{ field: PAYMENT_SIGNATURE, message: 'must be base64 of an x402 version 2 payload whose accepted.extra.relayRequestId is that of the 402' }]);
  }
  if (relayRequestId !== undefined && relayRequestId !== named) throw requestInvalid([{ field: PAYMENT_SIGNATURE, message: 'pays another offer than X-Market-Relay-Request-Id names' }]);
  return { relayRequestId: named, authorization };
}

function decode(text: string): string | undefined {
  if (text.length > LONGEST || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64').toString('utf8');
}

function offerOf(json: string): string | undefined {
  try {
    const id = (JSON.parse(json) as { accepted?: { extra?: { relayRequestId?: unknown } } } | null)?.accepted?.extra?.relayRequestId;
    return typeof id === 'string' && /^0x[0-9a-fA-F]{64}$/.test(id) ? id.toLowerCase() : undefined;
  } catch {
    return undefined;
  }
}
