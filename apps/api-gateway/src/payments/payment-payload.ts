import { isUtf8 } from 'node:buffer';
import { problemOf } from '../http/json-body.js';

/** Far more than any x402 payload takes. */
const MAX_LENGTH = 65_536;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export type ReadPayload = { payload: Record<string, unknown> } | { problem: string };

/** A PaymentPayload as its clients send it: the object, or its JSON in base64 as the header PAYMENT-SIGNATURE carries it. */
export function readPayload(value: unknown): ReadPayload {
  if (typeof value !== 'string') return isObject(value) ? { payload: value } : { problem: 'must be a payment payload, as an object or as its JSON in base64' };
  if (value.length > MAX_LENGTH || !BASE64.test(value)) return { problem: `must be base64 of at most ${MAX_LENGTH} characters` };
  const bytes = Buffer.from(value, 'base64');
  const decoded = isUtf8(bytes) ? parse(bytes.toString('utf8')) : undefined;
  return isObject(decoded) && problemOf(decoded) === undefined ? { payload: decoded } : { problem: 'must hold a JSON object in UTF-8' };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
