import { randomUUID } from 'node:crypto';

/** A UUIDv7 (RFC 9562 §5.7): 48 bits of Unix milliseconds, then 74 random bits; sorts by creation time. */
export function newId(nowMs: number = Date.now()): string {
  const time = nowMs.toString(16).padStart(12, '0');
  // The tail of a version 4 UUID: variant and 74 random bits, out of a pool that Node fills for many at once.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);
