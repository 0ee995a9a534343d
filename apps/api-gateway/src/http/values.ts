import { isUuid } from '@market/kernel';
import type { Refusal } from '@market/messaging';

/** A uuid out of a path; anything else names nothing, which is refused like an unknown one. */
export function uuidOr(text: string, notFound: () => Refusal): string {
  if (!isUuid(text)) throw notFound();
  return text.toLowerCase();
}

export const isSlug = (text: string): boolean => /^[a-z0-9-]{1,150}$/.test(text);

/** A uuid or a slug out of a path. What is neither goes no further: it may be anything, a key that was pasted there by mistake too. */
export function refOr(text: string, notFound: () => Refusal): string {
  if (isUuid(text)) return text.toLowerCase();
  if (!isSlug(text)) throw notFound();
  return text;
}
