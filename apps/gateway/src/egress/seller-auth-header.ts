/** The header with which the marketplace authenticates at a seller's own gateway. */
export interface SellerAuthHeader {
  name: string;
  value: string;
}

export type SellerAuthHeaderRefusal = 'invalid_name' | 'reserved_name' | 'invalid_value';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** Visible ASCII with spaces only between words, as in `Bearer …`. */
const visible = /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/;

/** Headers that frame or route the message, or that the marketplace sets. */
const reservedNames = new Set([
  'accept-encoding',
  'connection',
  'cookie',
  'date',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'range',
  'set-cookie',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);
const reservedPrefixes = ['x-market-', 'webhook-', 'content-', 'proxy-', 'x-forwarded-', 'sec-'];

/** Returns why this header may not be sent to the seller; null if it may. */
export function refuseSellerAuthHeader({ name, value }: SellerAuthHeader): SellerAuthHeaderRefusal | null {
  if (!token.test(name)) return 'invalid_name';
  const lower = name.toLowerCase();
  if (reservedNames.has(lower) || reservedPrefixes.some((prefix) => lower.startsWith(prefix))) return 'reserved_name';
  return visible.test(value) ? null : 'invalid_value';
}
