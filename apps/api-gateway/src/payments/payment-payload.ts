import { isUtf8 } from 'node:buffer';
import { problemOf, problemOfText } from '../http/json-body.js';

/** Far longer than any x402 payload; Node accepts at most 16 KiB of headers. */
const MAX_LENGTH = 16_384;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export type ReadPayload = { payload: Record<string, unknown> } | { problem: string };

/** Reads a PaymentPayload: the object, or its JSON in base64 as in the header PAYMENT-SIGNATURE. */
export function readPayload(value: unknown): ReadPayload {
  if (typeof value !== 'string')
    return isObject(value)
      ? { payload: value }
      : { problem: 'must be a payment payload, as an object or as its JSON in base64' };
  const decoded = decodePayload(value);
  return decoded
    ? { payload: decoded.payload }
    : {
        problem: `must be base64, of at most ${MAX_LENGTH} characters, of a JSON object in UTF-8 that is nested at most 32 deep`,
      };
}

/**
 * Decodes the JSON text of a PaymentPayload from base64 and parses it. Returns undefined if it is invalid; it has the
 * same bounds as every body.
 */
export function decodePayload(encoded: string): { text: string; payload: Record<string, unknown> } | undefined {
  if (encoded.length > MAX_LENGTH || !BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const payload = parse(text);
  return isObject(payload) && (problemOf(payload) ?? problemOfText(text)) === undefined ? { text, payload } : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
