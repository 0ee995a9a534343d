import { isUtf8 } from 'node:buffer';
import { problemOf } from '../http/json-body.js';

/** Far more than any x402 payload takes; the longest header Node reads is 16 KiB. */
const MAX_LENGTH = 16_384;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export type ReadPayload = { payload: Record<string, unknown> } | { problem: string };

/** A PaymentPayload as its clients send it: the object, or its JSON in base64 as the header PAYMENT-SIGNATURE carries it. */
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

/** The JSON text of a PaymentPayload in base64, and its content. Undefined where it need not be read; it has the bounds of every body. */
export function decodePayload(encoded: string): { text: string; payload: Record<string, unknown> } | undefined {
  if (encoded.length > MAX_LENGTH || !BASE64.test(encoded)) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  const payload = parse(text);
  return isObject(payload) && problemOf(payload) === undefined ? { text, payload } : undefined;
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
