import { isUuid } from '@market/kernel';
import type { Refusal } from '@market/messaging';

/** Returns a uuid from a path; any other text is refused like an unknown id. */
export function uuidOr(text: string, notFound: () => Refusal): string {
  if (!isUuid(text)) throw notFound();
  return text.toLowerCase();
}

export const isSlug = (text: string): boolean => /^[a-z0-9-]{1,150}$/.test(text);

/**
 * Returns a uuid or a slug from a path. Any other text is refused and not passed on, because it may be a key that was
 * pasted by mistake.
 */
export function refOr(text: string, notFound: () => Refusal): string {
  if (isUuid(text)) return text.toLowerCase();
  if (!isSlug(text)) throw notFound();
  return text;
}
