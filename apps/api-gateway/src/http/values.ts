import { isUuid } from '@market/kernel';
import type { Refusal } from '@market/messaging';

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(9999, 11, 31);

/** ISO 8601 as the services write it (milliseconds, UTC); a date alone is its midnight in UTC. Undefined when it is no instant from 1970 to 9999. */
export function parseTimestamp(text: string): string | undefined {
  const ms = TIMESTAMP.test(text) ? Date.parse(text) : NaN;
  return ms >= EARLIEST_MS && ms <= LATEST_MS ? new Date(ms).toISOString() : undefined;
}

/** Code points, as PostgreSQL counts characters. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** Absolute, without credentials, and without what a parser would silently leave out. */
export function isHttpUrl(text: string): boolean {
  if (text.length > 2048 || /[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
}

/** A uuid out of a path; anything else names nothing, which is refused like an unknown one. */
export function uuidOr(text: string, notFound: () => Refusal): string {
  if (!isUuid(text)) throw notFound();
  return text.toLowerCase();
}

const SLUG = /^[a-z0-9-]{1,150}$/;

/** A uuid or a slug out of a path. What is neither goes no further: it may be anything, a key that was pasted there by mistake too. */
export function refOr(text: string, notFound: () => Refusal): string {
  if (isUuid(text)) return text.toLowerCase();
  if (!SLUG.test(text)) throw notFound();
  return text;
}
