import type { IncomingHttpHeaders } from 'node:http';
import { requestInvalid } from '../http/edge-refusals.js';
import { paymentIdentifierOf } from './payment-identifier.js';

/** What of an x402 client's proof is read here: which offer it pays. The rest is the ledger's to judge. */
export interface PaymentSignature {
  relayRequestId: string;
  /** The decoded payload as JSON text. */
  authorization: string;
  /** What the client calls its purchase, where it names it. */
  paymentIdentifier?: string;
}

export const PAYMENT_SIGNATURE = 'PAYMENT-SIGNATURE';

/** A payload that names its signature, its terms and a resource stays far below; the longest header Node reads is 16 KiB. */
const LONGEST = 16_384;

/**
 * `PAYMENT-SIGNATURE` of x402 version 2: base64 of a PaymentPayload whose `accepted` is one of the requirements of the 402,
 * and so names its offer in `extra.relayRequestId`. Source: specs/transports-v2/http.md of github.com/coinbase/x402.
 * @throws Refusal when it is none, or names another payment than X-Market-Relay-Request-Id does.
 */
export function readPaymentSignature(headers: IncomingHttpHeaders, relayRequestId?: string): PaymentSignature | undefined {
  const given = headers['payment-signature'];
  if (given === undefined) return undefined;
  const authorization = typeof given === 'string' ? decode(given) : undefined;
  const payload = authorization === undefined ? undefined : parse(authorization);
  const named = payload && offerOf(payload);
  if (authorization === undefined || payload === undefined || named === undefined) {
    throw requestInvalid([{ field: PAYMENT_SIGNATURE, message: 'must be base64 of an x402 version 2 payload whose accepted.extra.relayRequestId is that of the 402' }]);
  }
  if (relayRequestId !== undefined && relayRequestId !== named) throw requestInvalid([{ field: PAYMENT_SIGNATURE, message: 'pays another offer than X-Market-Relay-Request-Id names' }]);
  const paymentIdentifier = paymentIdentifierOf(payload);
  if (paymentIdentifier === null) throw requestInvalid([{ field: PAYMENT_SIGNATURE, message: 'names an extensions.payment-identifier.info.id that is not 16 to 128 letters, digits, - and _' }]);
  return { relayRequestId: named, authorization, ...(paymentIdentifier === undefined ? {} : { paymentIdentifier }) };
}

function decode(text: string): string | undefined {
  if (text.length > LONGEST || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64').toString('utf8');
}

interface Payload {
  accepted?: { extra?: { relayRequestId?: unknown } | null } | null;
  extensions?: unknown;
}

function parse(json: string): Payload | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function offerOf({ accepted }: Payload): string | undefined {
  const id = accepted?.extra?.relayRequestId;
  return typeof id === 'string' && /^0x[0-9a-fA-F]{64}$/.test(id) ? id.toLowerCase() : undefined;
}
