import { randomUUID } from 'node:crypto';

/** Returns a UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random bits. It sorts by creation time. */
export function newId(nowMs: number = Date.now()): string {
  const time = nowMs.toString(16).padStart(12, '0');
  // The tail of a version 4 UUID contains the variant and 74 random bits. Node takes them from a pool that it fills in
  // advance.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);
